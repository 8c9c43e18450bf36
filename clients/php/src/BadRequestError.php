<?php

declare(strict_types=1);

namespace Laari;

/** 400: change the request. */
final class BadRequestError extends LaariError
{
}
