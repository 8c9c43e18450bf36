<?php

// Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.

declare(strict_types=1);

namespace Laari;

final class SandboxPayouts
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Pay out all that is available in the sandbox.
     *
     * @return array<string, mixed>
     */
    public function create(
    ): array {
        return $this->client->call('sandbox_create_payout');
    }

    /**
     * Confirm a payout as the bank.
     *
     * @return array<string, mixed>
     */
    public function settle(
        string $id,
    ): array {
        return $this->client->call('sandbox_settle_payout', id: $id);
    }

    /**
     * Return a payout as the bank; the money is available again.
     *
     * @return array<string, mixed>
     */
    public function sendBack(
        string $id,
    ): array {
        return $this->client->call('sandbox_return_payout', id: $id);
    }
}
