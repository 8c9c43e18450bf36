<?php

// Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.

declare(strict_types=1);

namespace Laari;

final class SandboxAuthorizations
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Approve as the sandbox customer.
     *
     * @return array<string, mixed>
     */
    public function approve(
        string $id,
    ): array {
        return $this->client->call('sandbox_approve_authorization', id: $id);
    }

    /**
     * Decline as the sandbox customer.
     *
     * @return array<string, mixed>
     */
    public function reject(
        string $id,
    ): array {
        return $this->client->call('sandbox_reject_authorization', id: $id);
    }

    /**
     * Stop charges until the authorization is resumed.
     *
     * @return array<string, mixed>
     */
    public function suspend(
        string $id,
    ): array {
        return $this->client->call('sandbox_suspend_authorization', id: $id);
    }

    /**
     * Allow charges again.
     *
     * @return array<string, mixed>
     */
    public function resume(
        string $id,
    ): array {
        return $this->client->call('sandbox_resume_authorization', id: $id);
    }
}
