<?php

declare(strict_types=1);

namespace Laari;

/** 404: unknown for this merchant and mode. */
final class NotFoundError extends LaariError
{
}
