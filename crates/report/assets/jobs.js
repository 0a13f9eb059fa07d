// @ts-check
// The ranks of jobs over time: a row for each chosen rank, the critical path above them, the network below. A click moves the report there.
// The table or the field of numbers chooses the rows, so that any number of ranks can be shown.
"use strict";
// The chosen job, iteration and rows, and the visible stretch of time [ps].
xoff.jobState = (data) => {
  const [job] = data.jobs;
  /** @type {Partial<JobView>} */
  const start = { job, iteration: job.longest ?? 0, rows: [], seen: [0, 1], places: new Map() };
  const view = /** @type {JobView} */ (start);
  view.choose = (next) => {
    view.job = next;
    view.places = new Map(next.ranks.map((r, i) => [r, i]));
  };
  view.choose(view.job);
  view.host = (r) => data.nodes.name[view.job.hosts[r]];
  view.end = (i) => view.job.iterations[i].end_ps ?? data.end_ps;
  view.spanOf = (i) => [view.job.iterations[i].start_ps, view.end(i)];
  // First stretch of a rank in an iteration; one behind the last iteration it is the end of the stretches.
  view.firstOf = (r, i) => view.job.first[(view.places.get(r) ?? 0) * (view.job.iterations.length + 1) + i];
  // The stretches of a rank in a span: index of the first one, and of the one behind the last.
  view.within = (r, [a, b]) => {
    const { from, to } = view.job;
    let [low, high] = [view.firstOf(r, 0), view.firstOf(r, view.job.iterations.length)];
    const last = high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (to[middle] <= a) low = middle + 1;
      else high = middle;
    }
    let behind = low;
    while (behind < last && from[behind] < b) behind++;
    return [low, behind];
  };
  // Time of a rank in each state during the iteration, between the rank's own start and end of it.
  view.sums = (r) => {
    const { iteration } = view;
    const { from, to, state } = view.job;
    const out = [0, 0, 0];
    for (let i = view.firstOf(r, iteration); i < view.firstOf(r, iteration + 1); i++) out[state[i]] += to[i] - from[i];
    return out;
  };
  view.hasPath = () => view.iteration === view.job.longest && view.job.path.from.length > 0;
  return view;
};
// Exposed communication is hatched, so that it differs from the critical path for any colour vision.
xoff.rankStates = [["computing", "green"], ["computing, messages under way", "sky"], ["exposed communication", "blue", true]];
xoff.rankCauses = ["green", "grey", "grey", "blue", "sky", "vermilion", "purple", "orange"];

// Places on the canvas.
xoff.rankPlace = (view, canvas, network) => {
  const { rem } = xoff;
  const sizes = () => ({ row: Math.round(rem() * 1.05), left: Math.round(rem() * 7.5), top: Math.round(rem() * 0.4), axis: Math.round(rem() * 1.6), strip: Math.round(rem() * 2.4) });
  /** @param {RankSizes} s */
  const wide = (s) => canvas.clientWidth - s.left - 8;
  /** @param {number} k @param {RankSizes} s */
  const rowTop = (k, s) => s.top + (k + (view.hasPath() ? 1 : 0)) * (s.row + 3);
  /** @param {RankSizes} s */
  const height = (s) => rowTop(view.rows.length, s) + (network ? s.strip + 6 : 0) + s.axis;
  /** @param {number} t @param {RankSizes} s */
  const x = (t, s) => s.left + ((t - view.seen[0]) / (view.seen[1] - view.seen[0])) * wide(s);
  /** @param {MouseEvent} e */
  const under = (e) => {
    const s = sizes();
    const [px, py] = [e.offsetX, e.offsetY];
    const t = view.seen[0] + ((px - s.left) / wide(s)) * (view.seen[1] - view.seen[0]);
    return { t, row: Math.floor((py - s.top) / (s.row + 3)) - (view.hasPath() ? 1 : 0), inside: px >= s.left && px <= canvas.clientWidth - 8, px, py };
  };
  const ticks = () => {
    const span = view.seen[1] - view.seen[0];
    const step = 10 ** Math.floor(Math.log10(span / 4));
    const by = [1, 2, 5, 10].map((m) => m * step).find((w) => span / w <= 8) ?? 10 * step;
    const out = [];
    for (let t = Math.ceil(view.seen[0] / by) * by; t <= view.seen[1]; t += by) out.push(t);
    return out;
  };
  return { sizes, rowTop, height, x, under, ticks };
};

