<?php

// Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.

declare(strict_types=1);

namespace Laari;

final class Balance
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Get your balance.
     *
     * @return array<string, mixed>
     */
    public function get(
    ): array {
        return $this->client->call('get_balance');
    }
}
