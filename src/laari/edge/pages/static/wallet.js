// What the wallet application does by itself. Every page works without this.
"use strict";

// Older rows come by themselves as the reader nears the end; the link stays for those who press it.
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
      nearing.observe(link); // told anew, in case it is still near
    } else {
      link.parentElement.remove();
    }
  } catch {
    nearing.unobserve(link); // offline, or logged out: the link leads there
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

// What is shown once: a reload asks for the page, and does not make another one.
const once = document.querySelector("[data-once]");
if (once) history.replaceState(null, "", once.dataset.once);
