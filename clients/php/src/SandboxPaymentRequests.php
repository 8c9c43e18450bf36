<?php

// Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.

declare(strict_types=1);

namespace Laari;

final class SandboxPaymentRequests
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Pay a request as the sandbox customer.
     *
     * @return array<string, mixed>
     */
    public function pay(
        string $id,
    ): array {
        return $this->client->call('sandbox_pay_payment_request', id: $id);
    }

    /**
     * Decline a request as the sandbox customer.
     *
     * @return array<string, mixed>
     */
    public function reject(
        string $id,
    ): array {
        return $this->client->call('sandbox_reject_payment_request', id: $id);
    }

    /**
     * Start an attempt to pay a request that stays in processing.
     *
     * @return array<string, mixed>
     */
    public function reserve(
        string $id,
    ): array {
        return $this->client->call('sandbox_reserve_payment_request', id: $id);
    }

    /**
     * Release the attempt in processing on a request.
     *
     * @return array<string, mixed>
     */
    public function release(
        string $id,
    ): array {
        return $this->client->call('sandbox_release_payment_request', id: $id);
    }
}
