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
  async function ask(form) {
    const post = { method: "POST", body: new URLSearchParams(new FormData(form)) };
    const answer = await fetch(form.dataset.options, form.dataset.passkey === "create" ? post : {});
    if (answer.redirected) return location.reload(); // logged out meanwhile
    const isOurs = answer.headers.get("content-type")?.startsWith("application/json");
    const found = isOurs ? await answer.json() : {};
    if (!answer.ok) throw new Error(found.problem ?? form.dataset.failed);
    return found;
  }

  async function answer(form) {
    const options = await ask(form);
    if (!options) return;
    const { challenge } = options;
    options.challenge = bytes(challenge);
    const found = await (form.dataset.passkey === "create" ? created(options) : got(options)).catch(() => {
      throw new Error(form.dataset.failed); // cancelled, too late, or not at this address
    });
    for (const [name, value] of [["challenge", bytes(challenge)], ...Object.entries(found)]) {
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name, value: text(value) });
      form.append(field);
    }
    for (const secret of form.querySelectorAll("[type=password]")) secret.disabled = true; // it was sent
    form.submit();
  }

  for (const form of document.querySelectorAll("[data-passkey]")) {
    const problem = form.querySelector("[data-passkey-problem]");
    form.hidden = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      event.stopImmediatePropagation();
      if (form.dataset.busy) return; // one press is one question
      form.dataset.busy = "yes";
      problem.hidden = true;
      try {
        await answer(form);
      } catch (error) {
        problem.textContent = error instanceof TypeError ? form.dataset.failed : error.message; // or offline
        problem.hidden = false;
        delete form.dataset.busy;
      }
    }, true);
  }
  for (const note of document.querySelectorAll("[data-without-passkeys]")) note.hidden = true;
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload(); // back from the browser's memory: an answer counts once
  });
})();
