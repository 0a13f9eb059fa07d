// @ts-check
// The page: an editor, sliders, runs in workers, reports in frames.
"use strict";
const { el, byId, save } = xoff;
/** @typedef {{ exit: number, stdout: string, stderr: string, memory: number }} Answer */
/** @typedef {{ answer: Answer, files: Map<string, Uint8Array> }} Done */
/** @typedef {{ label: string, key: string, unit?: string, min?: number, max?: number, step?: number, value?: number, values?: string[], with?: string[] }} Slider */
/** @typedef {{ id: string, title: string, about: string, name: string, text: string, group?: string, settings?: string, beside?: string, format?: string, sliders: Slider[] }} Preset */

const area = /** @type {HTMLTextAreaElement} */ (byId("text"));
const input = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (byId(id));
/** Files that the user dropped, by path. @type {Map<string, Uint8Array>} */
const dropped = new Map();
/** Results of the runs, by slot. @type {Record<string, Map<string, Uint8Array>>} */
const results = {};
let fileName = "scenario.toml";
/** Settings of the sliders. @type {Map<string, string[]>} */
const moved = new Map();
/** Longest text that a link may hold [bytes]. */
const SHARED_MAX = 1 << 20;
/** A run that takes longer is announced [s]. */
const LONG = 60;
/** A run is tried this long, and at most that long, to tell its time [ms]. */
const [TRIAL, TRIAL_MAX] = [700, 10000];
/** Files beyond these numbers are not taken. */
const [FILES_MAX, BYTES_MAX] = [2000, 2e8];

// ---- the simulator ------------------------------------------------------------------------------------------------------------
const workerAt = URL.createObjectURL(new Blob([XOFF.worker], { type: "text/javascript" }));
/** The program, unpacked and compiled by a worker. @type {Promise<WebAssembly.Module>} */
const engine = new Promise((done, failed) => {
  const worker = new Worker(workerAt);
  worker.onerror = (e) => failed(new Error(e.message || "no worker can be started"));
  worker.onmessage = ({ data }) => {
    worker.terminate();
    if (data.module) done(data.module);
    else failed(new Error(data.failed));
  };
  worker.postMessage({ packed: XOFF.wasm, size: XOFF.size });
  XOFF.wasm = "";
});
/** Workers at work, with what ends each. @type {Map<Worker, (why: Error) => void>} */
const working = new Map();

/** Runs a command in a worker. @param {string[]} args @param {Iterable<[string, Uint8Array]>} files @param {(progress: string, memory: number) => void} [progress] @param {(worker: Worker) => void} [started] @returns {Promise<Done>} */
const ask = async (args, files, progress = () => {}, started = () => {}) => {
  const module = await engine;
  const worker = new Worker(workerAt);
  started(worker);
  try {
    return await new Promise((done, failed) => {
      working.set(worker, failed);
      worker.onerror = (e) => failed(new Error(e.message || "the worker ended"));
      worker.onmessage = ({ data }) => {
        if (data.progress) progress(data.progress, data.memory);
        else if (data.failed) failed(Object.assign(new Error(data.failed), { stderr: data.stderr }));
        else done({ answer: data.answer, files: new Map(data.files) });
      };
      worker.postMessage({ module, args, files: [...files] });
    });
  } finally {
    working.delete(worker);
    worker.terminate();
  }
};
class Stopped extends Error {}
/** Workers that *Stop* is for. @type {Set<Worker | undefined>} */
const stoppable = new Set();
const drawStop = () => {
  const stop = input("stop");
  if (!stoppable.size && document.activeElement === stop) byId("run").focus(); // the keyboard does not lose its place
  stop.disabled = !stoppable.size;
};
/** As `ask`, for the user, who may stop it. @type {typeof ask} */
const askShown = async (args, files, progress, started = () => {}) => {
  /** @type {Worker | undefined} */
  let mine;
  try {
    return await ask(args, files, progress, (w) => {
      stoppable.add((mine = w));
      drawStop();
      started(w);
    });
  } finally {
    stoppable.delete(mine);
    drawStop();
  }
};
/** @param {Worker} [only] */
const halt = (only) => [...working].filter(([w]) => !only || w === only).forEach(([, failed]) => failed(new Stopped("stopped")));

