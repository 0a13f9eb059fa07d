// @ts-check
// Shared by all reports: units, elements, colours of the theme, the report's data, downloads. Defines the one global name, `xoff`.
"use strict";
// eslint-disable-next-line no-unused-vars -- the other scripts use it
const xoff = (() => {
  // ---- numbers with their units -------------------------------------------------------------------------------------------------
  // The same texts as those of crates/units/src/measured.rs: four significant digits, all digits of a whole number.
  /** @param {number} value @param {number} [digits] */
  const short = (value, digits = 4) => {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size < 1e-4 || size >= 1e7) return value.toExponential(2).replace(/\.?0+e/, "e").replace("+", "");
    const text = value.toFixed(Math.max(digits - 1 - Number(size.toExponential().split("e")[1]), 0));
    const [whole, part = ""] = (text.includes(".") ? text.replace(/\.?0+$/, "") : text).split(".");
    return (size >= 9999.5 ? whole.replace(/\B(?=(\d{3})+$)/g, ",") : whole) + (part && `.${part}`);
  };
  /** @param {number | null | undefined} value @param {Steps} steps @param {number} [digits] */
  const scaled = (value, steps, digits) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "-";
    const [factor, unit] = steps.find(([f]) => Math.abs(value) >= f * 0.99995) || steps[steps.length - 1];
    return `${short(value / factor, digits)} ${unit}`;
  };
  /** @type {Steps} */
  const TIME = [[1e12, "s"], [1e9, "ms"], [1e6, "us"], [1e3, "ns"], [1, "ps"]];
  /** @type {Steps} */
  const BYTES = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]];
  /** @type {Steps} */
  const RATE = [[1e12, "Tb/s"], [1e9, "Gb/s"], [1e6, "Mb/s"], [1e3, "kb/s"], [1, "b/s"]];
  /** @type {Base["time"]} */
  const time = (ps, digits) => (ps === 0 ? "0 s" : scaled(ps, TIME, digits));
  /** @type {Base["bytes"]} */
  const bytes = (b) => scaled(b, BYTES);
  /** @type {Base["rate"]} */
  const rate = (r) => scaled(r, RATE);
  /** @type {Base["percent"]} */
  const percent = (part) => (part === null ? "-" : `${Number((100 * part).toPrecision(3))} %`);
  /** @type {Base["count"]} */
  const count = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
  /** @type {Base["times"]} */
  const times = (n) => (n === 1 ? "once" : `${count(n)} times`);
  /** @type {Base["several"]} */
  const several = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

  // The largest of many: as arguments of Math.max a few hundred thousand are more than a stack holds.
  /** @type {Base["largest"]} */
  const largest = (values, least = -Infinity) => {
    let most = least;
    for (const v of values) if (v > most) most = v;
    return most;
  };
  /** @type {Base["smallest"]} */
  const smallest = (values) => -largest(Array.from(values, (v) => -v));
  // As one word of a shell.
  /** @type {Base["quoted"]} */
  const quoted = (text) => (/^[\w.,:/@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

  // ---- elements -----------------------------------------------------------------------------------------------------------------
  // el("p.note", {title: "x"}, "text", other): text is always text, never markup.
  /** @type {(namespace: string | null) => Base["el"]} */
  const make = (namespace) => (name, attributes = {}, ...children) => {
    const [tag, ...classes] = name.split(".");
    const e = namespace ? document.createElementNS(namespace, tag) : document.createElement(tag);
    if (classes.length) e.setAttribute("class", classes.join(" "));
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
      else if (value !== undefined && value !== false) e.setAttribute(key, value === true ? "" : value);
    }
    const shown = children.flat(9).filter((c) => c !== null && c !== undefined && c !== false);
    e.append(.../** @type {(Node | string)[]} */ (shown));
    return e;
  };
  const el = make(null);
  const svg = make("http://www.w3.org/2000/svg");
  /** @param {HTMLCanvasElement} canvas */
  const context = (canvas) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  /** An element of the page: its markup has it. @type {Base["byId"]} */
  const byId = (id) => document.getElementById(id);

  // ---- theme --------------------------------------------------------------------------------------------------------------------
  /** @type {Base["colour"]} */
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);
  /** @param {string} hex */
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  /** @type {Base["mix"]} */
  const mix = (from, to, part) => {
    const [a, b] = [rgb(from), rgb(to)];
    return `rgb(${a.map((v, i) => Math.round(v + (b[i] - v) * part)).join(",")})`;
  };
  /** @type {Draw[]} */
  const themed = [];
  // Calls `draw` now, and again when the theme changes.
  /** @type {Base["onTheme"]} */
  const onTheme = (draw) => {
    themed.push(draw);
    draw();
  };
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => themed.forEach((draw) => draw()));

  // ---- the page's data ----------------------------------------------------------------------------------------------------------
  /** @param {string} text @param {CompressionFormat} [format] */
  const inflateText = async (text, format = "deflate") => {
    const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream(format));
    return new Response(stream).arrayBuffer();
  };
  /** @type {Base["inflate"]} */
  const inflate = (id, format) => inflateText(byId(id).textContent.trim(), format);
  /** @type {Record<string, Uint16ArrayConstructor | Uint32ArrayConstructor | Float64ArrayConstructor>} */
  const ARRAYS = { u16: Uint16Array, u32: Uint32Array, f64: Float64Array };
  // Puts typed arrays where the data name columns of the packed part: {c: kind, o: offset, n: length}.
  /** @type {Base["unpack"]} */
  const unpack = (value, buffer) => {
    if (Array.isArray(value)) return value.map((v) => unpack(v, buffer));
    if (value === null || typeof value !== "object") return value;
    if (value.c in ARRAYS && "o" in value) return new ARRAYS[value.c](/** @type {ArrayBuffer} */ (buffer), value.o, value.n);
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, unpack(v, buffer)]));
  };
  const data = async () => unpack(JSON.parse(byId("data").textContent), byId("packed") ? await inflate("packed") : null);

  // ---- downloads ----------------------------------------------------------------------------------------------------------------
  /** @type {Base["save"]} */
  const save = (name, type, content) => {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content ?? ""], { type }));
    const link = el("a", { href: url, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  /** @type {Base["csv"]} */
  const csv = (names, rows) => {
    /** @param {unknown} v */
    const cell = (v) => {
      const text = v === null || v === undefined || Number.isNaN(v) ? "" : String(v);
      return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [names, ...rows].map((row) => row.map(cell).join(",") + "\n").join("");
  };
  // A row of small buttons: [["SVG", what it does], ...].
  /** @type {Base["tools"]} */
  const tools = (entries) =>
    el("div.tools", {}, entries.map(([name, act, title]) => el("button", { type: "button", onclick: act, title: title || `Download as ${name}` }, name)));

  // Draws the cards at the top again.
  /** @type {Base["cards"]} */
  const cards = (box, facts) =>
    box.replaceChildren(...facts.map((f) => el(`div.card.${f.tone}`, {}, el("div.label", {}, f.label), el("div.value", {}, f.value), f.note ? el("div.note", {}, f.note) : null)));

  // ---- tables that sort, and filter ---------------------------------------------------------------------------------------------
  // A box that scrolls sideways, with a hint while columns are hidden on its right.
  /** @type {Base["scroll"]} */
  const scroll = (content) => {
    const box = el("div.scroll", { tabindex: 0 }, content);
    const hint = el("p.note.hint", { hidden: true }, "Scroll sideways for more columns →");
    const update = () => (hint.hidden = box.scrollLeft + box.clientWidth >= box.scrollWidth - 2);
    box.addEventListener("scroll", update, { passive: true });
    new ResizeObserver(update).observe(box);
    return [hint, box];
  };
  // columns: {name, csv: its name with the unit in a file, value: row => number or text, show: row => text or element, right: true}; `pick`: a click on a row.
  /** @param {Column<any>[]} columns @param {number} by @param {boolean} falling @param {(column: number) => void} turn */
  const head = (columns, by, falling, turn) =>
    el("thead", {}, el("tr", {}, columns.map((c, i) =>
      el("th", { scope: "col", class: c.right ? "right" : undefined, "aria-sort": i === by ? (falling ? "descending" : "ascending") : undefined },
        el("button", { type: "button", onclick: () => turn(i) }, c.name)))));
  /** @param {Column<any>[]} columns @param {any} r @param {((row: any) => void) | undefined} pick @param {((row: any) => boolean) | undefined} mark */
  const line = (columns, r, pick, mark) => {
    const row = el("tr", { class: mark && mark(r) ? "marked" : undefined, tabindex: pick ? 0 : undefined },
      columns.map((c) => el("td", { class: c.right ? "right" : undefined }, c.show ? c.show(r) : String(c.value(r)))));
    if (pick) {
      row.addEventListener("click", () => pick(r));
      row.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => e.key === "Enter" && pick(r));
    }
    return row;
  };
  /** @param {Column<any>[]} columns @param {any[]} rows @param {number} by @param {boolean} falling @param {string} wanted */
  const sorted = (columns, rows, by, falling, wanted) => {
    const key = columns[by].order || columns[by].value;
    /** @param {any} a @param {any} b */
    const order = (a, b) => {
      const [x, y] = [key(a), key(b)].map((v) => (v === null || v === undefined ? -Infinity : v));
      return (x < y ? -1 : x > y ? 1 : 0) * (falling ? -1 : 1);
    };
    return rows.filter((r) => !wanted || columns.some((c) => String(c.value(r)).toLowerCase().includes(wanted))).sort(order);
  };
  /** @type {Base["table"]} */
  const table = (columns, rows, { name, sort = 0, down = true, shown = 20, pick, mark }) => {
    let [by, falling, limit, wanted] = [sort, down, shown, ""];
    const box = el("div.table");
    const body = el("table");
    const more = el("button.more", { type: "button", onclick: () => ((limit *= 5), draw()) });
    /** @param {number} i */
    const turn = (i) => {
      [by, falling] = i === by ? [by, !falling] : [i, !!columns[i].right];
      draw();
    };
    const draw = () => {
      const found = sorted(columns, rows(), by, falling, wanted);
      body.replaceChildren(head(columns, by, falling, turn), el("tbody", {}, found.slice(0, limit).map((r) => line(columns, r, pick, mark))));
      more.hidden = found.length <= limit;
      more.textContent = `${count(found.length - limit)} more`;
    };
    box.append(...scroll(body), more);
    const search = el("input", { type: "search", placeholder: "filter", "aria-label": "Filter rows", oninput: () => ((wanted = search.value.trim().toLowerCase()), draw()) });
    const download = () => save(`${name}.csv`, "text/csv", csv(columns.map((c) => c.csv || c.name), rows().map((r) => columns.map((c) => c.value(r)))));
    draw();
    return { element: el("div", {}, el("div.bar", {}, rows().length > shown ? search : "", tools([["CSV", download]])), box), draw };
  };

  /** @type {Base} */
  const base = {
    time, bytes, rate, percent, count, times, several, largest, smallest, quoted, el, svg, context, byId, colour, rem, mix,
    onTheme, inflate, inflateText, unpack, data, save, csv, tools, cards, scroll, table,
  };
  return /** @type {Xoff} */ (base);
})();
