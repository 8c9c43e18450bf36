// One call for each argument after origin and key: "create", "clock" or "away". Prints what came.
import { inspect } from "node:util";
import { Laari, LaariError } from "laari-client";

const [baseUrl, secretKey, options, ...calls] = process.argv.slice(2) as [string, string, string];
const client = new Laari({ baseUrl, secretKey, ...JSON.parse(options) });

for (const call of calls as string[]) {
  const begun = Date.now();
  try {
    if (call === "clock") await client.sandbox.moveClock({ advance_seconds: 1 });
    else await client.payments.create({ reference: "p-1", amount: 100 });
    console.log(JSON.stringify({ name: "none" }));
  } catch (error) {
    if (!(error instanceof LaariError)) throw error;
    const { name, code, status = null, field = null, retryAfter = null } = error;
    const shown = inspect(error, { depth: null, showHidden: true }) + inspect(client);
    const seconds = (Date.now() - begun) / 1000;
    console.log(JSON.stringify({ name, code, status, field, retryAfter, shown, seconds }));
  }
}
