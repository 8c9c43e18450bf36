// Scripts of the wallet application. Every page works without them.
"use strict";

// Loads older rows when the reader is near the end; the link stays.
const list = document.querySelector("[data-endless]");
const nearing = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) if (isIntersecting) follow(target);
}, { rootMargin: "400px" });

async function follow(link) {
  if (link.dataset.asked) return;
  link.dataset.asked = "yes";
  let more;
  try {
    const answer = await fetch(link.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    more = page.querySelector("[data-endless]");
    if (!answer.ok || !more) throw new Error("no list");
    list.append(...more.children);
    const next = page.querySelector("[data-older]");
    if (next) {
      link.href = next.getAttribute("href");
      nearing.unobserve(link);
      nearing.observe(link); // observe again, in case it is still near
    } else {
      link.parentElement.remove();
    }
  } catch {
    nearing.unobserve(link); // offline, or logged out: the link still works
    return;
  } finally {
    delete link.dataset.asked;
  }
}

if (list) {
  for (const link of document.querySelectorAll("[data-older]")) {
    nearing.observe(link);
    link.addEventListener("click", (event) => {
      if (link.dataset.asked) event.preventDefault();
    });
  }
}

// After a secret was shown once, a reload opens the page and creates nothing.
const once = document.querySelector("[data-once]");
if (once) history.replaceState(null, "", once.dataset.once);

// Shares a text with other applications, if the browser can.
for (const button of document.querySelectorAll("[data-share]")) {
  if (!navigator.share) break;
  button.hidden = false;
  button.addEventListener("click", () => navigator.share({ text: button.dataset.share }).catch(() => {}));
}
