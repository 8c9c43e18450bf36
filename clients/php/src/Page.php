<?php

declare(strict_types=1);

namespace Laari;

/** A page of a list. `nextCursor` is null on the last page. */
final class Page
{
    /** @param list<array<string, mixed>> $items */
    public function __construct(
        public readonly array $items,
        public readonly ?string $nextCursor,
    ) {
    }
}
