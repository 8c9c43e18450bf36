// Writes through a faulty proxy; arguments: origin, key, authorization, number, how many at once.
// Prints the id that each reference was given.
import { Laari } from "laari-client";

const [baseUrl, secretKey, authorization, number, atOnce] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];
const AMOUNT = 250;
const KINDS = ["payment", "charge", "request", "authorization", "cancelled"] as const;
const client = new Laari({
  baseUrl,
  secretKey,
  timeout: 1_000,
  deadline: 120_000,
  maxAttempts: 60,
});

async function write(kind: (typeof KINDS)[number], reference: string): Promise<string> {
  if (kind === "charge") {
    return (await client.authorizations.charge(authorization, { reference, amount: AMOUNT })).id;
  }
  if (kind === "request") {
    const customer = { type: "vpa", value: "sandbox" } as const;
    return (await client.paymentRequests.create({ reference, amount: AMOUNT, customer })).id;
  }
  if (kind === "authorization") {
    return (await client.authorizations.create({ reference, title: "Box" })).id;
  }
  const made = await client.payments.create({ reference, amount: AMOUNT });
  if (kind === "cancelled" && (await client.payments.cancel(made.id)).status !== "cancelled") {
    throw new Error("not cancelled");
  }
  return made.id;
}

const ids: Record<string, string> = {};
let next = 0;
async function worker(): Promise<void> {
  while (next < Number(number)) {
    const each = next++;
    const kind = KINDS[each % KINDS.length] as (typeof KINDS)[number];
    ids[`${kind}-${each}`] = await write(kind, `${kind}-${each}`);
  }
}
await Promise.all(Array.from({ length: Number(atOnce) }, worker));
console.log(JSON.stringify(ids));
