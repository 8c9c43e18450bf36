// Lists: fetched page by page while they are read.
import { type Call, type Connection, type Operation, unreadable } from "./connection.js";
import { ConfigurationError } from "./errors.js";
import { isObject } from "./json.js";

export interface Page<T> {
  readonly items: T[];
  /** null on the last page. */
  readonly nextCursor: string | null;
}

/**
 * The first `limit` items, or without a limit all of them, over all pages.
 * `for await (const item of listing)` reads the list from its start, each time; `next()` resolves
 * to one item after the other.
 */
export class Listing<T> implements AsyncIterable<T> {
  readonly #connection: Connection;
  readonly #operation: Operation;
  readonly #call: Call;
  #items: AsyncGenerator<T, void, undefined> | undefined; // of `next`

  constructor(connection: Connection, operation: Operation, call: Call) {
    this.#connection = connection;
    this.#operation = operation;
    this.#call = call;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const limit: unknown = (this.#call.query as { limit?: unknown } | undefined)?.limit;
    if (limit !== undefined && !(Number.isInteger(limit) && Number(limit) >= 1)) {
      throw new ConfigurationError("limit is a number of items, at least 1.");
    }
    let left = Number(limit ?? Infinity);
    for await (const page of this.pages()) { // a page may have fewer items than were asked for
      for (const item of page.items) {
        yield item;
        left -= 1;
        if (left === 0) return;
      }
    }
  }

  next(): Promise<IteratorResult<T, void>> {
    this.#items ??= this[Symbol.asyncIterator]();
    return this.#items.next();
  }

  /** All pages of `limit` items each, from the one that a `nextCursor` named on. */
  async *pages(cursor: string | null = null): AsyncGenerator<Page<T>, void, undefined> {
    for (;;) {
      const page: Page<T> = await this.#page(cursor);
      yield page;
      cursor = page.nextCursor;
      if (cursor === null) return;
    }
  }

  async #page(cursor: string | null): Promise<Page<T>> {
    const query = { ...this.#call.query, [this.#operation.cursor]: cursor };
    const { value, requestId } = await this.#connection.fetch(this.#operation, {
      ...this.#call,
      query,
    });
    const { data, pagination } = value as Record<string, unknown>;
    if (!Array.isArray(data) || !isObject(pagination)) {
      throw unreadable("it is no page of a list", requestId);
    }
    if (pagination["has_more"] !== true) return { items: data as T[], nextCursor: null };
    const next = pagination["next_cursor"];
    if (typeof next !== "string" || next === cursor) {
      throw unreadable("the list does not go on", requestId);
    }
    return { items: data as T[], nextCursor: next };
  }
}
