// Every method of the client once; arguments: origin, key.
import { AuthorizationNotFoundError, type Event, Laari, LaariError } from "laari-client";
import * as errors from "laari-client";

const [baseUrl, secretKey] = process.argv.slice(2) as [string, string];
const client = new Laari({ baseUrl, secretKey });

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`not so: ${what}`);
}

async function all<T>(listing: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of listing) items.push(item);
  return items;
}

async function refusal(work: Promise<unknown>): Promise<LaariError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof LaariError) return error;
    throw error;
  }
  throw new Error("it worked");
}

/** What an event is about: the type decides which fields there are. */
function about(event: Event): string {
  switch (event.type) {
    case "payment.cancelled":
      return `${event.data.amount} ${event.data.payment_url ?? "charged"}`;
    case "authorization.created":
      return event.data.approval_url;
    default:
      return event.id;
  }
}

const purse = await client.sandbox.setWallet({ balance: 50_000_000, tier: "business" });
check(purse.balance === 50_000_000 && purse.tier === "business", "wallet");

const made = await client.payments.create({
  reference: "p-1",
  amount: 9_999_999_999,
  metadata: { basket: "b-77" },
  expires_at: new Date(Date.now() + 3 * 86_400_000),
});
check(made.status === "pending" && made.metadata["basket"] === "b-77", "created");
const png = await client.payments.qr(made.id);
check(png[0] === 0x89 && png[1] === 0x50, "QR image");
check((await client.sandbox.payments.reserve(made.id)).status === "pending", "reserved");
check((await client.sandbox.payments.release(made.id)).status === "pending", "released");
check((await client.payments.cancel(made.id)).status === "cancelled", "cancelled");
check((await client.payments.get(made.id)).amount === 9_999_999_999, "read");
const other = await client.payments.create({ reference: "p-2", amount: 100 });
check((await client.sandbox.payments.reject(other.id)).status === "rejected", "rejected");
const third = await client.payments.create({ reference: "p-3", amount: 12_550 });
const paid = await client.sandbox.payments.pay(third.id);
check(paid.status === "paid" && typeof paid.paid_at === "string", "paid");
const two = client.payments.list({ limit: 2 });
check((await all(two)).map((each) => each.reference).join() === "p-3,p-2", "a limit is a limit");
const taken = [await two.next(), await two.next(), await two.next()];
check(taken.map((each) => each.value?.reference).join() === "p-3,p-2,", "one after the other");
const listed = await all(client.payments.list({ created_from: made.created_at }));
check(listed.map((each) => each.reference).join() === "p-3,p-2,p-1", "listed over pages");
const pages = [];
for await (const page of client.payments.list({ limit: 2 }).pages()) pages.push(page.items.length);
check(pages.join() === "2,1", "pages");

const customer = { type: "vpa", value: "sandbox" } as const;
const ids: string[] = [];
for (const reference of ["r-0", "r-1", "r-2"]) {
  ids.push((await client.paymentRequests.create({ reference, amount: 500, customer })).id);
}
const [first, second, last] = ids as [string, string, string];
const requests = client.sandbox.paymentRequests;
check((await requests.reserve(first)).status === "pending", "request reserved");
check((await requests.release(first)).status === "pending", "request released");
check((await requests.pay(first)).payment_id !== null, "request paid");
check((await requests.reject(second)).status === "rejected", "request rejected");
check((await client.paymentRequests.cancel(last)).status === "cancelled", "request cancelled");
check((await client.paymentRequests.get(last)).customer.value === "sandbox", "request read");
check((await all(client.paymentRequests.list())).length === 3, "requests listed");

const asked = await client.authorizations.create({
  reference: "a-1",
  title: "Box",
  limits: { total: 999_999_999_999_999_999n, period: { interval: "month", amount: 5_000 } },
});
check(asked.limits.total === 999_999_999_999_999_999n, "exact beyond 2^53");
check(asked.limits.period?.amount === 5_000, "a number where that is exact");
check((await client.sandbox.authorizations.approve(asked.id)).status === "active", "approved");
check((await client.sandbox.authorizations.suspend(asked.id)).status === "suspended", "suspended");
check((await client.sandbox.authorizations.resume(asked.id)).status === "active", "resumed");
const preview = await client.authorizations.previewCharge(asked.id, { amount: 6_000 });
check(!preview.would_succeed && preview.code === "period_limit_exceeded", "preview");
const charge = await client.authorizations.charge(asked.id, { reference: "c-1", amount: 4_000 });
check((await all(client.authorizations.payments(asked.id)))[0]?.id === charge.id, "charged");
check((await client.authorizations.cancel(asked.id)).status === "revoked", "revoked");
const unwanted = await client.authorizations.create({ reference: "a-2", title: "Box" });
check((await client.sandbox.authorizations.reject(unwanted.id)).status === "rejected", "declined");
check((await client.authorizations.get(asked.id)).usage.total_paid === 4_000, "usage");
check((await all(client.authorizations.list({ status: "revoked" }))).length === 1, "by status");

