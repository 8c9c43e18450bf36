<?php

// Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.

declare(strict_types=1);

namespace Laari;

final class PaymentRequests
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * List payment requests, newest first.
     *
     * @param int $limit Values outside 1 to 100 become the nearest of the two.
     * @param string $terminalLabel The exact label.
     * @param string $billNumber The exact bill number. May contain only letters, digits, space, - _ . and /.
     * @param string $createdFrom Created at or after this time. A date means midnight; the default offset is +05:00.
     * @param string $createdTo Created before this time. A date means midnight; the default offset is +05:00.
     */
    public function list(
        ?int $limit = null,
        ?string $status = null,
        ?string $terminalLabel = null,
        ?string $billNumber = null,
        ?string $createdFrom = null,
        ?string $createdTo = null,
    ): Listing {
        return $this->client->listing('list_payment_requests', query: ['limit' => $limit, 'status' => $status, 'terminal_label' => $terminalLabel, 'bill_number' => $billNumber, 'created_from' => $createdFrom, 'created_to' => $createdTo]);
    }

    /**
     * Request a payment from a customer.
     *
     * @param string $reference Your name for the payment, unique among your payments, charges and payment requests.
     * @param int $amount In laari: `12500` is MVR 125.00.
     * @param string $title The purpose of the payment.
     * @param string $terminalLabel The till; need not be unique.
     * @param string $billNumber May contain only letters, digits, space, - _ . and /.
     * @param string $returnUrl The customer's browser goes here from the wallet application. An absolute http or https URL without credentials.
     * @param string $expiresAt In the future; default: 24 hours from now. RFC 3339; the default offset is +05:00.
     * @return array<string, mixed>
     */
    public function create(
        string $reference,
        int $amount,
        array $customer,
        ?string $title = null,
        ?string $description = null,
        ?string $terminalLabel = null,
        ?string $billNumber = null,
        ?string $returnUrl = null,
        ?string $expiresAt = null,
    ): array {
        return $this->client->call('create_payment_request', body: ['reference' => $reference, 'amount' => $amount, 'customer' => $customer === null ? null : (object) $customer, 'title' => $title, 'description' => $description, 'terminal_label' => $terminalLabel, 'bill_number' => $billNumber, 'return_url' => $returnUrl, 'expires_at' => $expiresAt]);
    }

    /**
     * Get a payment request.
     *
     * @return array<string, mixed>
     */
    public function get(
        string $id,
    ): array {
        return $this->client->call('get_payment_request', id: $id);
    }

    /**
     * Cancel a pending payment request.
     *
     * @return array<string, mixed>
     */
    public function cancel(
        string $id,
    ): array {
        return $this->client->call('cancel_payment_request', id: $id);
    }
}
