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
     * @param int $limit Values outside 1 to 100 become the nearest of the two.
     * @param string $terminalLabel The exact label.
     * @param string $billNumber The exact bill number. May contain only letters, digits, space, - _ . and /.
     * @param string $createdFrom Created at or after this time. A date means midnight; the default offset is +05:00.
     * @param string $createdTo Created before this time. A date means midnight; the default offset is +05:00.
     * @param string $reference The exact reference: at most one payment has it.
     */
    public function list(
        ?int $limit = null,
        ?string $status = null,
        ?string $terminalLabel = null,
        ?string $billNumber = null,
        ?string $createdFrom = null,
        ?string $createdTo = null,
        ?string $reference = null,
    ): Listing {
        return $this->client->listing('list_payments', query: ['limit' => $limit, 'status' => $status, 'terminal_label' => $terminalLabel, 'bill_number' => $billNumber, 'created_from' => $createdFrom, 'created_to' => $createdTo, 'reference' => $reference]);
    }

    /**
     * Create a hosted payment.
     *
     * @param string $reference Your name for the payment, unique among your payments, charges and payment requests.
     * @param int $amount In laari: `12500` is MVR 125.00.
     * @param string $title The purpose of the payment.
     * @param string $terminalLabel The till; need not be unique.
     * @param string $billNumber May contain only letters, digits, space, - _ . and /.
     * @param string $returnUrl The customer's browser goes here from the checkout page. An absolute http or https URL without credentials.
     * @param string $expiresAt In the future; default: 24 hours from now. RFC 3339; the default offset is +05:00.
     * @param array $metadata Your own strings, stored as sent; the customer does not see them.
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

    /**
     * List the refunds of a payment, newest first.
     *
     * @param int $limit Values outside 1 to 100 become the nearest of the two.
     */
    public function refunds(
        string $id,
        ?int $limit = null,
    ): Listing {
        return $this->client->listing('list_payment_refunds', query: ['limit' => $limit], id: $id);
    }

    /**
     * Refund a payment, or a part of it.
     *
     * @param int $amount In laari; default: all that is left.
     * @param string $note For you; the customer does not see it.
     * @return array<string, mixed>
     */
    public function refund(
        string $id,
        ?int $amount = null,
        ?string $reason = null,
        ?string $note = null,
        ?string $idempotencyKey = null,
    ): array {
        return $this->client->call('refund_payment', body: ['amount' => $amount, 'reason' => $reason, 'note' => $note], id: $id, idempotencyKey: $idempotencyKey);
    }
}
