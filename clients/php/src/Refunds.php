<?php

// Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.

declare(strict_types=1);

namespace Laari;

final class Refunds
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Get a refund.
     *
     * @return array<string, mixed>
     */
    public function get(
        string $id,
    ): array {
        return $this->client->call('get_refund', id: $id);
    }
}
