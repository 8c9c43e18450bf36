// Verifies webhooks; the argument is a list of cases. Prints the event's type, or the refusal.
import { LaariError, verifyWebhook } from "laari-client";

for (const { body, header, secret, now } of JSON.parse(process.argv[2] ?? "[]")) {
  try {
    console.log((await verifyWebhook(body, header, secret, { now })).type);
  } catch (error) {
    if (!(error instanceof LaariError)) throw error;
    console.log(error.name);
  }
}