// Stripes from the lower left to the upper right, half of the area.
xoff.hatching = (c, ink, ratio) => {
  const HATCH = 6;
  const side = Math.round(HATCH * ratio);
  const tile = xoff.el("canvas", { width: side, height: side });
  const t = xoff.context(tile);
  t.strokeStyle = ink;
  t.lineWidth = side / (2 * Math.SQRT2);
  for (const shift of [-side, 0, side]) {
    t.beginPath();
    t.moveTo(shift - side, 2 * side);
    t.lineTo(shift + 2 * side, -side);
    t.stroke();
  }
  const pattern = c.createPattern(tile, "repeat");
  // A tile has pixels of the screen.
  pattern?.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern ?? ink;
};

xoff.rankPainter = (view, place, canvas, box, { at, network }) => {
  const { colour, rem, time, largest } = xoff;
  /** @type {(c: CanvasRenderingContext2D, s: RankSizes, width: number) => Bar} */
  const bars = (c, s, width) => (from, to, y, high, fill) => {
    const [a, b] = [Math.max(s.left, place.x(from, s)), Math.min(width - 8, place.x(to, s))];
    if (b <= a) return;
    c.fillStyle = fill;
    c.fillRect(a, y, Math.max(0.6, b - a), high);
  };
  /** @param {CanvasRenderingContext2D} c @param {RankSizes} s @param {string} text @param {number} y @param {number} high */
  const label = (c, s, text, y, high) => {
    c.fillStyle = colour("muted");
    c.textAlign = "right";
    c.fillText(text.length > 18 ? `${text.slice(0, 17)}…` : text, s.left - 8, y + high / 2);
  };
  /** @param {CanvasRenderingContext2D} c @param {RankSizes} s @param {Bar} bar @param {number} ratio */
  const ranks = (c, s, bar, ratio) => {
    const { job, seen } = view;
    const fills = xoff.rankStates.map(([, name, hatched]) => (hatched ? xoff.hatching(c, colour(name), ratio) : colour(name)));
    view.rows.forEach((r, k) => {
      const y = place.rowTop(k, s);
      label(c, s, `${r} ${view.host(r)}`, y, s.row);
      bar(seen[0], seen[1], y + s.row - 1, 1, colour("line"));
      const [low, behind] = view.within(r, seen);
      for (let i = low; i < behind; i++) bar(job.from[i], job.to[i], y, s.row, fills[job.state[i]]);
    });
    if (!view.hasPath()) return;
    label(c, s, "critical path", s.top, s.row);
    const p = job.path;
    for (let i = 0; i < p.from.length; i++) bar(p.from[i], p.to[i], s.top, s.row - 2, colour(xoff.rankCauses[p.cause[i]]));
  };
  /** @param {CanvasRenderingContext2D} c @param {RankSizes} s @param {Bar} bar @param {number} top @param {Strip} below */
  const strip = (c, s, bar, top, below) => {
    label(c, s, below.name, top, s.strip);
    const most = largest(below.values, 1);
    for (let i = 1; i < below.times.length; i++) {
      const high = (below.values[i] / most) * s.strip;
      if (high > 0) bar(below.times[i - 1], below.times[i], top + s.strip - high, high, colour("orange"));
    }
    bar(view.seen[0], view.seen[1], top + s.strip, 1, colour("edge"));
  };
  /** @param {CanvasRenderingContext2D} c @param {RankSizes} s @param {number} width @param {number} height */
  const axis = (c, s, width, height) => {
    c.fillStyle = colour("muted");
    c.textAlign = "center";
    for (const t of place.ticks()) {
      c.fillRect(place.x(t, s), s.top, 0.5, height - s.axis - s.top);
      c.fillText(time(t, 4), Math.min(width - 30, Math.max(s.left + 20, place.x(t, s))), height - s.axis / 2);
    }
    const now = at();
    if (now === null || now < view.seen[0] || now > view.seen[1]) return;
    c.fillStyle = colour("accent");
    c.fillRect(place.x(now, s) - 0.75, 0, 1.5, height - s.axis);
  };
  return () => {
    const s = place.sizes();
    const height = place.height(s);
    box.style.height = `${height}px`;
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    if (!width) return;
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const c = xoff.context(canvas);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    c.font = `${Math.round(rem() * 0.74)}px system-ui, sans-serif`;
    c.textBaseline = "middle";
    const bar = bars(c, s, width);
    ranks(c, s, bar, ratio);
    if (network) strip(c, s, bar, place.rowTop(view.rows.length, s) + 3, network);
    axis(c, s, width, height);
  };
};

