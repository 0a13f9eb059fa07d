// The ranks of jobs over time: a row for each chosen rank, the critical path above them, the network below. A click moves the page
// there. Rows are chosen in the table or by their numbers, so that any number of ranks can be looked at.
"use strict";
xoff.jobs = (data, { at, go, choose, portName, network }) => {
  const { el, time, percent, count, colour, rem, onTheme, save, csv, tools, table, quoted, largest } = xoff;
  const { nodes } = data;
  // Exposed communication is hatched, so that it is like no colour of the critical path, whoever looks at it.
  const STATES = [["computing", "green"], ["computing, messages under way", "sky"], ["exposed communication", "blue", true]];
  const CAUSES = ["green", "grey", "grey", "blue", "sky", "vermilion", "purple", "orange"];
  const ROWS_MAX = 128;
  let job = data.jobs[0];
  let iteration = job.longest ?? 0;
  // Drawn ranks, in their order, and what of time is seen [ps].
  let rows = [];
  let seen = [0, 1];

  // ---- what there is --------------------------------------------------------------------------------------------------------------
  const host = (r) => nodes.name[job.hosts[r]];
  const placeOf = () => new Map(job.ranks.map((r, i) => [r, i]));
  let places = placeOf();
  const end = (i) => job.iterations[i].to_ps ?? data.end_ps;
  const spanOf = (i) => [job.iterations[i].from_ps, end(i)];
  // Where the stretches of a rank in an iteration begin; one behind the last iteration: where they end.
  const firstOf = (r, i) => job.first[places.get(r) * (job.iterations.length + 1) + i];
  // The stretches of a rank that lie in a span: index of the first one and of the one behind the last.
  const within = (r, [a, b]) => {
    let [low, high] = [firstOf(r, 0), firstOf(r, job.iterations.length)];
    const last = high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (job.to[middle] <= a) low = middle + 1;
      else high = middle;
    }
    let behind = low;
    while (behind < last && job.from[behind] < b) behind++;
    return [low, behind];
  };
  // What a rank did in the iteration: its own, which begins and ends with it.
  const sums = (r) => {
    const out = [0, 0, 0];
    for (let i = firstOf(r, iteration); i < firstOf(r, iteration + 1); i++) out[job.state[i]] += job.to[i] - job.from[i];
    return out;
  };
  const computing = (r) => sums(r)[0] + sums(r)[1];

  // ---- drawing --------------------------------------------------------------------------------------------------------------------
  const canvas = el("canvas", { role: "img", tabindex: 0, "aria-label": "What each rank does over time; the table below holds the same values" });
  const tip = el("div.tip", { hidden: true });
  const box = el("div.canvas.ranks", {}, canvas, tip);
  const sizes = () => ({ row: Math.round(rem() * 1.05), left: Math.round(rem() * 7.5), top: Math.round(rem() * 0.4), axis: Math.round(rem() * 1.6), strip: Math.round(rem() * 2.4) });
  const x = (t, s) => s.left + ((t - seen[0]) / (seen[1] - seen[0])) * (canvas.clientWidth - s.left - 8);
  const timeAt = (px, s) => seen[0] + ((px - s.left) / (canvas.clientWidth - s.left - 8)) * (seen[1] - seen[0]);
  const hasPath = () => iteration === job.longest && job.path.from.length > 0;
  const rowTop = (k, s) => s.top + (k + (hasPath() ? 1 : 0)) * (s.row + 3);
  const ticks = () => {
    const step = 10 ** Math.floor(Math.log10((seen[1] - seen[0]) / 4));
    const by = [1, 2, 5, 10].map((m) => m * step).find((w) => (seen[1] - seen[0]) / w <= 8);
    const out = [];
    for (let t = Math.ceil(seen[0] / by) * by; t <= seen[1]; t += by) out.push(t);
    return out;
  };
  // Stripes from the lower left to the upper right, half of the area.
  const HATCH = 6;
  const hatching = (c, ink, ratio) => {
    const side = Math.round(HATCH * ratio);
    const tile = el("canvas", { width: side, height: side });
    const t = tile.getContext("2d");
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
    pattern.setTransform(new DOMMatrix().scale(1 / ratio));
    return pattern;
  };
  const boxOf = ([, name, hatched]) => (hatched ? `background:repeating-linear-gradient(135deg,var(--${name}) 0 2px,transparent 2px 4px);border:1px solid var(--${name})` : `background:var(--${name})`);
  const draw = () => {
    const s = sizes();
    const bottom = rowTop(rows.length, s);
    const height = bottom + (network ? s.strip + 6 : 0) + s.axis;
    box.style.height = `${height}px`;
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    if (!width) return;
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const c = canvas.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    c.font = `${Math.round(rem() * 0.74)}px system-ui, sans-serif`;
    c.textBaseline = "middle";
    const label = (text, y, high) => {
      c.fillStyle = colour("muted");
      c.textAlign = "right";
      c.fillText(text.length > 18 ? `${text.slice(0, 17)}…` : text, s.left - 8, y + high / 2);
    };
    const bar = (from, to, y, high, fill) => {
      const [a, b] = [Math.max(s.left, x(from, s)), Math.min(width - 8, x(to, s))];
      if (b <= a) return;
      c.fillStyle = fill;
      c.fillRect(a, y, Math.max(0.6, b - a), high);
    };
    const fills = STATES.map(([, name, hatched]) => (hatched ? hatching(c, colour(name), ratio) : colour(name)));
    rows.forEach((r, k) => {
      const y = rowTop(k, s);
      label(`${r} ${host(r)}`, y, s.row);
      bar(seen[0], seen[1], y + s.row - 1, 1, colour("line"));
      const [low, behind] = within(r, seen);
      // Of the stretches that fall on one pixel the longest is drawn last.
      for (let i = low; i < behind; i++) bar(job.from[i], job.to[i], y, s.row, fills[job.state[i]]);
    });
    if (hasPath()) {
      label("critical path", s.top, s.row);
      const p = job.path;
      for (let i = 0; i < p.from.length; i++) bar(p.from[i], p.to[i], s.top, s.row - 2, colour(CAUSES[p.cause[i]]));
    }
    if (network) {
      label(network.name, bottom + 3, s.strip);
      const most = largest(network.values, 1);
      for (let i = 1; i < network.times.length; i++) {
        const high = (network.values[i] / most) * s.strip;
        if (high > 0) bar(network.times[i - 1], network.times[i], bottom + 3 + s.strip - high, high, colour("orange"));
      }
      bar(seen[0], seen[1], bottom + 3 + s.strip, 1, colour("edge"));
    }
    c.fillStyle = colour("muted");
    c.textAlign = "center";
    for (const t of ticks()) {
      c.fillRect(x(t, s), s.top, 0.5, height - s.axis - s.top);
      c.fillText(time(t, 4), Math.min(width - 30, Math.max(s.left + 20, x(t, s))), height - s.axis / 2);
    }
    const now = at();
    if (now !== null && now >= seen[0] && now <= seen[1]) {
      c.fillStyle = colour("accent");
      c.fillRect(x(now, s) - 0.75, 0, 1.5, height - s.axis);
    }
  };
  let due = false;
  const later = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => ((due = false), draw()));
  };
  const under = (e) => {
    const s = sizes();
    const [px, py] = [e.offsetX, e.offsetY];
    const row = Math.floor((py - s.top) / (s.row + 3)) - (hasPath() ? 1 : 0);
    return { t: timeAt(px, s), row, inside: px >= s.left && px <= canvas.clientWidth - 8, px, py };
  };
  const wordsAt = ({ t, row }) => {
    if (row === -1 && hasPath()) {
      const p = job.path;
      for (let i = 0; i < p.from.length; i++) if (p.from[i] <= t && t < p.to[i]) return `critical path: ${job.causes[p.cause[i]]} at rank ${p.rank[i]} on ${host(p.rank[i])}, ${time(p.to[i] - p.from[i], 4)}`;
      return "";
    }
    const r = rows[row];
    if (r === undefined) return "";
    const [low, behind] = within(r, [t, t + 1]);
    const what = low < behind && job.from[low] <= t ? `${STATES[job.state[low]][0]}, ${time(job.to[low] - job.from[low], 4)}` : "idle";
    return `rank ${r} on ${host(r)} at ${time(t, 5)}: ${what}`;
  };
  let pressed = null;
  canvas.addEventListener("pointermove", (e) => {
    const p = under(e);
    const words = p.inside ? wordsAt(p) : "";
    tip.hidden = !words;
    tip.textContent = words;
    tip.style.left = `${Math.min(p.px + 12, canvas.clientWidth - 260)}px`;
    tip.style.top = `${p.py + 14}px`;
  });
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  canvas.addEventListener("pointerdown", (e) => (pressed = under(e)));
  canvas.addEventListener("pointerup", (e) => {
    const p = under(e);
    // A click moves the page, dragging zooms.
    if (pressed && Math.abs(p.px - pressed.px) > 6) {
      seen = [Math.max(0, Math.min(p.t, pressed.t)), Math.max(p.t, pressed.t)];
      later();
    } else if (p.inside) go(p.t);
    pressed = null;
  });
  canvas.addEventListener("dblclick", () => ((seen = spanOf(iteration)), later()));

  // ---- rows, iterations, words ----------------------------------------------------------------------------------------------------
  const choosing = el("input", { type: "search", id: "rank-rows", "aria-label": "Ranks that are drawn", placeholder: "0-7, 64" });
  const named = () => {
    // 0,1,2,5 as 0-2, 5.
    const parts = [];
    for (const r of rows) {
      const last = parts[parts.length - 1];
      if (last && last[1] === r - 1) last[1] = r;
      else parts.push([r, r]);
    }
    return parts.map(([a, b]) => (a === b ? a : `${a}-${b}`)).join(", ");
  };
  const show = (list) => {
    rows = [...new Set(list)].filter((r) => places.has(r)).sort((a, b) => a - b).slice(0, ROWS_MAX);
    choosing.value = named();
    later();
    rankTable?.draw();
  };
  choosing.addEventListener("change", () => {
    const list = choosing.value.split(",").flatMap((part) => {
      const [a, b] = part.split("-").map((t) => parseInt(t, 10));
      if (Number.isNaN(a)) return [];
      return Array.from({ length: Math.min(ROWS_MAX, Math.max(1, (b ?? a) - a + 1)) }, (_, i) => a + i);
    });
    show(list);
  });
  const facts = el("div", { id: "iteration" });
  const many = el("span");
  const picker = el("input", { type: "number", min: 0, value: 0, "aria-label": "Iteration" });
  const describe = () => {
    const i = job.iterations[iteration];
    const note = job.total > 1 ? ` ${job.begin + iteration} of job ${job.name}${iteration === job.longest ? ", the longest" : ""}` : ` of job ${job.name}`;
    const lines = [el("p", {}, i.to_ps === null ? `Iteration${note} has not come to its end.`
      : `Iteration${note}: ${time(i.time_ps, 6)} from the end of the one before, of its last rank; exposed communication ${time(i.exposed_ps, 4)} at the rank with the most.`)];
    if (i.path_ps.length) {
      const total = i.path_ps.reduce((a, b) => a + b, 0);
      lines.push(el("div.legend", {}, "Critical path: ", i.path_ps.map((ps, k) => (ps ? el("span", {}, el("i.box", { style: `background:var(--${CAUSES[k]})` }), ` ${job.causes[k]} ${time(ps, 4)} (${percent(ps / total)})`) : null))));
    }
    const w = i.straggler;
    if (w) {
      const lost = [["pause", w.pause_ps], ["rate limit", w.rate_limit_ps], ["queueing", w.queueing_ps]].filter((l) => l[1]);
      const which = job.total > 1 || data.jobs.length > 1 ? `=${job.name}:${job.begin + iteration}` : "";
      lines.push(el("p", { id: "straggler" }, `The message waited for longest: flow ${w.flow}, rank ${w.from_rank} on ${host(w.from_rank)} to rank ${w.to_rank} on ${host(w.to_rank)}, ${time(w.from_ps, 5)} to ${time(w.to_ps, 5)}. `,
        lost.length ? `It lost ${lost.map(([word, ps]) => `${time(ps, 4)} to ${word}`).join(", ")}. ` : "Nothing held it up. ",
        w.port ? ["Longest stopped on its path: ", el("button.port", { type: "button", onclick: () => choose(w.port[0], (w.from_ps + w.to_ps) / 2) }, portName(w.port[0])), `, ${time(w.port[1], 4)}. `] : "",
        data.real ? "" : el("code.command", {}, `xoff explain ${quoted(data.folder)} ${quoted(`--straggler${which}`)}`)));
    }
    facts.replaceChildren(...lines);
  };
  const rankTable = table([
    { name: "Rank", csv: "rank", value: (r) => r, right: true },
    { name: "Host", csv: "host", value: (r) => host(r) },
    { name: "Computing", csv: "compute_ps", value: computing, show: (r) => time(computing(r), 4), right: true },
    { name: "of it with messages under way", csv: "overlap_ps", value: (r) => sums(r)[1], show: (r) => time(sums(r)[1], 4), right: true },
    { name: "Exposed communication", csv: "exposed_ps", value: (r) => sums(r)[2], show: (r) => time(sums(r)[2], 4), right: true },
    { name: "Drawn", csv: "drawn", value: (r) => (rows.includes(r) ? 1 : 0), show: (r) => (rows.includes(r) ? "yes" : "") },
  ], () => [...job.ranks], { name: "ranks", sort: 4, shown: 8, pick: (r) => show(rows.includes(r) ? rows.filter((o) => o !== r) : [...rows, r]), mark: (r) => rows.includes(r) });
  const turn = (to) => {
    iteration = Math.max(0, Math.min(job.iterations.length - 1, to));
    picker.value = job.begin + iteration;
    if (job.iterations.length) seen = spanOf(iteration);
    describe();
    rankTable.draw();
    later();
  };
  picker.addEventListener("change", () => turn(Number(picker.value) - job.begin));
  const start = (of) => {
    job = of;
    places = placeOf();
    [picker.min, picker.max] = [job.begin, job.begin + job.iterations.length - 1];
    many.textContent = ` of ${count(job.total)} `;
    show(job.ranks.slice(0, job.shown));
    if (job.iterations.length) turn(job.longest ?? 0);
  };
  const all = () => {
    if (!job.iterations.length) return;
    seen = [job.iterations[0].from_ps, end(job.iterations.length - 1)];
    later();
  };
  const jobsBar = data.jobs.length > 1 ? el("div.choices", { role: "radiogroup", "aria-label": "Job" }, data.jobs.map((j) => {
    const button = el("button", { type: "button", role: "radio", "aria-checked": String(j === job) }, j.name);
    button.addEventListener("click", () => {
      for (const b of jobsBar.children) b.setAttribute("aria-checked", String(b === button));
      start(j);
    });
    return button;
  })) : "";
  const image = () => canvas.toBlob((blob) => save("ranks.png", "image/png", blob));
  const stretches = () => save("rank-stretches.csv", "text/csv", csv(["rank", "from_ps", "to_ps", "state"],
    rows.flatMap((r) => {
      const [low, behind] = within(r, seen);
      return Array.from({ length: behind - low }, (_, i) => [r, job.from[low + i], job.to[low + i], STATES[job.state[low + i]][0]]);
    })));
  const legend = el("div.legend", {}, STATES.map((state) => el("span", {}, el("i.box", { style: boxOf(state) }), ` ${state[0]}`)), el("span", {}, "nothing: idle"));
  const moves = [["◀", () => turn(iteration - 1), "Iteration before"], ["▶", () => turn(iteration + 1), "Next iteration"], ["longest", () => turn(job.longest ?? 0), "Longest iteration"], ["all", all, "All iterations"]];
  const element = el("div", {},
    el("div.bar", {}, jobsBar, el("label", {}, "Iteration ", picker, many), tools(moves), el("label", {}, "Ranks ", choosing), tools([["PNG", image], ["CSV", stretches]])),
    facts, box, legend,
    el("p.note", {}, "A row for each chosen rank; a click moves the page to that time, dragging zooms, a double click shows the whole iteration. Click a rank in the table to draw it or not."),
    rankTable.element);
  new ResizeObserver(later).observe(box);
  onTheme(() => later());
  start(job);
  return { element, mark: later, show, turn, rows: () => rows };
};
