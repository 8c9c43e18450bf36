<?php

declare(strict_types=1);

namespace Laari;

/** 5xx: the outcome may be unknown. */
final class ServerError extends LaariError
{
}
