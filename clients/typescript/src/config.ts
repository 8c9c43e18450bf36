// Where the service is and who is calling: checked once, when a client is made.
import { ConfigurationError } from "./errors.js";

export interface Options {
  /** The service's address; that of the merchant interface is understood too. */
  baseUrl: string;
  secretKey?: string | undefined;
  /** An OAuth client, instead of the secret key. */
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  scope?: string | undefined;
  /** A personal account's key, for the wallet interface. */
  walletKey?: string | undefined;
  /** Milliseconds of one attempt. */
  timeout?: number;
  /** Milliseconds of a call, with all its attempts and the waits between them. */
  deadline?: number;
  maxAttempts?: number;
  /** Plain http to other machines; it shows the key to the network. */
  allowHttp?: boolean;
  /** Instead of the global one. */
  fetch?: typeof fetch;
}

export type Header = readonly [name: string, value: string];

export interface Config {
  readonly origin: string;
  readonly timeout: number;
  readonly deadline: number;
  readonly maxAttempts: number;
  readonly fetch: typeof fetch;
  readonly secretKey: Header | undefined;
  readonly walletKey: Header | undefined;
  readonly client: Header | undefined;
  readonly scope: string | undefined;
}

const MERCHANT_PATH = "/merchant";

export function makeConfig(options: Options): Config {
  const { secretKey, clientId, clientSecret, scope, walletKey } = options;
  if ((clientId === undefined) !== (clientSecret === undefined)) {
    throw new ConfigurationError("clientId and clientSecret go together.");
  }
  if (secretKey !== undefined && clientId !== undefined) {
    throw new ConfigurationError("Give secretKey or an OAuth client, not both.");
  }
  if (secretKey === undefined && clientId === undefined && walletKey === undefined) {
    throw new ConfigurationError(
      "Give secretKey, clientId and clientSecret, or walletKey: there are no credentials.",
    );
  }
  if (scope !== undefined && clientId === undefined) {
    throw new ConfigurationError("scope is for an OAuth client; a secret key has every scope.");
  }
  return {
    origin: origin(options.baseUrl, options.allowHttp ?? false),
    timeout: positive("timeout", options.timeout ?? 15_000),
    deadline: positive("deadline", options.deadline ?? 60_000),
    maxAttempts: positive("maxAttempts", options.maxAttempts ?? 8),
    fetch: options.fetch ?? globalThis.fetch,
    secretKey: key("secretKey", secretKey),
    walletKey: key("walletKey", walletKey),
    client: basic(clientId, clientSecret),
    scope,
  };
}

function positive(name: string, value: number): number {
  if (Number.isFinite(value) && value >= 1) return value;
  throw new ConfigurationError(`${name} is a number of at least 1.`);
}

function origin(address: string, allowHttp: boolean): string {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw new ConfigurationError("baseUrl is not a URL.");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new ConfigurationError("baseUrl must be the http or https address of the service.");
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new ConfigurationError("baseUrl has no credentials, query or fragment.");
  }
  if (url.protocol === "http:" && !allowHttp && !isLoopback(url.hostname)) {
    throw new ConfigurationError(
      "Plain http shows the key to the network. Use https, or allowHttp.",
    );
  }
  let path = url.pathname.replace(/\/+$/, "");
  if (path.endsWith(MERCHANT_PATH)) path = path.slice(0, -MERCHANT_PATH.length);
  return `${url.protocol}//${url.host}${path.replace(/\/+$/, "")}`;
}

function isLoopback(host: string): boolean {
  return /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host);
}

/** Refused here and without the value: fetch's own complaint about a header would show it. */
function visible(name: string, value: string): string {
  if (/^[!-~]+$/.test(value)) return value;
  throw new ConfigurationError(
    `${name} is empty, or has a space, a line's end or another unusual character in it.`,
  );
}

function key(name: string, value: string | undefined): Header | undefined {
  return value === undefined ? undefined : ["X-API-Key", visible(name, value)];
}

function basic(id: string | undefined, secret: string | undefined): Header | undefined {
  if (id === undefined || secret === undefined) return undefined;
  // Both parts are form-encoded inside Basic (RFC 6749).
  const pair = [visible("clientId", id), visible("clientSecret", secret)].map(encodeURIComponent);
  return ["Authorization", `Basic ${btoa(pair.join(":"))}`];
}
