// @ts-check
// The cycle of each deadlock. Few ports lie on a circle; many lie in rows, of which every other one runs back.
"use strict";
xoff.cycleDrawing = (ports, names, pick, id) => {
  const { svg, colour, bytes, time, largest, smallest } = xoff;
  const [ROUND, COLUMNS, SHOWN] = [8, 4, 40];
  const m = ports.length;
  const round = m <= ROUND;
  // A box holds some 24 letters; its title holds the whole name.
  /** @param {string} text */
  const shortened = (text) => (text.length > 24 ? `${text.slice(0, 11)}…${text.slice(-12)}` : text);
  const half = Math.max(48, 4 + 3.4 * largest(ports.map((p) => shortened(names[p.port]).length)));
  const [w, h, r] = round ? [460, 260, 92] : [COLUMNS * (2 * half + 40) + 20, 0, 0];
  /** @param {number} i */
  const inRow = (i) => (Math.floor(i / COLUMNS) % 2 ? COLUMNS - 1 - (i % COLUMNS) : i % COLUMNS);
  /** @param {number} i */
  const spot = (i) => (round
    ? [w / 2 + r * 1.44 * Math.sin((2 * Math.PI * i) / m), h / 2 - r * Math.cos((2 * Math.PI * i) / m)]
    : [30 + half + inRow(i) * (2 * half + 40), Math.floor(i / COLUMNS) * 56]);
  const ink = colour("deadlock");
  const shown = Math.min(m, SHOWN);
  /** @param {number} i */
  const edge = (i) => {
    const [[ax, ay], [bx, by]] = [spot(i), spot(round || i < shown - 1 ? (i + 1) % m : 0)];
    const look = { fill: "none", stroke: ink, "stroke-width": 2.2, "marker-end": `url(#${id})` };
    // The last arrow runs round the left edge.
    if (!round && i === shown - 1) return svg("path", { ...look, d: `M${ax} ${ay + 14}V${ay + 30}H6V${by}H${bx - half - 4}`, "stroke-dasharray": shown < m ? "5 4" : "none" });
    const [dx, dy] = [bx - ax, by - ay];
    const cut = Math.min((half + 4) / Math.abs(dx || 1e-9), 18 / Math.abs(dy || 1e-9));
    const c = m > 1 ? Math.min(0.42, cut) : 0;
    return svg("line", { ...look, x1: ax + dx * c, y1: ay + dy * c, x2: bx - dx * c, y2: by - dy * c });
  };
  /** @param {Stuck} p @param {number} i */
  const box = (p, i) => {
    const [x, y] = spot(i);
    return svg("g", { cursor: "pointer", onclick: () => pick(p.port) },
      svg("rect", { x: x - half, y: y - 14, width: 2 * half, height: 28, rx: 5, fill: colour("soft"), stroke: ink }),
      svg("text", { x, y: y + 4, "text-anchor": "middle", "font-size": 12, fill: colour("fg"), "font-family": "system-ui, sans-serif" }, shortened(names[p.port])),
      svg("title", {}, `${names[p.port]}: ${bytes(p.bytes)} blocked since ${time(p.start_ps, 6)}, priority ${p.priority}`));
  };
  const heights = Array.from({ length: shown }, (_, i) => spot(i)[1]);
  const [top, bottom] = [smallest(heights) - 24, largest(heights) + (round ? 24 : 40)];
  const tip = svg("marker", { id, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0L10 5L0 10z", fill: ink }));
  const look = { viewBox: `0 ${top} ${w} ${bottom - top}`, width: w, xmlns: "http://www.w3.org/2000/svg", role: "img", "aria-label": "The cycle of the deadlock" };
  return { drawing: svg("svg", look, svg("defs", {}, tip), Array.from({ length: shown }, (_, i) => edge(i)), ports.slice(0, shown).map(box)), left: m - shown };
};

xoff.runDeadlocks = (run) => {
  const { el, byId, time, several, save, csv, tools, onTheme } = xoff;
  /** @param {Deadlock} d @param {number} k */
  const figure = (d, k) => {
    const { drawing, left } = xoff.cycleDrawing(d.ports, run.names, run.choose, `tip${k}`);
    const rows = d.ports.map((p, i) => [i, run.names[p.port], p.priority, p.frames, p.bytes, p.start_ps]);
    /** @type {Tool[]} */
    const get = [["SVG", () => save("deadlock.svg", "image/svg+xml", new XMLSerializer().serializeToString(drawing))],
      ["CSV", () => save("deadlock.csv", "text/csv", csv(["position", "port", "priority", "frames", "bytes", "blocked_start_ps"], rows))]];
    return el("figure.cycle", {}, el("div.bar", {}, el("h3", {}, `Cycle of ${several(d.ports.length, "port")}, closed at ${time(d.start_ps, 6)}`), tools(get)), drawing,
      el("figcaption.note", {}, `Each port waits for the next one. Found at ${time(d.seen_ps, 6)}; ${several(d.stuck, "port")} can never send again.${left ? ` The CSV has ${several(left, "more port")}.` : ""}`));
  };
  run.drawDeadlocks = () => {
    const box = byId("deadlocks");
    if (!box) return;
    for (const old of box.querySelectorAll("figure")) old.remove();
    box.append(...run.data.deadlocks.slice(0, 4).map(figure));
  };
  onTheme(run.drawDeadlocks);
};