const [event] = await all(client.events.list({ type: "payment.cancelled", delivered: false }));
check(event !== undefined && about(event) === `9999999999 ${made.payment_url}`, "event");
check((await client.events.get(event.id)).id === event.id, "event read");
check((await client.sandbox.moveClock({ advance_seconds: 60 })).offset_seconds === 60, "clock");
check((await client.sandbox.moveClock({ reset: true })).offset_seconds === 0, "clock back");

const wallet = new Laari({ baseUrl, walletKey: purse.api_key }).wallet;
check((await wallet.balance())[0]?.ledger_balance === 499_829.5, "balance");
check((await wallet.usage()).limits.daily === null, "usage of the wallet");
const history = await all(wallet.transactions());
check(history[0]?.amount === -40 && history.length === 5, "history");

const wrong = await refusal(client.payments.create({ reference: "p-9", amount: 0 }));
check(wrong instanceof errors.InvalidRequestError && wrong.field === "amount", "field");
check(wrong instanceof errors.BadRequestError && wrong.status === 400, "class of the status");
check(typeof wrong.requestId === "string" && wrong.name === "InvalidRequestError", "request id");
const unknown = await refusal(client.authorizations.get("auth_x"));
check(unknown instanceof AuthorizationNotFoundError, "class of the code");
for (const strange of ["a/b", "../payments", "x?limit=1", "é", "a#b"]) {
  check((await refusal(client.payments.get(strange))).status === 404, `id ${strange}`);
}
for (const none of ["", " ", ".", ".."]) {
  check((await refusal(client.payments.get(none))).code === "client_error", `id ${none}`);
}
const key = { idempotencyKey: "order-1" };
const once = await client.payments.create({ reference: "k-1", amount: 100 }, key);
check((await client.payments.create({ reference: "k-1", amount: 100 }, key)).id === once.id, "key");
const conflict = await refusal(client.payments.create({ reference: "k-2", amount: 100 }, key));
check(conflict instanceof errors.IdempotencyConflictError, "key of another request");
const ending = new AbortController();
const unsaid = await refusal(client.payments.get("xxx", { signal: ending.signal }));
check(unsaid.status === 404, "a signal that says nothing");
ending.abort(new Error("enough"));
const given = await client.payments.get(made.id, { signal: ending.signal }).catch(String);
check(given === "Error: enough", "given up");
const inexact = { reference: "w", title: "Box", limits: { total: 2 ** 60 } };
const told = await refusal(client.authorizations.create(inexact));
check(told instanceof errors.ConfigurationError && told.message.includes("bigint"), "inexact");

const sold = await client.payments.create({ reference: "m-1", amount: 700 });
await client.sandbox.payments.pay(sold.id);
const refund = await client.payments.refund(sold.id, { amount: 50 });
check((await client.refunds.get(refund.id)).amount === 50, "refund");
check((await all(client.payments.refunds(sold.id)))[0]?.id === refund.id, "refunds");
const money = await client.balance.get();
const payout = await client.sandbox.payouts.create();
check(payout.amount === money.available, "payout");
check((await client.sandbox.payouts.settle(payout.id)).status === "settled", "settled");
check((await client.payouts.get(payout.id)).status === "settled", "one payout");
check((await all(client.payouts.list()))[0]?.id === payout.id, "payouts");
check((await all(client.payouts.movements(payout.id))).length > 0, "movements");
const later = await client.payments.create({ reference: "m-2", amount: 700 });
await client.sandbox.payments.pay(later.id);
const back = await client.sandbox.payouts.create();
check((await client.sandbox.payouts.sendBack(back.id)).status === "returned", "returned");
console.log("done");
