<?php

declare(strict_types=1);

namespace Laari;

/** 401: the credentials are missing, wrong or expired. */
final class UnauthorizedError extends LaariError
{
}
