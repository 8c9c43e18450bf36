// Passkeys: asks for a challenge, lets the browser answer it, and sends the answer with the form.
// The forms are hidden without a script, and in a browser without passkeys.
"use strict";

(() => {
  if (!window.PublicKeyCredential) return;

  function bytes(text) {
    const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
  }

  function text(buffer) {
    const letters = String.fromCharCode(...new Uint8Array(buffer ?? []));
    return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }

  async function created(options) {
    options.user.id = bytes(options.user.id);
    for (const known of options.excludeCredentials) known.id = bytes(known.id);
    const { rawId, response } = await navigator.credentials.create({ publicKey: options });
    return { credential: rawId, client_data: response.clientDataJSON, attestation: response.attestationObject };
  }

  async function got(options) {
    const { rawId, response } = await navigator.credentials.get({ publicKey: options });
    return {
      credential: rawId,
      client_data: response.clientDataJSON,
      authenticator_data: response.authenticatorData,
      signature: response.signature,
      user_handle: response.userHandle,
    };
  }

  // The answer of the service is a challenge, or the reason why there is none.
  async function ask(form, asked) {
    const post = { method: "POST", body: new URLSearchParams(new FormData(form)) };
    const answer = await fetch(asked.options, asked.passkey === "create" ? post : {});
    if (answer.redirected) return location.reload(); // logged out meanwhile
    const isOurs = answer.headers.get("content-type")?.startsWith("application/json");
    const found = isOurs ? await answer.json() : {};
    if (!answer.ok) throw new Error(found.problem ?? asked.failed);
    return found;
  }

  async function answer(form, asked) {
    const options = await ask(form, asked);
    if (!options) return;
    const { challenge } = options;
    options.challenge = bytes(challenge);
    const found = await (asked.passkey === "create" ? created(options) : got(options)).catch(() => {
      throw new Error(asked.failed); // cancelled, too late, or not at this address
    });
    for (const [name, value] of [["challenge", bytes(challenge)], ...Object.entries(found)]) {
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name, value: text(value) });
      form.append(field);
    }
    for (const secret of form.querySelectorAll("[type=password]")) secret.disabled = true; // it was sent
    form.submit();
  }

  async function start(event, form, asked) {
    event.preventDefault();
    event.stopImmediatePropagation();
    if (form.dataset.busy) return; // one press is one question
    const problem = form.querySelector("[data-passkey-problem]");
    form.dataset.busy = "yes";
    problem.hidden = true;
    try {
      await answer(form, asked);
    } catch (error) {
      problem.textContent = error instanceof TypeError ? asked.failed : error.message; // or offline
      problem.hidden = false;
      delete form.dataset.busy;
    }
  }

  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => start(event, form, form.dataset), true);
  }
  // A second button of a form: the answer stands for the password, and for nothing else.
  for (const button of document.querySelectorAll("button[data-passkey]")) {
    const { form } = button;
    button.hidden = false;
    button.addEventListener("click", (event) => {
      const secrets = form.querySelectorAll("[type=password]");
      for (const secret of secrets) secret.disabled = true;
      const isFilled = form.reportValidity();
      for (const secret of secrets) secret.disabled = false;
      if (isFilled) start(event, form, button.dataset);
    });
  }
  for (const note of document.querySelectorAll("[data-without-passkeys]")) note.hidden = true;
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload(); // back from the browser's memory: an answer counts once
  });
})();
