// @ts-check
// Keeps the page for later, without a network: it answers with the files of one version, and asks no server for anything else.
"use strict";
const CACHE = "xoff-VERSION";
const FILES = ["./", "index.html", "page.css", "base.js", "engine.js", "page.js", "lab.js"];
addEventListener("install", (/** @type {any} */ e) => e.waitUntil(caches.open(CACHE).then((c) => c.addAll(FILES.map((f) => new Request(f, { cache: "reload" })))).then(() => /** @type {any} */ (self).skipWaiting())));
addEventListener("activate", (/** @type {any} */ e) => e.waitUntil(caches.keys().then((names) => Promise.all(names.filter((n) => n.startsWith("xoff-") && n !== CACHE).map((n) => caches.delete(n))))));
addEventListener("fetch", (/** @type {any} */ e) => e.respondWith(caches.match(e.request, { ignoreSearch: true }).then((kept) => kept ?? Response.error())));
