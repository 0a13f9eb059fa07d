// @ts-check
// Runs one command. The page ends the worker to stop it.
"use strict";
onmessage = async ({ data: { packed, size, module, args, files } }) => {
  if (packed) {
    try {
      const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
      postMessage({ module: await WebAssembly.compile(unlzma(bytes, size)) });
    } catch (e) {
      postMessage({ failed: /** @type {Error} */ (e).message });
    }
    return;
  }
  const root = new MemoryFolder();
  for (const [path, bytes] of files) root.put(path, bytes);
  // WebAssembly addresses 4 GB; the command refuses what needs more.
  root.put("proc/meminfo", new TextEncoder().encode("MemAvailable: 3900000 kB\n"));
  const given = new Map(files);
  try {
    const line = (/** @type {string} */ l, /** @type {number} */ memory) => l.startsWith("\r") && postMessage({ progress: l.slice(1), memory });
    const answer = runCommand(module, { args: ["xoff", ...args], env: { LANG: "C.UTF-8", COLUMNS: "84" }, root, line });
    const left = root.files().filter(([path, bytes]) => path !== "proc/meminfo" && bytes.buffer !== given.get(path)?.buffer).map(([path, bytes]) => [path, bytes.slice()]);
    postMessage({ answer, files: left }, { transfer: left.map(([, bytes]) => /** @type {Uint8Array<ArrayBuffer>} */ (bytes).buffer) });
  } catch (e) {
    const { message, stderr } = /** @type {Error & { stderr?: string }} */ (e);
    postMessage({ failed: message, stderr: stderr ?? "" });
  }
};
