<?php

declare(strict_types=1);

namespace Laari;

/** 429: too many requests. `retryAfter` has the seconds to wait. */
final class RateLimitedError extends LaariError
{
}