// A hint below the pointer; a click moves the report, dragging zooms.
xoff.rankPointer = (view, place, canvas, tip, { later, go }) => {
  const { time } = xoff;
  /** @param {Under} under */
  const words = ({ t, row }) => {
    const { job } = view;
    if (row === -1 && view.hasPath()) {
      const p = job.path;
      for (let i = 0; i < p.from.length; i++) if (p.from[i] <= t && t < p.to[i]) return `critical path: ${job.causes[p.cause[i]]} at rank ${p.rank[i]} on ${view.host(p.rank[i])}, ${time(p.to[i] - p.from[i], 4)}`;
      return "";
    }
    const r = view.rows[row];
    if (r === undefined) return "";
    const [low, behind] = view.within(r, [t, t + 1]);
    const state = low < behind && job.from[low] <= t ? `${xoff.rankStates[job.state[low]][0]}, ${time(job.to[low] - job.from[low], 4)}` : "idle";
    return `rank ${r} on ${view.host(r)} at ${time(t, 5)}: ${state}`;
  };
  /** @type {Under | null} */
  let pressed = null;
  canvas.addEventListener("pointermove", (e) => {
    const p = place.under(e);
    const text = p.inside ? words(p) : "";
    tip.hidden = !text;
    tip.textContent = text;
    tip.style.left = `${Math.min(p.px + 12, canvas.clientWidth - 260)}px`;
    tip.style.top = `${p.py + 14}px`;
  });
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  canvas.addEventListener("pointerdown", (e) => (pressed = place.under(e)));
  canvas.addEventListener("pointerup", (e) => {
    const p = place.under(e);
    if (pressed && Math.abs(p.px - pressed.px) > 6) {
      view.seen = [Math.max(0, Math.min(p.t, pressed.t)), Math.max(p.t, pressed.t)];
      later();
    } else if (p.inside) go(p.t);
    pressed = null;
  });
  canvas.addEventListener("dblclick", () => ((view.seen = view.spanOf(view.iteration)), later()));
};

