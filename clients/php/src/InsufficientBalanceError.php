<?php

declare(strict_types=1);

namespace Laari;

/** 402: the balance of the customer is too low. */
final class InsufficientBalanceError extends LaariError
{
}
