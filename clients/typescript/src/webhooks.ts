// The signature of a webhook.
import { ConfigurationError, WebhookVerificationError } from "./errors.js";
import { unreadable } from "./connection.js";
import type { Event } from "./generated.js";
import { isObject, parseJson } from "./json.js";
import { webCrypto } from "./webcrypto.js";

export interface VerifyOptions {
  /** Seconds that the time of the signature may be from this clock's; 300. */
  tolerance?: number;
  /** Seconds since 1970, instead of this machine's clock. */
  now?: number;
}

/**
 * The event, if the `Service-Signature` header proves that the service sent this very body.
 * `body` is the raw body, before anything has parsed it. `secret` is the merchant's secret key;
 * while a key is being exchanged, give the old one and the new. Rejects with
 * `WebhookVerificationError`, to be answered with 401.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  header: string | null | undefined,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<Event> {
  const encoder = new TextEncoder();
  const given: unknown = body; // JavaScript hands over anything
  if (typeof given !== "string" && !(ArrayBuffer.isView(given) && "BYTES_PER_ELEMENT" in given)) {
    throw new ConfigurationError(
      "body is the raw body as it came, text or bytes, not what was parsed of it: JSON that was" +
        " parsed has lost the bytes that are signed.",
    );
  }
  if (header !== null && header !== undefined && typeof (header as unknown) !== "string") {
    throw new ConfigurationError("header is the value of Service-Signature, a text.");
  }
  const raw = typeof body === "string" ? encoder.encode(body) : body;
  const secrets = typeof secret === "string" ? [secret] : secret;
  if (!Array.isArray(secrets)) {
    throw new ConfigurationError("secret is a text, or an array of them.");
  }
  if (secrets.length === 0 || !secrets.every((each) => typeof each === "string" && each)) {
    throw new ConfigurationError("secret is empty: anybody could sign.");
  }
  const { time, signatures } = read(header);
  const distance = Math.abs((options.now ?? Date.now() / 1000) - Number(time));
  if (!(distance <= (options.tolerance ?? 300))) {
    throw refused("its time is too far from this clock's");
  }
  const prefix = encoder.encode(`${time}.`);
  const signed = new Uint8Array(prefix.length + raw.length);
  signed.set(prefix);
  signed.set(raw, prefix.length);
  const { subtle } = await webCrypto();
  let genuine = false;
  for (const each of secrets) {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const key = await subtle.importKey("raw", encoder.encode(each), algorithm, false, ["verify"]);
    for (const signature of signatures) {
      // All of them, always, and each in constant time: the time tells nothing.
      if (await subtle.verify("HMAC", key, signature, signed)) genuine = true;
    }
  }
  if (!genuine) throw refused("its signature is not of this body by this key");
  return readEvent(raw);
}

function readEvent(raw: Uint8Array): Event {
  let value: unknown;
  try {
    value = parseJson(new TextDecoder("utf-8", { fatal: true }).decode(raw));
  } catch {
    value = undefined;
  }
  if (!isObject(value) || typeof value["id"] !== "string" || typeof value["type"] !== "string") {
    throw unreadable("it is no event", undefined);
  }
  return value as unknown as Event;
}

/** The time and every `v1`; other labels are for other receivers. */
function read(header: string | null | undefined): { time: string; signatures: Uint8Array[] } {
  const times: string[] = [];
  const signatures: string[] = [];
  for (const part of (header ?? "").split(",")) {
    const [, label, value] = /^\s*([^=]*)=(.*?)\s*$/.exec(part) ?? [];
    if (label === "t") times.push(value ?? "");
    if (label === "v1") signatures.push(value ?? "");
  }
  const [time, ...more] = times;
  if (time === undefined || more.length > 0 || !/^[0-9]{1,12}$/.test(time)) {
    throw refused("its signature is missing or has no time");
  }
  if (signatures.length === 0 || !signatures.every((each) => /^[0-9a-f]{64}$/.test(each))) {
    throw refused("its signature is missing or malformed");
  }
  return { time, signatures: signatures.map(fromHex) };
}

function fromHex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function refused(why: string): WebhookVerificationError {
  return new WebhookVerificationError(`The webhook is refused: ${why}.`, {
    code: "webhook_refused",
  });
}
