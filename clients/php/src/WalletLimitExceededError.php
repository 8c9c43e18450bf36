<?php

declare(strict_types=1);

namespace Laari;

/** 422: a limit of the customer's wallet is exceeded. */
final class WalletLimitExceededError extends LaariError
{
}
