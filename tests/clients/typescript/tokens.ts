// An OAuth client among many tasks; arguments: origin, id, secret.
import { Laari } from "laari-client";

const [baseUrl, clientId, clientSecret] = process.argv.slice(2) as [string, string, string];
const client = new Laari({ baseUrl, clientId, clientSecret });
const many = Array.from({ length: 16 }, (_, number) => number);
const made = await Promise.all(
  many.map((number) => client.payments.create({ reference: `p-${number}`, amount: 100 })),
);
await client.sandbox.moveClock({ advance_seconds: 2 * 86_400 }); // the token's life ends
await Promise.all(made.map((each) => client.payments.get(each.id)));
console.log("done");
