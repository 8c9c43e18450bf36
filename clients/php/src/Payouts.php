<?php

// Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.

declare(strict_types=1);

namespace Laari;

final class Payouts
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * List payouts, newest first.
     *
     * @param int $limit Values outside 1 to 100 become the nearest of the two.
     * @param string $createdFrom Created at or after this time. A date means midnight; the default offset is +05:00.
     * @param string $createdTo Created before this time. A date means midnight; the default offset is +05:00.
     */
    public function list(
        ?int $limit = null,
        ?string $createdFrom = null,
        ?string $createdTo = null,
        ?string $status = null,
    ): Listing {
        return $this->client->listing('list_payouts', query: ['limit' => $limit, 'created_from' => $createdFrom, 'created_to' => $createdTo, 'status' => $status]);
    }

    /**
     * Get a payout.
     *
     * @return array<string, mixed>
     */
    public function get(
        string $id,
    ): array {
        return $this->client->call('get_payout', id: $id);
    }

    /**
     * List the movements of a payout, newest first.
     *
     * @param int $limit Values outside 1 to 100 become the nearest of the two.
     */
    public function movements(
        string $id,
        ?int $limit = null,
    ): Listing {
        return $this->client->listing('list_payout_movements', query: ['limit' => $limit], id: $id);
    }
}
