// A round trip through types that openapi-typescript has made; arguments: origin, key.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

const AMOUNT = 9_999_999_999;
const BALANCE = 1_000_000_000_000;
const [origin, key] = process.argv.slice(2) as [string, string];

function clientOf(secret: string) {
  return createClient<paths>({ baseUrl: origin, headers: { "X-API-Key": secret } });
}

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`not so: ${what}`);
}

/** The data of an answer that has to be good. */
function good<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

/** What an event is about: the type decides which fields there are. */
function about(event: components["schemas"]["Event"]): string {
  switch (event.type) {
    case "payment.created":
    case "payment.paid":
      return `${event.type} ${event.data.amount} ${event.data.payment_url ?? "charged"}`;
    case "authorization.created":
      return event.data.approval_url;
    case "payment_request.created":
      return event.data.customer.value;
    case "webhook.test":
      return event.data.message;
    default:
      return event.id;
  }
}

const shop = clientOf(key);
const wallet = good(
  await shop.POST("/merchant/sandbox/wallet", { body: { balance: BALANCE, tier: "business" } }),
).data;
check(wallet.balance === BALANCE, "balance");

const payment = good(
  await shop.POST("/merchant/payments", {
    body: { reference: "typescript", amount: AMOUNT },
    params: { header: { "Idempotency-Key": "typescript" } },
  }),
).data;
check(payment.amount === AMOUNT && payment.status === "pending", "created");
check(payment.fee === null, "no fee yet");

const params = { path: { id: payment.id } };
const paid = good(await shop.POST("/merchant/sandbox/payments/{id}/pay", { params })).data;
check(paid.status === "paid" && (paid.fee ?? 0) + (paid.net_amount ?? 0) === AMOUNT, "paid");

const page = good(
  await shop.GET("/merchant/payments", {
    params: { query: { status: "paid", created_from: payment.created_at } },
  }),
);
check(page.data.length === 1 && page.data[0]?.amount === AMOUNT, "listed");
check(page.pagination.next_cursor === null, "one page");
const read = good(await shop.GET("/merchant/payments/{id}", { params })).data;
check(read.paid_at === paid.paid_at, "read");

const events = good(await shop.GET("/merchant/events")).data;
check(
  events.map(about).join() ===
    ["payment.paid", "payment.created"].map((t) => `${t} ${AMOUNT} ${payment.payment_url}`).join(),
  "events",
);

const unknown = await shop.GET("/merchant/payments/{id}", { params: { path: { id: "pay_x" } } });
check(unknown.error?.error.code === "not_found", "an error is typed");

const [balance] = good(await clientOf(wallet.api_key).GET("/wallet/balance")).data;
check(balance?.ledger_balance === (BALANCE - AMOUNT) / 100, "wallet");
console.log("done");
