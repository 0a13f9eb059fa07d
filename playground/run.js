// @ts-check
// Runs the WebAssembly command in node, as the page does: `node run.js WASM FILE-OR-FOLDER... -- ARGUMENTS...`. The result is one object on stdout.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { MemoryFolder, runCommand } = require("./wasi.js");
const [wasm, ...rest] = process.argv.slice(2);
const [given, args] = [rest.slice(0, rest.indexOf("--")), rest.slice(rest.indexOf("--") + 1)];
const root = new MemoryFolder();
/** @param {string} at */
const put = (at) => (fs.statSync(at).isDirectory() ? fs.readdirSync(at).forEach((name) => put(path.join(at, name))) : root.put(at, fs.readFileSync(at)));
given.forEach(put);
root.put("proc/meminfo", Buffer.from("MemAvailable: 3900000 kB\n"));
const module_ = new WebAssembly.Module(fs.readFileSync(wasm));
const began = performance.now();
const answer = runCommand(module_, { args: ["xoff", ...args], env: { LANG: "C.UTF-8", COLUMNS: "84" }, root });
const manifest = root.files().find(([name]) => name.startsWith("out/") && name.endsWith("manifest.json"));
console.log(JSON.stringify({ ...answer, seconds: (performance.now() - began) / 1000, manifest: manifest && JSON.parse(new TextDecoder().decode(manifest[1])) }));
