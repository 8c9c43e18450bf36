// Access tokens: one request for all who wait, renewed before they expire.
import { InvalidResponseError, RequestTimeoutError } from "./errors.js";
import { isObject } from "./json.js";

const RENEW_BEFORE = 60_000; // milliseconds
const RENEW_BEFORE_PART = 0.1; // of a life too short for that
const RETRY_RENEWAL = 5_000;

interface Token {
  readonly value: string;
  renewAt: number;
  readonly expiresAt: number;
}

export class Tokens {
  readonly #fetch: (deadline: number) => Promise<unknown>;
  #token: Token | undefined;
  #pending: Promise<Token> | undefined;

  constructor(fetch: (deadline: number) => Promise<unknown>) {
    this.#fetch = fetch;
  }

  /** A token that is good, and not the one that was refused. */
  async get(refused: string | undefined, deadline: number): Promise<string> {
    const old = this.#token;
    if (old !== undefined && old.value !== refused && Date.now() < old.renewAt) return old.value;
    this.#pending ??= this.#renew(deadline).finally(() => (this.#pending = undefined));
    try {
      return (await within(deadline, this.#pending)).value;
    } catch (error) {
      // A renewal that fails does no harm while the old token is still good.
      if (old === undefined || old.value === refused || Date.now() >= old.expiresAt) throw error;
      old.renewAt = Date.now() + RETRY_RENEWAL;
      return old.value;
    }
  }

  async #renew(deadline: number): Promise<Token> {
    const askedAt = Date.now();
    this.#token = readToken(await this.#fetch(deadline), askedAt);
    return this.#token;
  }
}

function readToken(answer: unknown, askedAt: number): Token {
  const value = isObject(answer) ? answer["access_token"] : undefined;
  const seconds = isObject(answer) ? answer["expires_in"] : undefined;
  if (typeof value !== "string" || !/^[!-~]+$/.test(value) || typeof seconds !== "number") {
    throw new InvalidResponseError("The access token cannot be read.", {
      code: "invalid_response",
    });
  }
  const life = seconds * 1000;
  const margin = Math.min(RENEW_BEFORE, life * RENEW_BEFORE_PART);
  return { value, renewAt: askedAt + life - margin, expiresAt: askedAt + life };
}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new RequestTimeoutError("No access token in time.", { code: "timeout" });
    timer = setTimeout(() => reject(error), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