// The iteration in words: its time, its critical path, the message that it waited for longest.
xoff.rankFacts = (view, data, { choose, portName }) => {
  const { el, time, percent, quoted } = xoff;
  const { job, iteration } = view;
  const i = job.iterations[iteration];
  const note = job.total > 1 ? ` ${job.begin + iteration} of job ${job.name}${iteration === job.longest ? ", the longest" : ""}` : ` of job ${job.name}`;
  const lines = [el("p", {}, i.end_ps === null ? `Iteration${note} is unfinished.`
    : `Iteration${note}: ${time(i.time_ps, 6)}, from the end of the previous iteration to the end of its last rank. Exposed communication is at most ${time(i.exposed_ps, 4)} per rank.`)];
  if (i.path_ps.length) {
    const total = i.path_ps.reduce((a, b) => a + b, 0);
    lines.push(el("div.legend", {}, "Critical path: ", i.path_ps.map((ps, k) => (ps ? el("span", {}, el("i.box", { style: `background:var(--${xoff.rankCauses[k]})` }), ` ${job.causes[k]} ${time(ps, 4)} (${percent(ps / total)})`) : null))));
  }
  const w = i.straggler;
  if (!w) return lines;
  /** @type {[word: string, ps: number][]} */
  const causes = [["pause", w.pause_ps], ["rate limit", w.rate_limit_ps], ["queueing", w.queueing_ps]];
  const lost = causes.filter((l) => l[1]);
  const { port } = w;
  const which = job.total > 1 || data.jobs.length > 1 ? `=${job.name}:${job.begin + iteration}` : "";
  lines.push(el("p", { id: "straggler" }, `Slowest message: flow ${w.flow}, rank ${w.from_rank} on ${view.host(w.from_rank)} to rank ${w.to_rank} on ${view.host(w.to_rank)}, ${time(w.start_ps, 5)} to ${time(w.end_ps, 5)}. `,
    lost.length ? `It lost ${lost.map(([word, ps]) => `${time(ps, 4)} to ${word}`).join(", ")}. ` : "Nothing delayed it. ",
    port ? ["Port of its path that was paused longest: ", el("button.port", { type: "button", onclick: () => choose(port[0], (w.start_ps + w.end_ps) / 2) }, portName(port[0])), `, ${time(port[1], 4)}. `] : "",
    data.real ? "" : el("code.command", {}, `xoff explain ${quoted(data.folder)} ${quoted(`--straggler${which}`)}`)));
  return lines;
};

// The field that names the drawn ranks, such as 0-2, 5.
xoff.rankField = (view, show, most) => {
  const field = xoff.el("input", { type: "search", id: "rank-rows", "aria-label": "Drawn ranks", placeholder: "0-7, 64" });
  const named = () => {
    const parts = [];
    for (const r of view.rows) {
      const last = parts[parts.length - 1];
      if (last && last[1] === r - 1) last[1] = r;
      else parts.push([r, r]);
    }
    return parts.map(([a, b]) => (a === b ? a : `${a}-${b}`)).join(", ");
  };
  field.addEventListener("change", () => show(field.value.split(",").flatMap((/** @type {string} */ part) => {
    const [a, b] = part.split("-").map((t) => parseInt(t, 10));
    return Number.isNaN(a) ? [] : Array.from({ length: Math.min(most, Math.max(1, (b ?? a) - a + 1)) }, (_, i) => a + i);
  })));
  return { field, update: () => (field.value = named()) };
};

xoff.rankTable = (view, show) => {
  const { time, table } = xoff;
  /** @param {(sums: number[]) => number} f @returns {(rank: number) => number} */
  const sum = (f) => (r) => f(view.sums(r));
  /** @param {string} name @param {string} csv @param {(rank: number) => number} value */
  const column = (name, csv, value) => ({ name, csv, value, show: (/** @type {number} */ r) => time(value(r), 4), right: true });
  return table([
    { name: "Rank", csv: "rank", value: (r) => r, right: true },
    { name: "Host", csv: "host", value: (r) => view.host(r) },
    column("Computing", "compute_ps", sum((s) => s[0] + s[1])),
    column("of it with messages under way", "overlap_ps", sum((s) => s[1])),
    column("Exposed communication", "exposed_ps", sum((s) => s[2])),
    { name: "Drawn", csv: "drawn", value: (r) => (view.rows.includes(r) ? 1 : 0), show: (r) => (view.rows.includes(r) ? "yes" : "") },
  ], () => [...view.job.ranks], { name: "ranks", sort: 4, shown: 8, pick: (r) => show(view.rows.includes(r) ? view.rows.filter((o) => o !== r) : [...view.rows, r]), mark: (r) => view.rows.includes(r) });
};

