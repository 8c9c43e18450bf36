<?php

// Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.

declare(strict_types=1);

namespace Laari;

final class SandboxPayments
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Pay as the sandbox customer.
     *
     * @return array<string, mixed>
     */
    public function pay(
        string $id,
    ): array {
        return $this->client->call('sandbox_pay_payment', id: $id);
    }

    /**
     * Decline as the sandbox customer.
     *
     * @return array<string, mixed>
     */
    public function reject(
        string $id,
    ): array {
        return $this->client->call('sandbox_reject_payment', id: $id);
    }

    /**
     * Start an attempt to pay that stays in processing.
     *
     * @return array<string, mixed>
     */
    public function reserve(
        string $id,
    ): array {
        return $this->client->call('sandbox_reserve_payment', id: $id);
    }

    /**
     * Release the attempt in processing.
     *
     * @return array<string, mixed>
     */
    public function release(
        string $id,
    ): array {
        return $this->client->call('sandbox_release_payment', id: $id);
    }
}
