<?php

// Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.

declare(strict_types=1);

namespace Laari;

final class Sandbox
{
    public readonly SandboxPayouts $payouts;
    public readonly SandboxPayments $payments;
    public readonly SandboxPaymentRequests $paymentRequests;
    public readonly SandboxAuthorizations $authorizations;
    public function __construct(private readonly Client $client)
    {
        $this->payouts = new SandboxPayouts($client);
        $this->payments = new SandboxPayments($client);
        $this->paymentRequests = new SandboxPaymentRequests($client);
        $this->authorizations = new SandboxAuthorizations($client);
    }

    /**
     * Set the sandbox customer's balance and tier.
     *
     * @param int $balance In laari.
     * @param string $tier The verification tier, which sets the wallet's limits.
     * @return array<string, mixed>
     */
    public function setWallet(
        ?int $balance = null,
        ?string $tier = null,
    ): array {
        return $this->client->call('sandbox_set_wallet', body: ['balance' => $balance, 'tier' => $tier]);
    }

    /**
     * Move the sandbox's time.
     *
     * @param int $advanceSeconds Added to the present offset of the clock.
     * @param bool $reset `true` returns to real time.
     * @return array<string, mixed>
     */
    public function moveClock(
        ?int $advanceSeconds = null,
        ?bool $reset = null,
    ): array {
        return $this->client->call('sandbox_move_clock', body: ['advance_seconds' => $advanceSeconds, 'reset' => $reset]);
    }
}
