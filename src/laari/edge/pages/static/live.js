// Scripts of all pages. Every page works without them.
"use strict";

const { here, statusUrl, status } = document.body.dataset;
const wait = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

// Time left, counted from the server's own clock: `data-countdown` is in seconds. At its end the
// page is reloaded.
for (const place of document.querySelectorAll("[data-countdown]")) {
  const end = performance.now() + Number(place.dataset.countdown) * 1000;
  const two = (number) => String(number).padStart(2, "0");
  const tick = () => {
    const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
    const hours = Math.floor(left / 3600);
    place.textContent = `${hours ? hours + ":" : ""}${two(Math.floor(left / 60) % 60)}:${two(left % 60)}`;
    if (left === 0) location.replace(here);
    else setTimeout(tick, 1000 - ((performance.now() - end) % 1000 + 1000) % 1000);
  };
  place.closest("[hidden]")?.removeAttribute("hidden");
  tick();
}

// Waits for another state of the resource, and reloads the page if it has changed.
if (statusUrl) {
  (async () => {
    const began = performance.now();
    let pause = 2; // seconds; somebody at a counter waits for three minutes at most
    for (;;) {
      await wait(pause);
      pause = performance.now() - began < 180_000 ? 2 : Math.min(Math.max(pause, 2) * 1.1, 15);
      if (document.hidden) continue;
      try {
        // The reply comes as soon as the state is another one, or after some seconds.
        const answer = await fetch(`${statusUrl}?status=${status}`, { headers: { accept: "application/json" } });
        if (!answer.ok) continue;
        const found = await answer.json();
        if (found.status !== status) {
          location.replace(here);
          return;
        }
        if (found.waited) pause = 0.2;
      } catch {
        // Offline for a moment: try again later.
      }
    }
  })();
}

// Back to the shop after a moment, unless the visitor wants to stay or prints the receipt.
const back = document.querySelector("a[data-return]");
if (back) {
  const told = document.querySelector("[data-returning]");
  let left = Number(back.dataset.return);
  told.hidden = false;
  const timer = setInterval(() => {
    left -= 1;
    told.querySelector("[data-seconds]").textContent = left;
    if (left <= 0) {
      clearInterval(timer);
      location.assign(back.href);
    }
  }, 1000);
  const stay = () => {
    clearInterval(timer);
    told.hidden = true;
  };
  document.querySelector("[data-stay]").addEventListener("click", stay);
  addEventListener("beforeprint", stay);
}

for (const button of document.querySelectorAll("[data-print]")) button.hidden = false;
addEventListener("click", (event) => {
  if (event.target.closest?.("[data-print]")) print();
});

// One press is one form: a second press before the reply is ignored.
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
    event.submitter?.setAttribute("aria-disabled", "true");
  });
}
addEventListener("pageshow", (event) => {
  if (!event.persisted) return; // back from the browser's memory: forms may be sent again
  for (const form of document.forms) delete form.dataset.sent;
  for (const button of document.querySelectorAll("[aria-disabled]")) button.removeAttribute("aria-disabled");
});

// Tabs that do not fit scroll sideways: the current one is scrolled into view.
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// Copies a value to the clipboard, if the browser allows it: only on secure pages.
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).value);
    button.textContent = button.dataset.copied;
  });
}
