// Attempts, waits and verdicts: the rules are those of the Python client.
import { API_VERSION, errorClass } from "./codes.js";
import type { Config, Header } from "./config.js";
import {
  type APIError,
  ConfigurationError,
  ConnectionFailedError,
  InvalidResponseError,
  type LaariError,
  RequestTimeoutError,
} from "./errors.js";
import { isObject, moment, parseJson, writeJson } from "./json.js";
import { Tokens } from "./tokens.js";
import { webCrypto } from "./webcrypto.js";

export interface CallOptions {
  /** Gives the call up; it may have been carried out. */
  signal?: AbortSignal;
}

export interface KeyedOptions extends CallOptions {
  /** Made for each call if it is omitted, and the same in all its attempts. */
  idempotencyKey?: string;
}

/** `repeatable`: the same request sent twice has the effect and the answer of one. */
export interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly audience: "merchant" | "wallet" | "public" | "token";
  readonly keyed: boolean;
  readonly repeatable: boolean;
  readonly binary: boolean;
  readonly cursor: string;
}

export interface Call {
  id?: string;
  query?: object;
  body?: object;
  form?: string;
  options?: KeyedOptions;
}

/** What is sent: made once, and the same in every attempt. */
interface Prepared {
  readonly operation: Operation;
  readonly target: string;
  readonly headers: readonly Header[];
  readonly body: string | undefined;
}

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly content: Uint8Array;
}

/** Why there is no reply. `begun` is false where nothing can have reached the service. */
interface Failure {
  readonly reason: string;
  readonly begun: boolean;
  readonly timedOut: boolean;
  readonly lasting: boolean;
}

interface Refused {
  readonly error: LaariError;
  readonly retry: boolean;
}

export interface Result {
  readonly value: unknown;
  readonly requestId: string | undefined;
}

interface Proof {
  readonly header: Header | undefined;
  readonly token: string | undefined;
}

const TOKEN: Operation = {
  name: "issue_token",
  method: "POST",
  path: "/merchant/oauth/token",
  audience: "token",
  keyed: false,
  repeatable: true, // a token that nobody uses does no harm
  binary: false,
  cursor: "",
};

const USER_AGENT = "laari-client-typescript/0.1.0";
const MAX_ANSWER_BYTES = 32 * 1024 * 1024; // the largest page is far smaller
const FIRST_BACKOFF = 250; // milliseconds
const MAX_BACKOFF = 8_000;
const LONGEST_TIMER = 2 ** 31 - 1;

// Nothing has been begun, so that anything may be sent again.
const NOTHING_BEGUN_STATUSES = new Set([408, 429]);
const NOTHING_BEGUN_CODES = new Set(["service_unavailable", "temporarily_unavailable"]);
const NOT_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);
// The outcome is unknown or still to come: only what is repeatable is sent again.
const UNKNOWN_STATUSES = new Set([500, 502, 503, 504]);
const UNKNOWN_CODES = new Set([
  "idempotency_in_progress",
  "payment_in_progress",
  "idempotency_unavailable",
]);

export class Connection {
  readonly #config: Config;
  readonly #tokens: Tokens;

  constructor(config: Config) {
    this.#config = config;
    this.#tokens = new Tokens((deadline) => this.#fetchToken(deadline));
  }

  async run<T>(operation: Operation, call: Call): Promise<T> {
    const result = await this.fetch(operation, call);
    if (operation.binary) return result.value as T;
    const value = result.value as Record<string, unknown>;
    if (!("data" in value)) throw unreadable("there is no data in it", result.requestId);
    // The types are the document's: what they say is not checked again here.
    return value["data"] as T;
  }

