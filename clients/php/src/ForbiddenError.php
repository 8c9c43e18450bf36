<?php

declare(strict_types=1);

namespace Laari;

/** 403: these credentials may not do this. */
final class ForbiddenError extends LaariError
{
}
