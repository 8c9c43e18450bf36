// JSON whose integers are exact: what a number cannot hold is a bigint.
import { ConfigurationError } from "./errors.js";

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LONG_INTEGER = /^-?\d{16,}$/;
const MARK = "\u0000integer";

/** Throws a SyntaxError if it is not JSON. */
export function parseJson(text: string): unknown {
  const plain: unknown = JSON.parse(text);
  let wide = false;
  const marked = text.replace(TOKEN, (token) => {
    if (!LONG_INTEGER.test(token) || Number.isSafeInteger(Number(token))) return token;
    wide = true;
    return `{"\\u0000integer":"${token}"}`;
  });
  return wide ? JSON.parse(marked, unmark) : plain;
}

function unmark(_: string, value: unknown): unknown {
  const marked = isObject(value) ? value[MARK] : undefined;
  return typeof marked === "string" && LONG_INTEGER.test(marked) ? BigInt(marked) : value;
}

/** What is undefined is left out; a Date is written as RFC 3339. */
export function writeJson(value: unknown): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return writeNumber(value);
  if (value instanceof Date) return JSON.stringify(moment(value));
  if (Array.isArray(value)) return `[${value.map(writeJson).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, each]) => each !== undefined)
    .map(([name, each]) => `${JSON.stringify(name)}:${writeJson(each)}`);
  return `{${members.join(",")}}`;
}

function writeNumber(value: number): string {
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    throw new ConfigurationError(`${value} is not exact: give a bigint.`);
  }
  return JSON.stringify(value);
}

export function moment(value: Date): string {
  if (Number.isNaN(value.getTime())) throw new ConfigurationError("A Date is not valid.");
  return value.toISOString();
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
