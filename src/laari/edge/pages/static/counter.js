// The counter: a keypad, one page that stays open, and a sound when a sale is paid. Its forms and
// links work without this.
"use strict";

(() => {
  const RETRY = 2; // seconds
  const SENT = "laari-sale"; // the form of a sale whose answer is on its way
  const SPOKEN = "laari-speech"; // the language in which this device speaks amounts
  const offline = document.querySelector("[data-offline]");
  const main = () => document.getElementById("content");
  const dialog = document.querySelector("[data-check]");
  const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
  let shown = 0; // counts what was put on the screen: an old wait must not change it

  // Browsers let a page make sounds once somebody has touched it.
  let sounds = null;
  const unlock = () => {
    sounds ??= new AudioContext();
    sounds.resume();
  };
  addEventListener("click", unlock);
  addEventListener("keydown", unlock);

  // Loaded once somebody chooses a language. Without it the counter makes its sound only.
  const choice = document.querySelector("[data-speech]"); // not on the page without a connection
  const speech = async (use) => {
    if (choice?.value) await import(choice.dataset.speech).then(use, () => {});
  };

  // The amount follows, if somebody wants to hear it: `place` has its words.
  function chime(place) {
    if (!sounds) return;
    for (const [tone, begin] of [[880, 0], [1318.5, 0.14]]) {
      const at = sounds.currentTime + begin;
      const source = sounds.createOscillator();
      const volume = sounds.createGain();
      source.frequency.value = tone;
      volume.gain.setValueAtTime(0.4, at);
      volume.gain.exponentialRampToValueAtTime(0.001, at + 0.35);
      source.connect(volume).connect(sounds.destination);
      source.start(at);
      source.stop(at + 0.35);
    }
    if (place) speech(({ say }) => say(sounds, place, choice));
  }

  addEventListener("offline", () => {
    offline.hidden = false;
  });

  // Sends a request until there is an answer. A sale has a reference, so that sending it again makes
  // no second one.
  async function ask(url, options) {
    for (;;) {
      try {
        const answer = await fetch(url, options);
        if (answer.status < 500 && answer.status !== 429) {
          offline.hidden = true;
          return answer;
        }
      } catch {
        // No connection.
      }
      offline.hidden = false;
      await pause(RETRY);
    }
  }

  async function read(answer) {
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  }

  // Puts another page of the counter on the screen. Any other page is opened as usual.
  async function show(url, options) {
    const turn = ++shown;
    main().setAttribute("aria-busy", "true");
    const answer = await ask(url, options);
    const found = await read(answer);
    if (options) sessionStorage.removeItem(SENT);
    if (turn !== shown) return;
    const next = found.getElementById("content");
    if (!next?.classList.contains("counter")) {
      location.assign(answer.url);
      return;
    }
    const before = main().querySelector("[data-sale]")?.dataset.sale;
    main().replaceWith(document.adoptNode(next));
    history.replaceState(null, "", options?.method && answer.status >= 400 ? location.href : answer.url);
    scrollTo(0, 0);
    const paid = next.querySelector("[data-sale=paid]");
    if (before && before !== "paid" && paid) chime(paid);
    begin();
  }

  const send = (url, body) => show(url, { method: "POST", body });

  // The page was loaded while the answer of a sale was on its way. Sent again, it is the same sale.
  function resume() {
    const sent = sessionStorage.getItem(SENT);
    if (!sent) return;
    for (const form of main().querySelectorAll("form")) form.dataset.busy = "yes";
    const [url, body] = JSON.parse(sent);
    send(url, new URLSearchParams(body));
  }

  // Only the list of sales: an amount that somebody is typing stays.
  async function refreshLatest() {
    const found = await read(await ask(location.href));
    const next = found.getElementById("latest");
    const old = document.getElementById("latest");
    if (!next) return location.reload();
    if (!old) return;
    if (next.dataset.status.split("-")[0] !== old.dataset.status.split("-")[0]) {
      next.classList.add("new");
      chime(next);
    }
    old.replaceWith(document.adoptNode(next));
    keepSecret(found);
  }

  async function watch() {
    const turn = shown;
    for (;;) {
      const place = main().querySelector("[data-wait]");
      if (!place) return;
      const { wait, status } = place.dataset;
      const answer = await ask(`${wait}?status=${encodeURIComponent(status)}`, { headers: { accept: "application/json" } });
      if (turn !== shown) return;
      const found = answer.ok && !answer.redirected ? await answer.json() : { status: "ended" };
      if (turn !== shown) return;
      if (found.status === "ended") {
        await laariOffline.forget();
        return location.reload();
      }
      if ("shell" in place.dataset) return reopen();
      if (found.status === status) {
        await pause(found.waited ? 0.2 : RETRY);
      } else if (place.id === "latest") {
        await refreshLatest();
      } else {
        return show(location.href);
      }
      if (turn !== shown) return;
    }
  }

  // The connection is back, and the page is still what the worker keeps. Somebody may read an answer.
  async function reopen() {
    if (dialog.open) await new Promise((done) => dialog.addEventListener("close", done, { once: true }));
    location.reload();
  }

  // A paired device gets the secret of its till with the keypad.
  function keepSecret(page) {
    const given = page.querySelector("[data-secret]")?.dataset;
    if (given) laariOffline.keep(given.secret, given.clock, given.worker);
  }

  function begin() {
    keepSecret(document);
    for (const button of main().querySelectorAll("[data-print]")) button.hidden = false;
    const amount = document.getElementById("amount");
    const keys = document.querySelector("[data-keys]");
    if (keys) {
      keys.hidden = false;
      // The keypad is the keyboard on a touch screen.
      if (matchMedia("(pointer: coarse)").matches) amount.inputMode = "none";
      keys.addEventListener("click", (event) => {
        const key = event.target.closest("[data-key]")?.dataset.key;
        if (!key) return;
        const text = amount.value;
        if (key === "back") amount.value = text.slice(0, -1);
        else if (key === "." ? !text.includes(".") : !/\.\d\d$/.test(text)) amount.value = text + key;
      });
    }
    for (const form of main().querySelectorAll("form")) {
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        event.stopPropagation();
        if (form.dataset.busy) return; // one press is one sale
        form.dataset.busy = "yes";
        event.submitter?.setAttribute("aria-disabled", "true");
        const body = new URLSearchParams(new FormData(form));
        if (body.has("reference")) sessionStorage.setItem(SENT, JSON.stringify([form.action, String(body)]));
        send(form.action, body);
      }, true);
    }
    for (const link of main().querySelectorAll("a")) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        show(link.href);
      });
    }
    main().querySelector("[data-next]")?.focus();
    watch();
  }

  // Without a connection: the digits of the customer's page. Nothing here asks the server.
  if (dialog) {
    const form = dialog.querySelector("form");
    const says = (name) => {
      for (const each of dialog.querySelectorAll("[data-says]")) each.hidden = each.dataset.says !== name;
    };
    document.querySelector("[data-check-open]").addEventListener("click", () => {
      form.reset();
      form.elements.amount.value = document.getElementById("amount")?.value ?? "";
      says(null);
      dialog.showModal();
    });
    dialog.querySelector("[data-check-close]").addEventListener("click", () => dialog.close());
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const { minutes, tries, within } = dialog.dataset;
      const bounds = { minutes: Number(minutes), tries: Number(tries), within: Number(within) };
      const found = await laariOffline.check(form.elements.amount.value, form.elements.digits.value, bounds);
      says(found);
      if (found !== "good") return;
      chime();
      sessionStorage.removeItem(SENT); // the customer has paid with the printed code instead
    });
  }

  if (choice) {
    const prepare = () => speech(({ load }) => load(choice));
    choice.value = localStorage.getItem(SPOKEN) ?? "";
    choice.addEventListener("change", () => {
      localStorage.setItem(SPOKEN, choice.value);
      prepare();
    });
    choice.closest("[hidden]").hidden = false;
    prepare();
  }

  if (main().classList.contains("counter")) {
    begin();
    if (!main().querySelector("[data-shell]")) resume(); // without a connection it waits for another load
  }
})();
