<?php

declare(strict_types=1);

namespace Laari;

/** The answer is not from Laari, or was cut short. */
final class InvalidResponseError extends LaariError
{
}
