<?php

// Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.

declare(strict_types=1);

namespace Laari;

final class Events
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * List events, newest first.
     *
     * @param int $limit Values outside 1 to 100 become the nearest of the two.
     * @param string $createdFrom Created at or after this time. A date means midnight; the default offset is +05:00.
     * @param string $createdTo Created before this time. A date means midnight; the default offset is +05:00.
     */
    public function list(
        ?int $limit = null,
        ?string $type = null,
        ?bool $delivered = null,
        ?string $createdFrom = null,
        ?string $createdTo = null,
    ): Listing {
        return $this->client->listing('list_events', query: ['limit' => $limit, 'type' => $type, 'delivered' => $delivered, 'created_from' => $createdFrom, 'created_to' => $createdTo]);
    }

    /**
     * Get an event.
     *
     * @return array<string, mixed>
     */
    public function get(
        string $id,
    ): array {
        return $this->client->call('get_event', id: $id);
    }
}
