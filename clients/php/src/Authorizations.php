<?php

// Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.

declare(strict_types=1);

namespace Laari;

final class Authorizations
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * List authorizations, newest first.
     *
     * @param int $limit Values outside 1 to 100 become the nearest of the two.
     */
    public function list(
        ?int $limit = null,
        ?string $status = null,
    ): Listing {
        return $this->client->listing('list_authorizations', query: ['limit' => $limit, 'status' => $status]);
    }

    /**
     * Create an authorization for the customer to approve.
     *
     * @param string $reference Your unique name for the authorization.
     * @param string $title The purpose that the customer agrees to.
     * @param string $type Default: `unscheduled`.
     * @param array $limits All given limits apply together.
     * @param string $expiresAt The end of all charges; default: never. RFC 3339; the default offset is +05:00.
     * @param string $returnUrl The customer's browser goes here after the decision. An absolute http or https URL without credentials.
     * @return array<string, mixed>
     */
    public function create(
        string $reference,
        string $title,
        ?string $description = null,
        ?string $type = null,
        ?array $limits = null,
        ?string $expiresAt = null,
        ?string $returnUrl = null,
    ): array {
        return $this->client->call('create_authorization', body: ['reference' => $reference, 'title' => $title, 'description' => $description, 'type' => $type, 'limits' => $limits === null ? null : (object) $limits, 'expires_at' => $expiresAt, 'return_url' => $returnUrl]);
    }

    /**
     * Get an authorization.
     *
     * @return array<string, mixed>
     */
    public function get(
        string $id,
    ): array {
        return $this->client->call('get_authorization', id: $id);
    }

    /**
     * Charge an active authorization.
     *
     * @param string $reference Your name for the payment, unique among your payments, charges and payment requests.
     * @param int $amount In laari: `12500` is MVR 125.00.
     * @param string $title The purpose of the payment.
     * @param string $billNumber May contain only letters, digits, space, - _ . and /.
     * @return array<string, mixed>
     */
    public function charge(
        string $id,
        string $reference,
        int $amount,
        ?string $title = null,
        ?string $description = null,
        ?string $billNumber = null,
        ?string $idempotencyKey = null,
    ): array {
        return $this->client->call('charge_authorization', body: ['reference' => $reference, 'amount' => $amount, 'title' => $title, 'description' => $description, 'bill_number' => $billNumber], id: $id, idempotencyKey: $idempotencyKey);
    }

    /**
     * Preview a charge, and show the rest of each limit.
     *
     * @param int $amount In laari: `12500` is MVR 125.00.
     * @return array<string, mixed>
     */
    public function previewCharge(
        string $id,
        int $amount,
    ): array {
        return $this->client->call('preview_charge', query: ['amount' => $amount], id: $id);
    }

    /**
     * List the payments of an authorization, newest first.
     *
     * @param int $limit Values outside 1 to 100 become the nearest of the two.
     * @param string $billNumber The exact bill number. May contain only letters, digits, space, - _ . and /.
     * @param string $createdFrom Created at or after this time. A date means midnight; the default offset is +05:00.
     * @param string $createdTo Created before this time. A date means midnight; the default offset is +05:00.
     */
    public function payments(
        string $id,
        ?int $limit = null,
        ?string $status = null,
        ?string $billNumber = null,
        ?string $createdFrom = null,
        ?string $createdTo = null,
    ): Listing {
        return $this->client->listing('list_authorization_payments', query: ['limit' => $limit, 'status' => $status, 'bill_number' => $billNumber, 'created_from' => $createdFrom, 'created_to' => $createdTo], id: $id);
    }

    /**
     * Cancel a pending authorization, revoke an approved one.
     *
     * @return array<string, mixed>
     */
    public function cancel(
        string $id,
    ): array {
        return $this->client->call('cancel_authorization', id: $id);
    }
}