  async fetch(operation: Operation, call: Call, deadline = this.#config.deadline): Promise<Result> {
    const prepared = await prepare(operation, call);
    const signal = call.options?.signal;
    const endsAt = Date.now() + deadline;
    let refused: string | undefined;
    for (let attempt = 1; ; attempt++) {
      const proof = await this.#proof(operation, refused, endsAt - Date.now());
      signal?.throwIfAborted();
      const left = Math.max(endsAt - Date.now(), 1);
      const limit = Math.min(this.#config.timeout, left);
      const outcome = await this.#attempt(prepared, proof, limit, signal);
      const verdict = judge(operation, outcome, this.#config.origin);
      if (!("error" in verdict)) return verdict;
      if (verdict.error.status === 401 && proof.token !== undefined && refused === undefined) {
        // Expired or revoked since: nothing was done, so it is sent once more with a new token.
        refused = proof.token;
        attempt -= 1;
        continue;
      }
      const wait = pause(attempt, verdict.error.retryAfter);
      if (!verdict.retry || attempt >= this.#config.maxAttempts || Date.now() + wait >= endsAt) {
        throw verdict.error;
      }
      await sleep(wait, signal);
    }
  }

  async #proof(operation: Operation, refused: string | undefined, left: number): Promise<Proof> {
    const { secretKey, walletKey, client } = this.#config;
    if (operation.audience === "public") return { header: undefined, token: undefined };
    if (operation.audience === "token") return { header: client, token: undefined };
    if (operation.audience === "wallet") {
      if (walletKey === undefined) {
        throw new ConfigurationError("The wallet interface needs walletKey.");
      }
      return { header: walletKey, token: undefined };
    }
    if (secretKey !== undefined) return { header: secretKey, token: undefined };
    if (client === undefined) {
      throw new ConfigurationError(
        "The merchant interface needs secretKey, or clientId and clientSecret.",
      );
    }
    const token = await this.#tokens.get(refused, Math.max(left, 1));
    return { header: ["Authorization", `Bearer ${token}`], token };
  }

  async #fetchToken(deadline: number): Promise<unknown> {
    const form = new URLSearchParams({ grant_type: "client_credentials" });
    if (this.#config.scope !== undefined) form.set("scope", this.#config.scope);
    return (await this.fetch(TOKEN, { form: form.toString() }, deadline)).value;
  }

  async #attempt(
    prepared: Prepared,
    proof: Proof,
    limit: number,
    signal: AbortSignal | undefined,
  ): Promise<Reply | Failure> {
    const headers = new Headers();
    for (const header of prepared.headers) headers.set(...header);
    if (proof.header !== undefined) headers.set(...proof.header);
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(), Math.min(limit, LONGEST_TIMER));
    const given = () => ending.abort();
    signal?.addEventListener("abort", given);
    try {
      const response = await this.#config.fetch(`${this.#config.origin}${prepared.target}`, {
        method: prepared.operation.method,
        headers,
        redirect: "manual", // the credentials belong to the address that was given
        credentials: "omit",
        signal: ending.signal,
        ...(prepared.body === undefined ? {} : { body: prepared.body }),
      });
      const content = await contentOf(response);
      if (content === undefined) return failed("the answer is too large", { lasting: true });
      return { status: response.status, headers: response.headers, content };
    } catch (error) {
      signal?.throwIfAborted();
      if (ending.signal.aborted) return failed("the answer takes too long", { timedOut: true });
      return failureOf(error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", given);
    }
  }
}

async function prepare(operation: Operation, call: Call): Promise<Prepared> {
  let target: string = operation.path;
  if (target.includes("{id}")) target = target.replace("{id}", () => segment(call.id));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value === undefined || value === null) continue;
    query.set(name, value instanceof Date ? moment(value) : String(value));
  }
  const asked = query.toString();
  if (asked) target = `${target}?${asked}`;
  const headers: Header[] = [["User-Agent", USER_AGENT]];
  let body = call.form;
  if (call.body !== undefined) {
    body = writeJson(call.body);
    headers.push(["Content-Type", "application/json"]);
  } else if (body !== undefined) {
    headers.push(["Content-Type", "application/x-www-form-urlencoded"]);
  }
  if (operation.audience === "merchant" || operation.audience === "public") {
    headers.push(["Service-Version", API_VERSION]);
  }
  if (operation.keyed) {
    const key = call.options?.idempotencyKey ?? (await webCrypto()).randomUUID();
    if (!/^[!-~]{1,255}$/.test(key)) {
      throw new ConfigurationError(
        "An idempotency key is 1 to 255 printable ASCII characters without spaces.",
      );
    }
    headers.push(["Idempotency-Key", key]);
  }
  return { operation, target, headers, body };
}

/** An id as one segment of a path, whatever it contains. */
function segment(id: string | undefined): string {
  if (typeof id !== "string" || id.trim() === "" || id === "." || id === "..") {
    throw new ConfigurationError("An id must be the string that the service returned.");
  }
  return encodeURIComponent(id);
}

async function contentOf(response: Response): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const part = await reader?.read();
    if (part === undefined || part.done) break;
    parts.push(part.value);
    length += part.value.length;
    if (length > MAX_ANSWER_BYTES) {
      await reader?.cancel();
      return undefined;
    }
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function failed(reason: string, more: Partial<Failure> = {}): Failure {
  return { begun: true, timedOut: false, lasting: false, ...more, reason };
}

