<?php

declare(strict_types=1);

namespace Laari;

/** 409: not possible in this state. */
final class ConflictError extends LaariError
{
}