// ---- the editor ---------------------------------------------------------------------------------------------------------------
const bytesOf = (/** @type {string} */ text) => new TextEncoder().encode(text);
/** Lines with a problem: their kind. @type {Map<number, string>} */
let marked = new Map();
const drawNumbers = () => {
  const lines = Math.min(area.value.split("\n").length, 20000);
  const parts = Array.from({ length: lines }, (_, i) => `${i + 1}\n`);
  const box = byId("numbers");
  box.textContent = "";
  let from = 0;
  for (const [line, kind] of [...marked].sort(([a], [b]) => a - b)) {
    if (line > lines) break;
    box.append(parts.slice(from, line - 1).join(""), el("span", { class: kind }, String(line)), "\n");
    from = line;
  }
  box.append(parts.slice(from).join(""));
  box.scrollTop = area.scrollTop;
};
area.addEventListener("scroll", () => (byId("numbers").scrollTop = area.scrollTop), { passive: true });
/** Puts the cursor at a place. @param {number} line @param {number} column */
const goTo = (line, column) => {
  const lines = area.value.split("\n");
  const at = lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0) + column - 1;
  area.focus();
  area.setSelectionRange(at, at);
  area.scrollTop = Math.max(0, (line - 4) * (area.scrollHeight / lines.length));
};
/** Shows problems as the command prints them; places become buttons. @param {string} text */
const showProblems = (text) => {
  marked = new Map();
  const box = byId("problems");
  const parts = text.trimEnd().split(/(\[[^\]\n]+:\d+:\d+\])/);
  let kind = "bad";
  box.replaceChildren(...parts.map((part) => {
    const place = /^\[(.+):(\d+):(\d+)\]$/.exec(part);
    if (!place) {
      kind = part.lastIndexOf("⚠") > part.lastIndexOf("×") ? "caution" : "bad";
      return part;
    }
    if (place[1] !== fileName) return part;
    if (!marked.has(Number(place[2]))) marked.set(Number(place[2]), kind);
    return el("button", { type: "button", onclick: () => goTo(Number(place[2]), Number(place[3])) }, part);
  }));
  box.hidden = text.trim() === "";
  drawNumbers();
};
/** Tells what the run would need. @param {string} text */
const foretell = (text) => (byId("estimate").textContent = text);
/** Workers of the last trial. @type {Worker[]} */
let trying = [];
/** Starts the run of a side for a moment. Returns its problems, and its time and memory in words. @param {string} slot @param {Worker[]} workers */
const tryOne = async (slot, workers) => {
  const began = performance.now();
  const it = slots().length > 1 ? `Run ${slot}` : "This run";
  let least = "";
  let told = "";
  let seconds = 0;
  /** The first line of progress: its time and its part. @type {[number, number] | undefined} */
  let first;
  /** @type {Worker | undefined} */
  let mine;
  const timer = setTimeout(() => {
    told = `${it} needs more than ${TRIAL_MAX / 1000} s to begin${least && `, and at least ${least} of memory`}.`;
    if (mine) halt(mine);
  }, TRIAL_MAX);
  try {
    const { answer } = await ask([...argsOf(slot), "--no-report"], inputs(), (line, memory) => {
      const part = parseFloat(line);
      least ||= /at least (\S+ \S+) of memory/.exec(line)?.[1] ?? "";
      if (part > 0) first ??= [performance.now(), part];
      if (!mine || told || !first || part <= first[1] || performance.now() - first[0] < TRIAL) return;
      seconds = (first[0] - began + (performance.now() - first[0]) / (part - first[1])) / 1000;
      told = `${it} takes about ${xoff.time(seconds * 1e12, 2)} here, and at least ${xoff.bytes(memory)} of memory.`;
      halt(mine);
    }, (w) => workers.push((mine = w)));
    if (answer.exit === 2) return { slot, problems: answer.stderr, told, seconds };
    told = `${it} takes about ${xoff.time((performance.now() - began) * 1e9, 2)} here, and ${xoff.bytes(answer.memory)} of memory.`;
  } catch (e) {
    if (!told && e instanceof Stopped) throw e;
    told ||= `The simulator ended before it could tell what this run needs: ${/** @type {Error} */ (e).message}`;
  } finally {
    clearTimeout(timer);
  }
  return { slot, problems: "", told, seconds };
};
/** Tries the run of each side: shows its problems, and tells its time and memory. */
const tryRun = async () => {
  trying.forEach(halt);
  const mine = (trying = /** @type {Worker[]} */ ([]));
  foretell("");
  const tried = await Promise.all(slots().map((slot) => tryOne(slot, mine))).catch(() => undefined); // stopped
  if (!tried || mine !== trying) return;
  showProblems([...new Set(tried.map((t) => t.problems))].join("\n"));
  foretell(tried.map((t) => t.told).join(" "));
  const long = tried.find((t) => t.seconds > LONG);
  if (long) warnOfLength(long.seconds, long.slot);
  tried.forEach((t) => warnOfSize(t.problems, t.slot));
};
let tryLater = 0;
/** Tries the run once the user has paused. */
const tryLaterOn = () => {
  clearTimeout(tryLater);
  byId("warning").hidden = true;
  foretell("");
  tryLater = window.setTimeout(tryRun, 600);
};
/** The user has changed something. */
const changed = () => {
  keep();
  tryLaterOn();
};
const edited = () => {
  drawNumbers();
  completion.close();
  choice.value = "";
  changed();
};
/** What a link and the next visit need. */
const state = () => {
  const withSliders = (/** @type {string} */ own) => [...[...moved.values()].flat().map(xoff.quoted), own].join(" ").trim();
  return JSON.stringify({ name: fileName, text: area.value, format: input("format").value, settings: withSliders(input("settings").value), beside: input("beside-on").checked ? withSliders(input("beside").value) : undefined });
};
const keep = () => {
  // The address no longer says what is here: a reload must not go back to it.
  if (location.hash) history.replaceState(null, "", location.href.replace(/#.*/s, ""));
  for (const store of ["sessionStorage", "localStorage"]) {
    const at = /** @type {any} */ (window)[store];
    try {
      at.setItem("xoff", state());
    } catch {
      // A browser may keep nothing of a file, or not so much: then nothing older comes back as if it were this.
      try {
        at.removeItem("xoff");
      } catch {
        // Nothing is kept.
      }
    }
  }
};
/** What was kept. @param {"sessionStorage" | "localStorage"} store */
const kept = (store) => {
  try {
    return scenarioOf(JSON.parse(window[store].getItem("xoff") ?? "null"));
  } catch {
    return undefined; // nothing, or by another version
  }
};

// Keys of the section around the cursor, from the schema.
const completion = (() => {
  const list = byId("keys");
  let at = 0;
  /** @type {[string, string][]} */
  let found = [];
  const word = () => /[\w-]*$/.exec(area.value.slice(0, area.selectionStart))?.[0] ?? "";
  const draw = () => {
    list.replaceChildren(...found.map(([key, about], i) =>
      el("li", { role: "option", id: `key-${i}`, "aria-selected": String(i === at), onmousedown: (/** @type {Event} */ e) => (e.preventDefault(), (at = i), take()) }, key, " ", el("small", {}, about))));
    area.setAttribute("aria-activedescendant", `key-${at}`);
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  const close = () => {
    list.hidden = true;
    area.removeAttribute("aria-activedescendant");
  };
  const take = () => {
    const typed = word();
    const key = found[at]?.[0];
    close();
    if (key) area.setRangeText(key + (key.startsWith("[") ? "\n" : " = "), area.selectionStart - typed.length, area.selectionStart, "end");
  };
  const show = () => {
    const before = area.value.slice(0, area.selectionStart).split("\n");
    const sections = before.map((l) => /^\s*\[{1,2}([\w.-]+)\]{1,2}\s*(#.*)?$/.exec(l)?.[1]).filter(Boolean);
    const typed = word();
    const keys = Object.entries(XOFF.keys[sections.pop() ?? ""] ?? {});
    const heads = Object.entries(XOFF.keys[""]);
    found = [...keys, ...heads].filter(([key]) => key.replace(/^\[+/, "").startsWith(typed)).slice(0, 80);
    at = 0;
    list.hidden = found.length === 0;
    list.style.top = `${Math.min(area.clientHeight - 60, Math.max(0, before.length * 1.45 * parseFloat(getComputedStyle(area).fontSize) - area.scrollTop + 8))}px`;
    list.style.left = `${area.offsetLeft + 20}px`;
    if (found.length) draw();
  };
  /** Whether the list took the key. @param {KeyboardEvent} e */
  const pressed = (e) => {
    if (list.hidden) return false;
    if (e.key === "ArrowDown") at = (at + 1) % found.length;
    else if (e.key === "ArrowUp") at = (at + found.length - 1) % found.length;
    else if (e.key === "Enter" || e.key === "Tab") take();
    else if (e.key === "Escape") close();
    else return false;
    if (!list.hidden) draw();
    e.preventDefault();
    return true;
  };
  return { show, close, pressed };
})();
area.addEventListener("keydown", (e) => {
  if (completion.pressed(e)) return;
  if (e.ctrlKey && e.key === " ") (e.preventDefault(), completion.show());
  if ((e.ctrlKey || e.metaKey) && e.key === "Enter") (e.preventDefault(), run());
});
area.addEventListener("blur", completion.close);
area.addEventListener("input", edited);

// ---- runs ---------------------------------------------------------------------------------------------------------------------
/** Files that a command reads. @returns {Map<string, Uint8Array>} */
const inputs = () => new Map([...dropped, [fileName, bytesOf(area.value)]]);
/** Words of a line as a shell splits them; a quote that nothing closes is a character. @param {string} line */
const wordsOf = (line) => (line.match(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|\S)+/gs) ?? []).map((w) =>
  w.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/gs, (_, plain, text, one) => plain ?? text?.replace(/\\(["\\$`])/g, "$1") ?? one));
/** @param {string} settings */
const sets = (settings) => [...[...moved.values()].flat(), ...wordsOf(settings)].flatMap((s) => ["--set", s]);
const slots = () => (input("beside-on").checked ? ["A", "B"] : ["A"]);
/** @param {string} slot */
const settingsOf = (slot) => input(slot === "A" ? "settings" : "beside").value;
/** @param {string} slot */
const argsOf = (slot) => ["run", fileName, "--out", `out/${slot}`, ...sets(settingsOf(slot)), ...(input("format").value === "csv" ? ["--format", "csv"] : [])];
/** The command line of a run. @param {string} slot */
const lineOf = (slot) => {
  const [, file, out, folder, ...rest] = argsOf(slot);
  return ["xoff", "run", file, ...(slots().length > 1 ? [out, folder] : []), ...rest].map(xoff.quoted).join(" ");
};
/** The command line of a run, with a button that copies it. @param {string} slot */
const commandLine = (slot) => {
  const code = el("code", {}, lineOf(slot));
  const copy = async () => {
    getSelection()?.selectAllChildren(code);
    const copied = await navigator.clipboard?.writeText(code.textContent).then(() => true, () => false);
    say(copied ? "The command line is copied." : "The command line is selected: copy it.");
  };
  return [code, " ", el("button", { type: "button", "aria-label": `Copy the command line${slots().length > 1 ? ` of run ${slot}` : ""}`, onclick: copy }, "Copy"), " "];
};
const drawSame = () => byId("same").replaceChildren("The same on a command line: ", ...slots().flatMap(commandLine));
/** @param {string} text */
const say = (text) => (byId("status").textContent = text);
/** @param {string} text @param {string} slot */
const warn = (text, slot) => {
  byId("warning").replaceChildren(text, " Save the scenario, and run: ", ...commandLine(slot));
  byId("warning").hidden = false;
};
/** @param {number} seconds @param {string} slot */
const warnOfLength = (seconds, slot) => warn(`${slots().length > 1 ? `Run ${slot}` : "This run"} takes about ${xoff.time(seconds * 1e12, 2)} here. Shorten run.duration, or use the command: it takes little more than half of the time on one thread, and less on several.`, slot);
/** Warns if the command refused the run for its size. @param {string} problems @param {string} slot */
const warnOfSize = (problems, slot) => {
  const [, needed] = /(?:needs at least|need) (\S+ [KMGT]?B) of memory/.exec(problems.replace(/[\s│|]+/g, " ")) ?? [];
  if (needed) warn(`A web page has at most 4 GB. The command needs a machine with more than ${needed}, or a smaller network.`, slot);
};

/** Seconds left, from the line of progress. @param {number} part @param {number} since */
const left = (part, since) => ((performance.now() - since) / 1000) * ((1 - part) / Math.max(part, 1e-6));

let running = 0;
const run = async () => {
  if (input("run").disabled) return;
  clearTimeout(tryLater);
  halt();
  const mine = ++running;
  const since = performance.now();
  byId("progress").hidden = false;
  byId("warning").hidden = true;
  foretell("");
  say("Running...");
  // As they are now: the user may go on writing.
  const given = inputs();
  const runs = slots().map((slot) => ({ slot, settings: settingsOf(slot), args: argsOf(slot) }));
  const parts = runs.map(() => 0);
  const problems = runs.map(() => "");
  /** @param {number} i @param {string} line */
  const progress = (i, line) => {
    if (mine !== running) return;
    parts[i] = parseFloat(line);
    const least = Math.min(...parts);
    /** @type {HTMLProgressElement} */ (byId("progress")).value = least;
    say(line.replace(/^\S+ /, ""));
    const seconds = left(least, since);
    if (performance.now() - since > 1500 && least > 0 && seconds > LONG && byId("warning").hidden) warnOfLength(seconds, runs[parts.indexOf(least)].slot);
  };
  const done = await Promise.allSettled(runs.map(async ({ slot, settings, args }, i) => {
    const { answer, files } = await askShown(args, given, (line) => progress(i, line));
    problems[i] = answer.stderr;
    if (answer.exit === 2) age(slot);
    else show(slot, answer, new Map([...given, ...files]), runs.length > 1 ? `${slot}: ${settings || "the scenario"}` : "");
    return answer;
  }));
  if (mine !== running) return;
  byId("progress").hidden = true;
  const failed = done.find((d) => d.status === "rejected");
  showProblems([...new Set(problems)].join("\n"));
  runs.forEach(({ slot }, i) => warnOfSize(problems[i], slot));
  if (failed && failed.reason instanceof Stopped) say("Stopped. The scenario is as it was.");
  else if (failed) {
    const { message, stderr } = failed.reason;
    say("The simulator ended before the run did; the scenario is as it was.");
    showProblems(`${stderr ?? ""}\n${/memory|allocation|unreachable/i.test(message) ? "Perhaps the run needs more memory than a browser gives: the command has no such limit." : message}`);
    warn("A web page has at most 4 GB.", runs[done.indexOf(failed)].slot);
  } else {
    const answers = done.map((d) => /** @type {PromiseFulfilledResult<Answer>} */ (d).value);
    say(answers.some((a) => a.exit === 2) ? "Not run: see the problems below." : `Done in ${xoff.time((performance.now() - since) * 1e9, 3)}, ${xoff.bytes(Math.max(...answers.map((a) => a.memory)))} of memory.`);
  }
  const ran = runs.map((r) => r.slot);
  [...byId("results").children].forEach((r) => (r.hidden = !ran.includes(/** @type {HTMLElement} */ (r).dataset.slot ?? "")));
  byId("results").classList.toggle("two", runs.length > 1);
  document.documentElement.dataset.ran = String(mine);
};

// ---- results ------------------------------------------------------------------------------------------------------------------
/** @param {string} slot */
const boxOf = (slot) => [...byId("results").children].find((r) => /** @type {HTMLElement} */ (r).dataset.slot === slot);
/** The result that is there is not that of the present scenario. @param {string} slot */
const age = (slot) => {
  const head = boxOf(slot)?.querySelector("h2");
  if (head && !head.dataset.old) (head.prepend("Of an earlier run: "), (head.dataset.old = "yes"));
};
/** Shows the result of a run. @param {string} slot @param {Answer} answer @param {Map<string, Uint8Array>} files @param {string} title */
const show = (slot, answer, files, title) => {
  results[slot] = files;
  const folder = `out/${slot}/`;
  const own = [...files].filter(([path]) => path.startsWith(folder) && !path.endsWith(".xoff")).map(([path, bytes]) => /** @type {[string, Uint8Array]} */ ([path.slice(folder.length), bytes]));
  const page = files.get(`${folder}report.html`);
  const html = page ? new TextDecoder().decode(page).replace('"served":false}', '"served":true}') : "";
  const frame = /** @type {HTMLIFrameElement} */ (el("iframe", { srcdoc: XOFF.frame, sandbox: "allow-scripts allow-downloads", title: `Report ${slot}` }));
  frame.dataset.slot = slot;
  const text = answer.stdout.split("\n");
  const saves = xoff.tools(own.map(([file, bytes]) => [file, () => save(file, "application/octet-stream", new Blob([/** @type {BlobPart} */ (bytes)]))]));
  const box = el("article.result", { "aria-label": `Result ${slot}` },
    el("h2", {}, title || text[0]),
    el("details", {}, el("summary", {}, "Answer of the command, and its files"), el("pre", { tabindex: 0 }, answer.stdout), saves), html ? frame : "");
  box.dataset.slot = slot;
  box.style.order = slot === "A" ? "0" : "1";
  if (!html) /** @type {HTMLDetailsElement} */ (box.querySelector("details")).open = true;
  const before = boxOf(slot);
  if (before) before.replaceWith(box);
  else byId("results").append(box);
  reports.set(frame, html);
};
/** Reports that wait for their frames. @type {Map<HTMLIFrameElement, string>} */
const reports = new Map();
addEventListener("message", async ({ data, source }) => {
  const frame = [...document.querySelectorAll("iframe")].find((f) => f.contentWindow === source);
  if (!frame) return;
  const slot = frame.dataset.slot ?? "";
  if (data.ready && reports.has(frame)) {
    frame.contentWindow?.postMessage({ html: reports.get(frame) }, "*");
    reports.delete(frame);
  }
  if (data.painted) {
    frame.dataset.painted = "yes";
    document.documentElement.dataset.drawn ??= String(Math.round(performance.now()));
  }
  if (typeof data.ask === "string") {
    const given = await ask(["view", `out/${slot}`, `/${data.ask}`], results[slot]).catch((/** @type {Error} */ e) => e);
    const [ok, text] = given instanceof Error ? [false, given.message] : [given.answer.exit === 0, given.answer.exit === 0 ? given.answer.stdout : given.answer.stderr];
    frame.contentWindow?.postMessage({ id: data.id, ok, text }, "*");
  }
});

// ---- presets, sliders, links --------------------------------------------------------------------------------------------------
/** @param {Slider} s */
const slider = (s) => {
  const choice = s.values;
  const control = choice
    ? el("select", {}, choice.map((v) => el("option", {}, v)))
    : el("input", { type: "range", min: s.min, max: s.max, step: s.step, value: s.value });
  const shown = el("output", {}, choice ? "" : `${s.value} ${s.unit}`);
  const take = () => {
    const value = /** @type {HTMLInputElement} */ (control).value;
    const written = (/** @type {string} */ text) => text.replace(/\{value(-\d+)?\}/g, (_, less) => String(Number(value) + Number(less ?? 0)));
    moved.set(s.key, [`${s.key}=${value}${s.unit ?? ""}`, ...(s.with ?? []).map(written)]);
    shown.textContent = choice ? "" : `${value} ${s.unit}`;
    drawSame();
    keep();
  };
  control.addEventListener("input", take);
  control.addEventListener("change", () => (take(), run()));
  return el("label.slider", {}, el("span", {}, s.label), control, shown);
};
/** @param {Partial<Preset> & { text: string }} p */
const load = (p) => {
  fileName = p.name ?? "scenario.toml";
  area.value = p.text;
  area.setSelectionRange(0, 0);
  area.scrollTop = 0;
  input("format").value = p.format ?? input("format").value;
  input("settings").value = p.settings ?? "";
  input("beside").value = p.beside ?? "";
  input("beside-on").checked = p.beside !== undefined;
  input("beside").hidden = p.beside === undefined;
  byId("about").textContent = p.about ?? "";
  moved.clear();
  byId("sliders").replaceChildren(...(p.sliders ?? []).map(slider));
  showProblems("");
  drawSame();
  drawDropped();
};
/** @param {string} id */
const preset = (id) => XOFF.presets.find((p) => p.id === id);
const choice = input("preset");
choice.append(el("option", { value: "", hidden: true }, "Own scenario")); // first: the keyboard moves on from there
for (const group of new Set(XOFF.presets.map((p) => p.group)))
  choice.append(el("optgroup", { label: group ?? "Lessons" }, XOFF.presets.filter((p) => p.group === group).map((p) => el("option", { value: p.id }, p.title))));
choice.addEventListener("change", () => {
  const chosen = preset(choice.value);
  if (!chosen) return;
  history.replaceState(null, "", `#preset=${chosen.id}`);
  offer(kept("localStorage"));
  load(chosen);
  run();
});
/** Characters of a link for bytes, and back. @param {Uint8Array} bytes */
const linked = (bytes) => btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
byId("share").addEventListener("click", async () => {
  if (!window.CompressionStream) {
    say("This browser cannot pack a scenario into an address. Save the scenario instead.");
    return;
  }
  const text = state();
  if (text.length > SHARED_MAX) {
    say(`A link holds at most ${xoff.bytes(SHARED_MAX)}. Save the scenario instead.`);
    return;
  }
  const packed = new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw")));
  history.replaceState(null, "", `#s=${linked(new Uint8Array(await packed.arrayBuffer()))}`);
  await navigator.clipboard?.writeText(location.href).catch(() => {});
  say(`The address of this page holds the scenario (${xoff.bytes(location.href.length)}); it is copied.${dropped.size ? " Dropped files are not in it." : ""}`);
});
/** The scenario of a link. @param {string} packed */
const shared = async (packed) => {
  if (!window.DecompressionStream) throw new Unopened("This browser is too old to unpack the scenario of a link. Open the link in another one.");
  const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
    if (text.length > SHARED_MAX) throw new Unopened(`The scenario of this link has more than ${xoff.bytes(SHARED_MAX)}. Ask its sender for the saved file.`);
  }
  return scenarioOf(JSON.parse(text));
};
/** A link that is whole, and cannot be opened. */
class Unopened extends Error {}
/** A scenario that was kept or sent, with no more than it may have. @param {any} given */
const scenarioOf = (given) => {
  const word = (/** @type {unknown} */ w) => (typeof w === "string" ? w.replace(/\p{Cc}/gu, " ") : undefined);
  if (typeof given?.text !== "string") throw new Error("it holds no scenario");
  return { name: /^\w[\w.-]{0,70}\.toml$/.test(word(given.name) ?? "") ? given.name : undefined, text: given.text, format: given.format === "csv" ? "csv" : "parquet", settings: word(given.settings), beside: word(given.beside) };
};
/** Opens a scenario that is no preset. @param {Partial<Preset> & { text: string }} own */
const loadOwn = (own) => {
  choice.value = "";
  load(own);
  tryLaterOn();
};
/** Offers what the user wrote last. @param {ReturnType<typeof kept>} last */
const offer = (last) => {
  byId("last").hidden = !last;
  byId("last").onclick = () => {
    if (last) loadOwn(last);
    byId("last").hidden = true;
    area.focus();
  };
};
/** Opens what the address names. Returns whether it is to run; undefined if the address names nothing. */
const openNamed = async () => {
  const [, kind, value] = /^#(\w+)=(.*)$/s.exec(location.hash) ?? [];
  if (kind === "s") {
    try {
      loadOwn(await shared(value));
      offer(kept("localStorage"));
      return false; // somebody else's: the reader starts it
    } catch (e) {
      say(e instanceof Unopened ? e.message : "This link is damaged or cut off. Copy the whole address, or ask its sender for the saved file.");
      return undefined;
    }
  }
  const named = kind === "preset" ? preset(value) : undefined;
  if (named) {
    offer(kept("localStorage"));
    load(named);
    choice.value = named.id;
    return true;
  }
  if (location.hash !== "" && kind !== "lab") say("This link names no preset of this page. It may be cut off, or of another version: choose a preset.");
  return undefined;
};
/** Opens what the address names, or what was there before, or the first preset. Returns whether it is to run. */
const begin = async () => {
  const runs = await openNamed();
  if (runs !== undefined) return runs;
  const before = location.hash ? undefined : kept("sessionStorage");
  if (before) {
    loadOwn(before);
    return false;
  }
  offer(kept("localStorage"));
  load(XOFF.presets[0]);
  choice.value = XOFF.presets[0].id;
  return location.hash === "" || location.hash === "#lab=1";
};

// ---- files and commands -------------------------------------------------------------------------------------------------------
const drawDropped = () =>
  byId("dropped").replaceChildren(...[...dropped].map(([path, bytes]) =>
    el("li", {}, path, ` (${xoff.bytes(bytes.length)}) `, path === fileName ? "is not read: the text in the editor has this name. " : "", el("button", { type: "button", "aria-label": `Remove ${path}`, onclick: () => (dropped.delete(path), drawDropped(), byId("choose").focus(), tryLaterOn()) }, "remove"), " ",
      path.endsWith(".toml") ? el("button", { type: "button", "aria-label": `Edit ${path}`, onclick: () => (loadOwn({ name: path, text: new TextDecoder().decode(bytes) }), area.focus()) }, "edit") : "")));
/** The command that these files are for. */
const suggestion = () => {
  const paths = [...dropped.keys()];
  const folder = (/** @type {string} */ path) => (path.includes("/") ? path.slice(0, path.indexOf("/")) : "");
  const first = (/** @type {RegExp} */ of) => paths.find((p) => of.test(p));
  const sonic = first(/config_db.*\.json$/);
  if (sonic) return ["plan", `sonic:${folder(sonic) || sonic}`];
  const lab = first(/\.clab\.ya?ml$/);
  if (lab) return ["check", `containerlab:${lab}`];
  const graph = first(/\.graphml$/);
  if (graph) return ["check", `graphml:${graph}`];
  const ib = first(/\.topo$/);
  if (ib) return ["check", `ibnetdiscover:${folder(ib) || paths.join(",")}`];
  return paths.length ? ["check", paths[0]] : [];
};
/** Whether the command reads this path as the name of one file. @param {string} path */
const isPlain = (path) => !/^-|[\p{Cc}\\]/u.test(path) && path.split("/").every((part) => !["", ".", ".."].includes(part));
/** @param {[string, File][]} files */
const take = async (files) => {
  let size = [...dropped.values()].reduce((n, b) => n + b.length, 0);
  const [tooMany, unnamed] = [/** @type {string[]} */ ([]), /** @type {string[]} */ ([])];
  for (const [given, file] of files) {
    const path = given.replace(/^\/+/, "");
    const grown = size + file.size - (dropped.get(path)?.length ?? 0);
    if (!isPlain(path)) unnamed.push(path);
    else if ((dropped.size >= FILES_MAX && !dropped.has(path)) || grown > BYTES_MAX) tooMany.push(path);
    else {
      dropped.set(path, new Uint8Array(await file.arrayBuffer()));
      size = grown;
    }
  }
  const some = (/** @type {string[]} */ paths) => `${paths[0]}${paths.length > 1 ? ` and ${xoff.several(paths.length - 1, "other file")}` : ""}`;
  const lacking = [
    tooMany.length && `Not taken: ${some(tooMany)}. This page takes ${FILES_MAX} files and ${xoff.bytes(BYTES_MAX)}.`,
    unnamed.length && `Not taken: ${some(unnamed)}. Rename it: the command would not read this name as that of a file.`,
  ].filter(Boolean);
  if (lacking.length) say(lacking.join(" "));
  if (dropped.has(fileName)) say(`${fileName} is not read: the text in the editor has this name. Press edit to open the file.`);
  drawDropped();
  if (files.length) input("words").value = suggestion().map(xoff.quoted).join(" ");
  /** @type {HTMLDetailsElement} */ (byId("files-part")).open = true;
  tryLaterOn();
};
/** Every file of a dropped folder. @param {any} entry @returns {Promise<[string, File][]>} */
const below = async (entry) => {
  if (entry.isFile) return [[entry.fullPath, await new Promise((done, failed) => entry.file(done, failed))]];
  const reader = entry.createReader();
  const all = [];
  for (;;) {
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) return (await Promise.all(all.map(below))).flat();
    all.push(...some);
  }
};
for (const id of ["choose", "choose-folder"])
  byId(id).addEventListener("change", async () => {
    await take([...(input(id).files ?? [])].map((f) => [f.webkitRelativePath || f.name, f]));
    input(id).value = ""; // the same file may be chosen again
  });
document.addEventListener("dragover", (e) => {
  e.preventDefault();
  byId("files-part").classList.add("over");
});
document.addEventListener("dragleave", () => byId("files-part").classList.remove("over"));
document.addEventListener("drop", async (e) => {
  e.preventDefault();
  byId("files-part").classList.remove("over");
  const entries = [...(e.dataTransfer?.items ?? [])].map((i) => i.webkitGetAsEntry()).filter(Boolean);
  try {
    await take((await Promise.all(entries.map(below))).flat());
  } catch (failed) {
    say(`The browser could not read what was dropped: ${/** @type {Error} */ (failed).message}`);
  }
});
/** The worker of a command. @type {Worker | undefined} */
let asking;
byId("command").addEventListener("submit", async (/** @type {Event} */ e) => {
  e.preventDefault();
  if (asking) halt(asking);
  /** @type {Worker | undefined} */
  let mine;
  const box = byId("answer");
  box.hidden = false;
  box.textContent = "...";
  // Files of results, and the files that are here now: one that was removed is no input.
  const all = new Map([...Object.values(results).flatMap((r) => [...r]).filter(([path]) => path.startsWith("out/")), ...inputs()]);
  try {
    const words = wordsOf(input("words").value);
    const { answer, files } = await askShown([...(words[0] === "xoff" ? words.slice(1) : words), ...(input("json").checked ? ["--json"] : [])], all, (line) => (box.textContent = line.replace(/^\S+ /, "")), (w) => (mine = asking = w));
    box.textContent = answer.stdout + answer.stderr;
    box.dataset.exit = String(answer.exit);
    box.append(...[...files].map(([path, bytes]) => el("div", {}, el("button", { type: "button", onclick: () => save(path.split("/").pop() ?? path, "application/octet-stream", new Blob([/** @type {BlobPart} */ (bytes)])) }, path))));
  } catch (failed) {
    if (asking !== mine) return; // the next command has the box
    const { message, stderr } = /** @type {Error & { stderr?: string }} */ (failed);
    box.textContent = failed instanceof Stopped ? "Stopped." : `${stderr ?? ""}\n${message}`;
    box.dataset.exit = "failed";
  } finally {
    if (asking === mine) asking = undefined;
  }
});

// ---- the rest -----------------------------------------------------------------------------------------------------------------
byId("run").addEventListener("click", async () => {
  await run();
  // On a narrow screen the result is below the editor.
  if (byId("problems").hidden && byId("results").offsetTop > window.innerHeight) byId("results").scrollIntoView();
});
byId("stop").addEventListener("click", () => halt());
byId("save").addEventListener("click", () => {
  const set = slots().filter((slot) => sets(settingsOf(slot)).length);
  save(fileName, "text/plain", set.map((slot) => `# ${lineOf(slot)}\n`).join("") + area.value);
  if (set.length) say("Saved. Sliders and settings are the command line in its first comment.");
});
for (const id of ["settings", "beside"]) input(id).addEventListener("input", () => (drawSame(), changed()));
input("settings").addEventListener("keydown", (e) => e.key === "Enter" && run());
input("format").addEventListener("change", () => (drawSame(), keep()));
input("beside").addEventListener("keydown", (e) => e.key === "Enter" && run());
input("beside-on").addEventListener("change", () => ((input("beside").hidden = !input("beside-on").checked), drawSame(), changed()));
// The text in the editor stays, unless the address names another one.
addEventListener("hashchange", async () => {
  if (await openNamed()) run();
});

(async () => {
  const runs = await begin();
  try {
    await engine;
  } catch (e) {
    say(`This browser cannot run the simulator: ${/** @type {Error} */ (e).message}`);
    return;
  }
  input("run").disabled = input("ask").disabled = false;
  if (byId("status").textContent?.startsWith("Loading")) say("Ready.");
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
  if (runs) run();
  if (location.protocol.startsWith("http")) navigator.serviceWorker?.register("sw.js").catch(() => {});
})();