/** Only words of the error are kept. */
function failureOf(error: unknown): Failure {
  const cause: unknown = isObject(error) || error instanceof Error ? error.cause : undefined;
  const code = isObject(cause) ? String(cause["code"] ?? "") : "";
  const lasting = /CERT|TLS/.test(code);
  return failed(code || "no answer", { begun: !NOT_CONNECTED.has(code) && !lasting, lasting });
}

function judge(operation: Operation, outcome: Reply | Failure, origin: string): Result | Refused {
  if ("reason" in outcome) {
    const retry = !outcome.lasting && (operation.repeatable || !outcome.begun);
    return { error: unanswered(outcome, origin), retry };
  }
  const { status } = outcome;
  if (status >= 200 && status < 300) return result(operation, outcome);
  if (status < 400) return { error: notOurs(outcome, "redirected", "a redirect"), retry: false };
  const error = readError(outcome);
  if (NOTHING_BEGUN_STATUSES.has(status) || NOTHING_BEGUN_CODES.has(error.code)) {
    return { error, retry: true };
  }
  const unknown = UNKNOWN_STATUSES.has(status) || UNKNOWN_CODES.has(error.code);
  return { error, retry: unknown && operation.repeatable };
}

function unanswered({ reason, begun, timedOut }: Failure, origin: string): LaariError {
  if (timedOut) {
    return new RequestTimeoutError(`No answer from ${origin} in time: ${reason}.`, {
      code: "timeout",
    });
  }
  const [code, what] = begun
    ? ["connection_lost", `The connection to ${origin} was lost: ${reason}.`]
    : [
        "connection_failed",
        `The service could not be reached at ${origin}: ${reason}. Is it running?`,
      ];
  return new ConnectionFailedError(what, { code });
}

function notOurs(reply: Reply, code: string, what: string): LaariError {
  return new InvalidResponseError(`The answer is ${what}, which the service does not send.`, {
    code,
    status: reply.status,
    requestId: requestId(reply),
  });
}

function result(operation: Operation, reply: Reply): Result | Refused {
  if (operation.binary) return { value: reply.content, requestId: requestId(reply) };
  const value = parsed(reply);
  if (!isObject(value)) {
    // Cut short, or of something in between: what was done is not known.
    const error = notOurs(reply, "invalid_response", "no JSON object");
    return { error, retry: operation.repeatable };
  }
  return { value, requestId: requestId(reply) };
}

function parsed(reply: Reply): unknown {
  try {
    return parseJson(new TextDecoder("utf-8", { fatal: true }).decode(reply.content));
  } catch {
    return undefined;
  }
}

/** The refusal in any of the service's three shapes, or in none. */
function readError(reply: Reply): APIError {
  let code = `http_${reply.status}`;
  let message = `Answered with HTTP ${reply.status}, and not in the service's own form.`;
  let field: string | undefined;
  const body = parsed(reply);
  const error = isObject(body) ? body["error"] : undefined;
  if (isObject(error) && typeof error["code"] === "string") {
    code = error["code"];
    message = String(error["message"] ?? code);
    if (typeof error["field"] === "string") field = error["field"];
  } else if (isObject(body) && typeof error === "string") {
    code = error;
    message = String(body["error_description"] ?? code);
  }
  return new (errorClass(code, reply.status))(message, {
    code,
    field,
    status: reply.status,
    requestId: requestId(reply),
    retryAfter: retryAfter(reply.headers.get("retry-after")),
  });
}

function requestId(reply: Reply): string | undefined {
  return reply.headers.get("request-id") ?? undefined;
}

/** Seconds, from a number or a date; undefined if it is neither. */
function retryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  if (/^\d{1,10}$/.test(value.trim())) return Number(value);
  const at = /[a-z]/i.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? undefined : Math.max((at - Date.now()) / 1000, 0);
}

/** Doubling, spread over the upper half, never earlier than the service asks for. */
function pause(attempt: number, seconds: number | undefined): number {
  const longest = Math.min(MAX_BACKOFF, FIRST_BACKOFF * 2 ** Math.min(attempt - 1, 10));
  const own = longest / 2 + (Math.random() * longest) / 2;
  const asked = (seconds ?? 0) * 1000;
  return asked > own ? asked + own : own;
}

function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const given = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", given);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", given);
    if (signal?.aborted) given();
  });
}

export function unreadable(what: string, id: string | undefined): InvalidResponseError {
  return new InvalidResponseError(`The answer cannot be read: ${what}.`, {
    code: "invalid_response",
    requestId: id,
  });
}
