// The digits with which a till without a connection checks that its printed code was paid. The rule is
// in laari/rules/merchants/offline.py. The device keeps the secret, the difference of the clocks, the
// wrong attempts and the payments that it has accepted.
"use strict";

const laariOffline = (() => {
  const PLACE = "laari-offline";
  const SCOPE = "/counter";
  const HOUR = 3_600_000;

  function load() {
    try {
      return JSON.parse(localStorage.getItem(PLACE)) ?? {};
    } catch {
      return {};
    }
  }

  const save = (state) => localStorage.setItem(PLACE, JSON.stringify(state));

  // What the page of the counter brings: a new secret with each pairing and each end of a device, and
  // the worker that opens the counter without a connection.
  function keep(secret, clock, worker) {
    save({ ...load(), secret, ahead: Number(clock) - Date.now() });
    if (worker) navigator.serviceWorker?.register(worker, { scope: SCOPE }).catch(() => {}); // with the next keypad
  }

  async function forget() {
    localStorage.removeItem(PLACE);
    await (await navigator.serviceWorker?.getRegistration(SCOPE))?.unregister();
  }

  // In laari; null if it is not an amount.
  function readAmount(text) {
    const found = /^(\d{1,9})(?:\.(\d{1,2}))?$/.exec(text.replaceAll(",", "").trim());
    const amount = found ? Number(found[1]) * 100 + Number((found[2] ?? "").padEnd(2, "0")) : 0;
    return amount > 0 ? amount : null;
  }

  async function digitsOf(secret, amount, minute) {
    const text = new DataView(new ArrayBuffer(16));
    text.setBigUint64(0, BigInt(amount));
    text.setBigUint64(8, BigInt(minute));
    const kind = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), kind, false, ["sign"]);
    const digest = new DataView(await crypto.subtle.sign("HMAC", key, text));
    const number = digest.getUint32(digest.getUint8(31) & 15) & 0x7fffffff;
    return String(number % 1_000_000).padStart(6, "0");
  }

  // "good" once for a payment, then "used"; "bad"; "wait" after too many wrong attempts; "unread" if
  // it was not typed completely; "none" if this device has no secret or cannot compute.
  async function check(amountText, digitsText, { minutes, tries, within }) {
    const amount = readAmount(amountText);
    const digits = digitsText.replace(/\s/g, "");
    if (amount === null || !/^\d{6}$/.test(digits)) return "unread";
    const state = load();
    if (!state.secret || !globalThis.crypto?.subtle) return "none";
    const now = Date.now() + state.ahead;
    const wrong = (state.wrong ?? []).filter((time) => now - time < within * 1000);
    if (wrong.length >= tries) return "wait";
    save({ ...state, wrong: [...wrong, now] }); // before the answer is known: no two at once
    const present = Math.floor(now / 60_000);
    for (let minute = present; minute > present - minutes; minute -= 1) {
      if ((await digitsOf(state.secret, amount, minute)) !== digits) continue;
      const after = load(); // with other attempts that were made meanwhile
      const left = after.wrong ?? [];
      left.splice(left.indexOf(now), 1);
      const used = (after.used ?? []).filter(([, when]) => now - when * 60_000 < HOUR);
      const known = used.some(([what, when]) => what === amount && when === minute);
      save({ ...after, wrong: left, used: known ? used : [...used, [amount, minute]] });
      return known ? "used" : "good";
    }
    return "bad";
  }

  return { keep, forget, digitsOf, check };
})();
