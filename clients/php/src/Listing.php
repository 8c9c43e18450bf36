<?php

declare(strict_types=1);

namespace Laari;

/**
 * A list, which is read while you go through it.
 *
 *     foreach ($laari->payments->list(status: 'paid') as $payment) { … }
 *     foreach ($laari->payments->list(limit: 50)->pages($cursor) as $page) { … $page->nextCursor … }
 *
 * @implements \IteratorAggregate<int, array<string, mixed>>
 */
final class Listing implements \IteratorAggregate
{
    private const LARGEST_PAGE = 100;

    /**
     * @internal
     * @param \Closure(?int, ?string): array<string, mixed> $read by the size of the page and the cursor
     */
    public function __construct(private readonly \Closure $read, private readonly ?int $limit)
    {
    }

    /**
     * All items of all pages; with a `limit`, at most that number.
     *
     * @return \Generator<int, array<string, mixed>>
     */
    public function getIterator(): \Generator
    {
        $left = $this->limit;
        $cursor = null;
        do {
            $page = $this->page($left, $cursor);
            foreach ($page->items as $item) {
                yield $item;
                if ($left !== null && --$left <= 0) {
                    return;
                }
            }
            $cursor = $page->nextCursor;
        } while ($cursor !== null);
    }

    /**
     * Page by page, each with up to `limit` items, from the cursor of a page before.
     *
     * @return \Generator<int, Page>
     */
    public function pages(?string $cursor = null): \Generator
    {
        do {
            $page = $this->page($this->limit, $cursor);
            yield $page;
            $cursor = $page->nextCursor;
        } while ($cursor !== null);
    }

    private function page(?int $size, ?string $cursor): Page
    {
        $answer = ($this->read)($size === null ? null : min($size, self::LARGEST_PAGE), $cursor);
        return new Page($answer['data'], $answer['pagination']['next_cursor'] ?? null);
    }
}
