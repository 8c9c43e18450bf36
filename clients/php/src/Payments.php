<?php

// Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.

declare(strict_types=1);

namespace Laari;

final class Payments
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * List payments, newest first.
     *
     * @param int $limit Clamped to 1-100.
     * @param string $terminalLabel Exactly this label.
     * @param string $billNumber Exactly this bill number. May contain only letters, digits, space, - _ . and /.
     * @param string $createdFrom Created at or after. A date means midnight; without an offset it is +05:00.
     * @param string $createdTo Created before. A date means midnight; without an offset it is +05:00.
     * @return \Generator<int, array<string, mixed>> all items, page by page
     */
    public function list(
        ?int $limit = null,
        ?string $status = null,
        ?string $terminalLabel = null,
        ?string $billNumber = null,
        ?string $createdFrom = null,
        ?string $createdTo = null,
    ): \Generator {
        return $this->client->pages('list_payments', query: ['limit' => $limit, 'status' => $status, 'terminal_label' => $terminalLabel, 'bill_number' => $billNumber, 'created_from' => $createdFrom, 'created_to' => $createdTo]);
    }

    /**
     * Create a hosted payment.
     *
     * @param string $reference Your own name for the payment; no other payment, charge or payment request may have it.
     * @param int $amount In laari: `12500` is MVR 125.00.
     * @param string $title What the customer pays for.
     * @param string $terminalLabel The till; may be used again.
     * @param string $billNumber May contain only letters, digits, space, - _ . and /.
     * @param string $returnUrl Where the customer goes from the checkout page. An absolute http or https URL without credentials.
     * @param string $expiresAt In the future; 24 hours from now where it is left out. RFC 3339; without an offset it is read as +05:00.
     * @param array $metadata Strings of your own, kept as sent; the customer does not see them.
     * @return array<string, mixed>
     */
    public function create(
        string $reference,
        int $amount,
        ?string $title = null,
        ?string $description = null,
        ?string $terminalLabel = null,
        ?string $billNumber = null,
        ?string $returnUrl = null,
        ?string $expiresAt = null,
        ?array $metadata = null,
        ?string $idempotencyKey = null,
    ): array {
        return $this->client->call('create_payment', body: ['reference' => $reference, 'amount' => $amount, 'title' => $title, 'description' => $description, 'terminal_label' => $terminalLabel, 'bill_number' => $billNumber, 'return_url' => $returnUrl, 'expires_at' => $expiresAt, 'metadata' => $metadata === null ? null : (object) $metadata], idempotencyKey: $idempotencyKey);
    }

    /**
     * Get a payment.
     *
     * @return array<string, mixed>
     */
    public function get(
        string $id,
    ): array {
        return $this->client->call('get_payment', id: $id);
    }

    /**
     * Cancel a pending payment.
     *
     * @return array<string, mixed>
     */
    public function cancel(
        string $id,
    ): array {
        return $this->client->call('cancel_payment', id: $id);
    }

    /**
     * QR image of a payment link.
     *
     */
    public function qr(
        string $id,
    ): string {
        return $this->client->call('get_qr', id: $id);
    }
}
