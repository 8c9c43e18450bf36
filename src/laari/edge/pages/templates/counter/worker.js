// Opens the counter without a connection. It keeps one page without any data and the files of this page,
// and leaves every other request to the browser.
"use strict";

const SHELL = {{ shell | tojson }};
const FILES = {{ files | tojson }};

addEventListener("install", (event) => {
  event.waitUntil(caches.open(SHELL).then((cache) => cache.addAll(FILES)).then(() => skipWaiting()));
});

addEventListener("activate", (event) => {
  const clear = (names) => Promise.all(names.filter((name) => name !== SHELL).map((name) => caches.delete(name)));
  event.waitUntil(caches.keys().then(clear));
});

addEventListener("fetch", (event) => {
  const { request } = event;
  const { pathname } = new URL(request.url);
  if (FILES.includes(pathname)) {
    event.respondWith(caches.match(pathname).then((kept) => kept ?? fetch(request)));
  } else if (request.mode === "navigate" && request.method === "GET" && pathname !== "/counter/pair") {
    event.respondWith(fetch(request).catch(() => caches.match(SHELL)));
  }
});