xoff.jobs = (data, { at, go, choose, portName, network }) => {
  const { el, count, onTheme, save, csv, tools } = xoff;
  const ROWS_MAX = 128;
  const view = xoff.jobState(data);
  const canvas = el("canvas", { role: "img", tabindex: 0, "aria-label": "State of each rank over time; the table below holds the same values" });
  const tip = el("div.tip", { hidden: true });
  const box = el("div.canvas.ranks", {}, canvas, tip);
  const place = xoff.rankPlace(view, canvas, network);
  const draw = xoff.rankPainter(view, place, canvas, box, { at, network });
  let due = false;
  const later = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => ((due = false), draw()));
  };
  xoff.rankPointer(view, place, canvas, tip, { later, go });
  /** @param {number[]} list */
  const show = (list) => {
    view.rows = [...new Set(list)].filter((r) => view.places.has(r)).sort((a, b) => a - b).slice(0, ROWS_MAX);
    ranks.update();
    later();
    table.draw();
  };
  const ranks = xoff.rankField(view, show, ROWS_MAX);
  const table = xoff.rankTable(view, show);
  const facts = el("div", { id: "iteration" });
  const many = el("span");
  const picker = el("input", { type: "number", min: 0, value: 0, "aria-label": "Iteration" });
  /** @param {number} to */
  const turn = (to) => {
    const { job } = view;
    view.iteration = Math.max(0, Math.min(job.iterations.length - 1, to));
    picker.value = job.begin + view.iteration;
    if (job.iterations.length) view.seen = view.spanOf(view.iteration);
    facts.replaceChildren(...xoff.rankFacts(view, data, { choose, portName }));
    table.draw();
    later();
  };
  picker.addEventListener("change", () => turn(Number(picker.value) - view.job.begin));
  /** @param {Job} job */
  const start = (job) => {
    view.choose(job);
    [picker.min, picker.max] = [job.begin, job.begin + job.iterations.length - 1];
    many.textContent = ` of ${count(job.total)} `;
    show(job.ranks.slice(0, job.shown));
    if (job.iterations.length) turn(job.longest ?? 0);
  };
  const all = () => {
    if (!view.job.iterations.length) return;
    view.seen = [view.job.iterations[0].start_ps, view.end(view.job.iterations.length - 1)];
    later();
  };
  const choices = data.jobs.length > 1 ? el("div.choices", { role: "radiogroup", "aria-label": "Job" }, data.jobs.map((j) => el("button", { type: "button", role: "radio", "aria-checked": String(j === view.job) }, j.name))) : "";
  [...(choices.children ?? [])].forEach((button, k) => button.addEventListener("click", () => {
    for (const b of choices.children) b.setAttribute("aria-checked", String(b === button));
    start(data.jobs[k]);
  }));
  /**  */
  const image = () => canvas.toBlob((/** @type {Blob | null} */ blob) => save("ranks.png", "image/png", blob));
  const stretches = () => save("rank-stretches.csv", "text/csv", csv(["rank", "start_ps", "end_ps", "state"],
    view.rows.flatMap((r) => {
      const [low, behind] = view.within(r, view.seen);
      return Array.from({ length: behind - low }, (_, i) => [r, view.job.from[low + i], view.job.to[low + i], xoff.rankStates[view.job.state[low + i]][0]]);
    })));
  /** @param {Xoff["rankStates"][number]} state */
  const look = ([, name, hatched]) => (hatched ? `background:repeating-linear-gradient(135deg,var(--${name}) 0 2px,transparent 2px 4px);border:1px solid var(--${name})` : `background:var(--${name})`);
  const legend = el("div.legend", {}, xoff.rankStates.map((state) => el("span", {}, el("i.box", { style: look(state) }), ` ${state[0]}`)), el("span", {}, "empty: idle"));
  /** @type {Tool[]} */
  const moves = [["◀", () => turn(view.iteration - 1), "Previous iteration"], ["▶", () => turn(view.iteration + 1), "Next iteration"], ["longest", () => turn(view.job.longest ?? 0), "Longest iteration"], ["all", all, "All iterations"]];
  const element = el("div", {},
    el("div.bar", {}, choices, el("label", {}, "Iteration ", picker, many), tools(moves), el("label", {}, "Ranks ", ranks.field), tools([["PNG", image], ["CSV", stretches]])),
    facts, box, legend,
    el("p.note", {}, "One row for each chosen rank. A click moves the report to that time, dragging zooms, a double click shows the whole iteration. A click on a rank in the table draws or hides it."),
    table.element);
  new ResizeObserver(later).observe(box);
  onTheme(later);
  start(view.job);
  return { element, mark: later, show, turn, rows: () => view.rows };
};
