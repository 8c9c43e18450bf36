<?php

// Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.

declare(strict_types=1);

namespace Laari;

final class Wallet
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Read the balances.
     *
     * @return array<string, mixed>
     */
    public function balance(
    ): array {
        return $this->client->call('wallet_balance');
    }

    /**
     * Read limits and usage.
     *
     * @return array<string, mixed>
     */
    public function usage(
    ): array {
        return $this->client->call('wallet_usage');
    }

    /**
     * Read the history, newest first.
     *
     * @param int $limit The number of transactions on a page.
     */
    public function transactions(
        ?int $limit = null,
    ): Listing {
        return $this->client->listing('wallet_transactions', query: ['limit' => $limit]);
    }
}
