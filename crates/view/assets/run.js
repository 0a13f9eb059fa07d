// The page of a run of a network: the network over time, the port that was clicked, flows, ports, pause trees.
"use strict";
xoff.run = async () => {
  const { el, svg, byId, time, bytes, rate, percent, count, largest, smallest, quoted, colour, onTheme, save, csv, tools, table } = xoff;
  let data = await xoff.data();
  const { ports, nodes } = data;
  let totals = data.totals;
  const n = ports.node.length;
  // Flow control is what this is about; where it never acted, the load is.
  const acted = largest(totals.pauses, 0) + largest(totals.holds, 0) > 0 || (data.course && data.course.limit.some((l) => l < 10000));
  const state = { look: 0, metric: acted || data.live ? "stopped" : "rate", port: -1 };
  const names = Array.from({ length: n }, (_, p) => `${nodes.name[ports.node[p]]}->${nodes.name[ports.node[ports.peer[p]]]}${ports.suffix[p] || ""}`);
  const typed = (p) => quoted(names[p].includes("#") ? names[p] : names[p].replace("->", ":"));

  // ---- the course of time -------------------------------------------------------------------------------------------------------
  // Columns lie port by port: value of port p at look i is column[p * looks + i].
  let course = data.course;
  let looks = course ? course.times.length : 0;
  const [unitPs, unitName] = data.live || data.end_ps >= 2e12 ? [1e12, "s"] : data.end_ps >= 2e9 ? [1e9, "ms"] : data.end_ps >= 2e6 ? [1e6, "us"] : [1e3, "ns"];
  let xsTime = course ? Array.from(course.times, (t) => t / unitPs) : [];
  const timeAxis = { title: `Time [${unitName}]`, time: true, csv: `time_${unitName}` };
  const of = (column, p, i) => column[p * looks + i];
  const seriesOf = (column, p, f) => Array.from({ length: looks }, (_, i) => f(of(column, p, i), i));
  const largestQueue = () => largest(totals.ingress_max, largest(totals.egress_max, 1));
  let queueMax = largestQueue();
  // Rate at which a port sent from the look before to this one, and the part of its line that this is.
  const rateAt = (p, i) => (i > 0 ? (of(course.sent, p, i) * 8e12) / (course.times[i] - course.times[i - 1]) : 0);
  const used = (p, i) => Math.min(1, rateAt(p, i) / ports.rate[p]);
  const share = (part, whole) => (whole > 0 ? part / whole : 0);
  // Times of several priorities are added up, so they may be more than all.
  const stoppedOfAll = (p) => Math.min(1, share(Math.max(totals.pause_ps[p], totals.hold_ps[p]), data.end_ps));
  // Over the whole run. A frame counts when it begins: in a short run the last one would make it more than all.
  const usedOfAll = (p) => Math.min(1, share(totals.tx[p] * 8e12, data.end_ps * ports.rate[p]));
  const metrics = {
    stopped: {
      label: "Flow control",
      value: (p) => (course ? Math.max(of(course.stopped, p, state.look), 10000 - of(course.limit, p, state.look)) / 1e4
        : stoppedOfAll(p)),
      legend: () => ["free to send", course ? "stopped all the time, or slowed down to nothing" : "stopped all the time, whole run"],
    },
    rate: {
      label: "Utilisation",
      value: (p) => (course ? used(p, state.look) : usedOfAll(p)),
      legend: () => ["idle", "line rate"],
    },
    queue: {
      label: "Queue",
      value: (p) => (course ? Math.max(of(course.egress, p, state.look), of(course.ingress, p, state.look)) : Math.max(totals.egress_max[p], totals.ingress_max[p])) / queueMax,
      legend: () => ["empty", `${bytes(queueMax)}, the largest of the run`],
    },
  };
  const words = (p) => {
    if (!course) return `${names[p]}: ${bytes(totals.tx[p])} sent, stopped for ${time(Math.max(totals.pause_ps[p], totals.hold_ps[p]), 3)}`;
    const i = state.look;
    const parts = [`${names[p]}: ${rate(Math.min(rateAt(p, i), ports.rate[p]))} of ${rate(ports.rate[p])}`];
    if (of(course.stopped, p, i)) parts.push(`stopped ${percent(of(course.stopped, p, i) / 1e4)} of the interval`);
    if (of(course.limit, p, i) < 10000 && of(course.limit, p, i) > 0) parts.push(`slowed down to ${rate((of(course.limit, p, i) / 1e4) * ports.rate[p])}`);
    parts.push(`${bytes(of(course.egress, p, i))} wait to leave, ${bytes(of(course.ingress, p, i))} in the buffer at its far end`);
    return parts.join("; ");
  };

  // ---- the network, the slider --------------------------------------------------------------------------------------------------
  const value = (p) => metrics[state.metric].value(p);
  const inCycle = () => {
    const now = course ? course.times[state.look] : data.end_ps;
    return data.deadlocks.filter((d) => d.closed_ps <= now).flatMap((d) => d.ports.map((p) => p.port));
  };
  const hosts = nodes.host.reduce((a, h) => a + h, 0);
  const net = xoff.network({ nodes, ports, tiers: data.tiers, hosts, count: nodes.name.length }, {
    value, tooltip: words, pick: (p) => choose(p), cycles: inCycle, name: "network",
  });
  const changed = [];
  const now = el("output", { id: "now" });
  const slider = el("input", { type: "range", id: "time", min: 0, max: 1000, value: 0, "aria-label": "Time in the run", disabled: looks < 2 && !data.live });
  const lookAt = (ps) => {
    let [low, high] = [0, looks - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (course.times[middle] < ps) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const interval = () => (state.look > 0 ? `mean of ${time(course.times[state.look] - course.times[state.look - 1], 3)}` : "start");
  const go = (look, fromSlider) => {
    if (!course) return;
    state.look = Math.max(0, Math.min(looks - 1, look));
    const at = course.times[state.look];
    if (!fromSlider) slider.value = Math.round((1000 * at) / (course.times[looks - 1] || 1));
    now.textContent = `${time(at, 4)} · ${interval()}`;
    slider.setAttribute("aria-valuetext", time(at, 4));
    net.draw();
    changed.forEach((f) => f());
  };
  slider.addEventListener("input", () => go(lookAt((slider.value / 1000) * course.times[looks - 1]), true));
  let playing = 0;
  const play = el("button.play", { type: "button", id: "play", title: "Play", disabled: looks < 2 && !data.live }, "▶");
  play.addEventListener("click", () => {
    if (playing) {
      cancelAnimationFrame(playing);
      playing = 0;
    } else {
      let [from, start] = [state.look >= looks - 1 ? 0 : state.look, performance.now()];
      const seconds = Math.min(20, Math.max(5, looks / 20));
      const step = (t) => {
        const look = from + Math.floor(((t - start) / 1000 / seconds) * looks);
        go(look);
        playing = look < looks - 1 ? requestAnimationFrame(step) : 0;
        if (!playing) play.textContent = "▶";
      };
      playing = requestAnimationFrame(step);
    }
    play.textContent = playing ? "❚❚" : "▶";
  });
  const legend = el("div.legend");
  const drawLegend = () => {
    const [low, high] = metrics[state.metric].legend();
    legend.replaceChildren(el("span", {}, low), el("i", { style: `background:linear-gradient(90deg, ${net.scheme().join(",")})` }), el("span", {}, high),
      data.deadlocks.length ? el("span.cycle", {}, "deadlock") : "");
  };
  const choices = el("div.choices", { role: "radiogroup", "aria-label": "Colour of the links" },
    Object.entries(metrics).map(([key, m]) => {
      const button = el("button", { type: "button", role: "radio", "data-metric": key, "aria-checked": String(key === state.metric) }, m.label);
      button.addEventListener("click", () => {
        state.metric = key;
        for (const b of choices.children) b.setAttribute("aria-checked", String(b === button));
        drawLegend();
        net.draw();
      });
      return button;
    }));
  onTheme(() => queueMicrotask(drawLegend));
  byId("network").append(
    el("div.bar", {}, choices, net.tools), net.element, legend,
    el("div.time", {}, play, slider, now),
    el("p.note", {}, course || data.live ? "Each direction of a link is a line, to the right of its way. Click one, or a node. Shift and wheel, or two fingers: zoom." : data.left_out.join(" ")),
  );

  // ---- a port -------------------------------------------------------------------------------------------------------------------
  const cursor = () => (course ? [{ type: "line", xref: "x", yref: "paper", x0: xsTime[state.look], x1: xsTime[state.look], y0: 0, y1: 1, line: { width: 1.2, dash: "dot" }, colour: "accent" }] : []);
  const portName = (p) => el("button.port", { type: "button", onclick: () => choose(p) }, names[p]);
  const facts = (p) => {
    const rows = [
      ["Line", rate(ports.rate[p])],
      ["Sent", `${bytes(totals.tx[p])}, ${percent(usedOfAll(p))} of the line`],
      ["Stopped", totals.pauses[p] ? `${count(totals.pauses[p])} times, ${time(totals.pause_ps[p], 3)} in all${totals.pause_ps[p] > data.end_ps ? ", priorities added up" : ""}` : "never by a message"],
      ["Head frames held", totals.holds[p] ? `${count(totals.holds[p])} times, ${time(totals.hold_ps[p], 3)} in all` : "never"],
      ["Largest queue", `${bytes(totals.egress_max[p])} to leave, ${bytes(totals.ingress_max[p])} at its far end (one priority)`],
      ["Marked", totals.marked[p] + totals.marked_ue[p] ? [totals.marked[p] ? `${count(totals.marked[p])} CE` : "", totals.marked_ue[p] ? `${count(totals.marked_ue[p])} UE` : ""].filter(Boolean).join(", ") : "none"],
      ["Dropped at its far end", totals.dropped[p] ? `${count(totals.dropped[p])} frames` : "none"],
    ];
    return el("dl.facts", {}, rows.map(([k, v]) => el("div", {}, el("dt", {}, k), el("dd", {}, v))));
  };
  const portChart = xoff.charts.chart({
    name: "port", title: "In the course of time", x: timeAxis, y: [{ title: "Rate [b/s]" }, { title: "Buffers [B]" }, { title: "Stopped [%]", range: [0, 105] }], height: 470,
    click: (point) => go(lookAt(point.x * unitPs)),
  });
  const chain = el("div.chain", { id: "chain" });
  const panel = el("div", { id: "panel", hidden: true });
  const title = el("h3", { id: "port-name" });
  const detail = el("div");
  panel.append(title, detail, portChart.element, el("h3", {}, "Why it waits"), chain);
  const hint = el("p.note", { id: "no-port" }, "No port is chosen: click a link in the network, or a row in the table of ports.");
  byId("port").append(hint, panel);

  const choose = (p) => {
    state.port = p;
    net.select(p);
    hint.hidden = true;
    panel.hidden = false;
    title.textContent = names[p];
    detail.replaceChildren(facts(p));
    if (course) {
      const hostSide = nodes.host[ports.node[p]];
      const marks = seriesOf(course.marked, p, (m) => m);
      const series = [
        { name: "sent", x: xsTime, y: Array.from({ length: looks }, (_, i) => rateAt(p, i)), shape: "vh", hover: "%{y:.3s}b/s" },
        { name: "allowed by flow control", x: xsTime, y: seriesOf(course.limit, p, (l) => (l / 1e4) * ports.rate[p]), shape: "hv", colour: "vermilion", dash: "dash", hover: "%{y:.3s}b/s" },
        ...(hostSide ? [] : [{ name: "waits to leave", axis: 1, x: xsTime, y: seriesOf(course.egress, p, (b) => b), shape: "vh", colour: "green", hover: "%{y:.3s}B" }]),
        { name: "buffer at its far end", axis: 1, x: xsTime, y: seriesOf(course.ingress, p, (b) => b), shape: "vh", colour: "purple", dash: "dash", hover: "%{y:.3s}B" },
        { name: "stopped", axis: 2, x: xsTime, y: seriesOf(course.stopped, p, (s) => s / 100), shape: "vh", colour: "orange", fill: true, hover: "%{y:.3r} %" },
      ];
      portChart.set({ series, shapes: cursor(), title: `${names[p]} in the course of time`,
        range: portChart.range, note: `Rates and stops are means between two looks, buffers are as they stood. A frame counts when it begins, so a short step may show more than the line carries. ${marks.some((m) => m) ? `Marked frames, CE and UE: ${count(marks.reduce((a, b) => a + b, 0))}.` : ""}` });
    }
    portChart.element.hidden = !course;
    explain();
    portTable.draw();
    changed.forEach((f) => f("port"));
    asked = "";
    fetchRecorded();
  };

  // What the probes recorded of the port, asked for when it is chosen and when its time axis changes.
  let asked = "";
  const fetchRecorded = async () => {
    if (!data.served || state.port < 0) return;
    const [from, to] = (portChart.range || [0, data.end_ps / unitPs]).map((t) => Math.max(0, Math.round(t * unitPs)));
    const question = `api/series?port=${encodeURIComponent(names[state.port])}&from_ps=${from}&to_ps=${to}`;
    if (question === asked) return;
    asked = question;
    const answer = await fetch(question);
    if (!answer.ok || question !== asked) return;
    const own = portChart.series.filter((s) => !s.recorded);
    const lines = (await answer.json()).map((l) => ({
      name: `recorded: ${l.name}`, recorded: true, axis: l.kind === "rate" ? 0 : 1, x: l.t.map((t) => t / unitPs), y: l.v, width: 1, hover: l.kind === "rate" ? "%{y:.4s}b/s" : "%{y:.4s}B",
    }));
    portChart.set({ series: [...own, ...lines] });
  };
  portChart.zoomed = fetchRecorded;

  // ---- pause trees -------------------------------------------------------------------------------------------------------
  // The last look at or before the present one that knows who waits.
  const waitersNow = () => {
    for (let i = state.look; course && i >= 0; i--) if (course.waiters[i]) return { at: course.times[i], look: i, list: course.waiters[i] };
    return { at: 0, look: 0, list: [] };
  };
  const flowName = (f) => (data.flows.ends[f] ? `flow ${f} (${nodes.name[data.flows.ends[f][0]]} to ${nodes.name[data.flows.ends[f][1]]})` : `flow ${f}`);
  const sums = (behind, which) => {
    const by = new Map();
    for (const share of behind) by.set(share[which], (by.get(share[which]) || 0) + share[2]);
    return [...by].sort((a, b) => b[1] - a[1]);
  };
  const command = (p, at) => el("code.command", {}, `xoff explain ${quoted(data.folder)} ${typed(p)} ${time(at, 9).replace(" ", "")}`);
  const several = (list) => new Set(list.map((w) => w[1])).size > 1;
  const since = (w) => (w[2] === null ? "is slowed down" : `has been stopped since ${time(w[2], 4)}`);
  const STEPS_MAX = 14;
  // From a port that waits to the root, for one of its priorities.
  const chainOf = (list, first) => {
    const steps = [];
    const seen = [];
    let [w, here, slowed] = [first, first[0], false];
    while (w && w[3].length && !seen.includes(here)) {
      seen.push(here);
      slowed ||= w[2] === null;
      const [outs, flows] = [sums(w[3], 0), sums(w[3], 1)];
      const far = nodes.name[ports.node[ports.peer[here]]];
      const held = w[3].reduce((a, s) => a + s[2], 0);
      steps.push(el("li", {}, portName(here), ` ${since(w)} (priority ${w[1]}). `,
        `${far} holds ${bytes(held)} of what it sent, waiting for `, outs.slice(0, 3).flatMap(([o, b], i) => [i ? ", " : "", portName(o), ` (${bytes(b)})`]), outs.length > 3 ? ` and ${outs.length - 3} more` : "",
        el("div.note", {}, `from ${flows.slice(0, 3).map(([f, b]) => `${flowName(f)}: ${bytes(b)}`).join(", ")}${flows.length > 3 ? ` and ${flows.length - 3} more` : ""}`)));
      here = outs[0][0];
      w = list.find((x) => x[0] === here && x[1] === first[1]);
    }
    const far = nodes.name[ports.node[ports.peer[here]]];
    const root = seen.includes(here) && slowed
      ? el("p.root", {}, "Root: these ports slow each other down in a circle, beginning with ", portName(here), "; all that are slowed still send.")
      : seen.includes(here)
      ? el("p.root.bad", {}, "Root: these ports wait for each other in a circle, beginning with ", portName(here), ".")
      : w
      ? el("p.root.bad", {}, "Root: ", portName(here), ` ${since(w)} (priority ${w[1]}) by ${far}, which holds nothing of what it sent: ${far} itself is the cause.`)
      : el("p.root", {}, "Root: ", portName(here), " was free to send; it is asked for more than it can carry.");
    const rest = steps.length - STEPS_MAX;
    return [el("ol", {}, steps.slice(0, STEPS_MAX)), rest > 0 ? el("p.note", {}, `and ${rest} more steps`) : "", root];
  };
  const explain = () => {
    const p = state.port;
    if (p < 0) return;
    const { at, list } = waitersNow();
    const own = list.filter((w) => w[0] === p);
    // The instant of what is shown here, so that the command says the same. Real frames do not come again.
    const then = own.length ? at : course ? course.times[state.look] : data.end_ps;
    const rest = data.real ? "" : el("p.note", {}, "The whole chain from the run repeated, with each buffer as it was when its port was stopped: ", command(p, then));
    const answer = el("div", { id: "explained" });
    if (data.served && !data.real) rest.append(" ", el("button", { type: "button", onclick: () => fetchExplanation(p, then, answer) }, "run it here"));
    if (!own.length) {
      chain.replaceChildren(el("p", {}, !course ? "Waiting ports were not noted in the course of this run." : `At ${time(then, 4)} flow control neither stops it nor slows it down while its far end holds frames of it.`), rest, answer);
      return;
    }
    chain.replaceChildren(el("p.note", {}, `As it stood at ${time(at, 4)}, the buffers too.`), ...own.flatMap((w) => chainOf(list, w)), rest, answer);
  };
  const fetchExplanation = async (p, then, into) => {
    into.replaceChildren(el("p.note", {}, "The run is repeated up to then ..."));
    const answer = await fetch(`api/explain?port=${encodeURIComponent(names[p])}&at_ps=${then}`);
    into.replaceChildren(el("pre", {}, await answer.text()));
  };
  const tree = el("div.tree", { id: "tree" });
  const drawTree = () => {
    const { at, look, list } = waitersNow();
    if (!list.length) {
      tree.replaceChildren(el("p", {}, course ? `At ${time(course.times[state.look], 4)} flow control stops or slows down no port whose far end holds frames of it.` : "Waiting ports were not noted in the course of this run."));
      return;
    }
    // A place is a port and a priority: what waits for one of its priorities is another tree than what waits for another.
    const place = (port, priority) => port * 8 + priority;
    const portOf = (k) => Math.floor(k / 8);
    const waits = new Map(list.map((w) => [place(w[0], w[1]), w]));
    const parent = new Map(list.filter((w) => w[3].length).map((w) => [place(w[0], w[1]), place(sums(w[3], 0)[0][0], w[1])]));
    const children = new Map();
    for (const [child, p] of parent) children.set(p, [...(children.get(p) || []), child]);
    const total = (p, seen = new Set()) => (seen.has(p) ? 0 : (seen.add(p), (children.get(p) || []).reduce((a, c) => a + total(c, seen), 1)));
    const shown = new Set();
    const LINES = 32;
    const name = (k) => (several(list) ? [portName(portOf(k)), ` priority ${k % 8}`] : [portName(portOf(k))]);
    const stateOf = (k) => {
      const w = waits.get(k);
      if (!w) return "free to send";
      const held = w[3].reduce((a, s) => a + s[2], 0);
      if (!held) return `stopped since ${time(w[2], 4)} by ${nodes.name[ports.node[ports.peer[w[0]]]]}, which holds nothing of it`;
      return w[2] === null ? `slowed down, ${bytes(held)} wait beyond it` : `stopped since ${time(w[2], 4)}, ${bytes(held)} wait beyond it`;
    };
    const draw = (p, depth) => {
      shown.add(p);
      const below = (children.get(p) || []).filter((c) => !shown.has(c));
      const room = Math.max(0, LINES - shown.size);
      return el("li", {}, name(p), " ", el("span.note", {}, stateOf(p)),
        below.length ? el("ul", {}, below.slice(0, room).map((c) => draw(c, depth + 1)), below.length > room ? el("li.note", {}, `and ${below.length - room} more`) : "") : "");
    };
    // Ports without a parent: those that others wait for, and those that are stopped with frames to send.
    const alone = list.filter((w) => !w[3].length && !children.has(place(w[0], w[1])) && of(course.egress, w[0], look) > 0);
    const roots = [...new Set([...parent.values()].filter((p) => !parent.has(p)))].sort((a, b) => total(b) - total(a));
    roots.push(...alone.map((w) => place(w[0], w[1])));
    const trees = roots.slice(0, 8).map((r) => el("ul.top", {}, draw(r, 0)));
    const rest = [...parent.keys()].filter((p) => !shown.has(p));
    const circles = [];
    for (const p of rest) {
      if (shown.has(p) || circles.length > 4) continue;
      let at = p;
      const way = [];
      while (at !== undefined && !way.includes(at)) (way.push(at), (at = parent.get(at)));
      if (at !== undefined && !shown.has(at)) circles.push(el("ul.top", {}, el("li.note", {}, "in a circle:"), draw(at, 0)));
    }
    if (!trees.length && !circles.length) {
      tree.replaceChildren(el("p", {}, `At ${time(at, 4)} no frame waits for a port that flow control stops.`));
      return;
    }
    tree.replaceChildren(el("p.note", {}, `As it stood at ${time(at, 4)}: below each port those whose frames wait for it.`), ...trees, ...circles, roots.length > 8 ? el("p.note", {}, `and ${roots.length - 8} smaller trees`) : "");
  };
  byId("waits").append(tree);

  // ---- deadlocks ----------------------------------------------------------------------------------------------------------------
  const drawDeadlocks = () => {
    const box = byId("deadlocks");
    if (!box) return;
    box.querySelectorAll("figure").forEach((f) => f.remove());
    data.deadlocks.slice(0, 4).forEach((d, k) => {
      const m = d.ports.length;
      // A box holds some 24 letters; the whole name stands in its title.
      const shortened = (text) => (text.length > 24 ? `${text.slice(0, 11)}…${text.slice(-12)}` : text);
      const half = Math.max(48, 4 + 3.4 * largest(d.ports.map((p) => shortened(names[p.port]).length)));
      // Few ports stand in a circle; many in rows, of which every other one runs back, with the last arrow round the left edge.
      const ROUND = 8;
      const columns = 4;
      const [w, h, r] = m <= ROUND ? [460, 300, 108] : [columns * (2 * half + 40) + 20, 0, 0];
      const inRow = (i) => (Math.floor(i / columns) % 2 ? columns - 1 - (i % columns) : i % columns);
      const spot = (i) => (m <= ROUND
        ? [w / 2 + r * 1.25 * Math.sin((2 * Math.PI * i) / m) * 1.15, h / 2 - r * Math.cos((2 * Math.PI * i) / m)]
        : [30 + half + inRow(i) * (2 * half + 40), Math.floor(i / columns) * 56]);
      const ink = colour("bad-line");
      const id = `tip${k}`;
      const shown = Math.min(m, 40);
      const edges = Array.from({ length: shown }, (_, i) => {
        if (m > ROUND && i === shown - 1) {
          const [[ax, ay], [bx, by]] = [spot(i), spot(0)];
          return svg("path", { d: `M${ax} ${ay + 14}V${ay + 30}H6V${by}H${bx - half - 4}`, fill: "none", stroke: ink, "stroke-width": 2.2, "stroke-dasharray": shown < m ? "5 4" : "none", "marker-end": `url(#${id})` });
        }
        const [[ax, ay], [bx, by]] = [spot(i), spot((i + 1) % m)];
        const [dx, dy] = [bx - ax, by - ay];
        const cut = (x, y) => Math.min((half + 4) / Math.abs(x || 1e-9), 18 / Math.abs(y || 1e-9));
        const c = m > 1 ? Math.min(0.42, cut(dx, dy)) : 0;
        return svg("line", { x1: ax + dx * c, y1: ay + dy * c, x2: bx - dx * c, y2: by - dy * c, stroke: ink, "stroke-width": 2.2, "marker-end": `url(#${id})` });
      });
      const boxes = d.ports.slice(0, shown).map((p, i) => {
        const [x, y] = spot(i);
        const g = svg("g", { cursor: "pointer", onclick: () => choose(p.port) },
          svg("rect", { x: x - half, y: y - 14, width: 2 * half, height: 28, rx: 5, fill: colour("soft"), stroke: ink }),
          svg("text", { x, y: y + 4, "text-anchor": "middle", "font-size": 12, fill: colour("fg"), "font-family": "system-ui, sans-serif" }, shortened(names[p.port])),
          svg("title", {}, `${names[p.port]}: ${bytes(p.bytes)} wait since ${time(p.since_ps, 6)}, priority ${p.priority}`));
        return g;
      });
      const heights = d.ports.slice(0, shown).map((_, i) => spot(i)[1]);
      const [top, bottom] = [smallest(heights) - 24, largest(heights) + (m > ROUND ? 40 : 24)];
      const drawing = svg("svg", { viewBox: `0 ${top} ${w} ${bottom - top}`, width: w, xmlns: "http://www.w3.org/2000/svg", role: "img", "aria-label": "The cycle of the deadlock" },
        svg("defs", {}, svg("marker", { id, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0L10 5L0 10z", fill: ink }))), edges, boxes);
      const rows = d.ports.map((p, i) => [i, names[p.port], p.priority, p.frames, p.bytes, p.since_ps]);
      const get = [["SVG", () => save("deadlock.svg", "image/svg+xml", new XMLSerializer().serializeToString(drawing))],
        ["CSV", () => save("deadlock.csv", "text/csv", csv(["position", "port", "priority", "frames", "bytes", "blocked_since_ps"], rows))]];
      const heading = el("h3", {}, `Cycle of ${m} ports, closed at ${time(d.closed_ps, 6)}`);
      box.append(el("figure.cycle", {}, el("div.bar", {}, heading, tools(get)), drawing,
        el("figcaption.note", {}, `Each port waits for the next one. Found at ${time(d.seen_ps, 6)}; ${count(d.stuck)} ports can never send again.${m > shown ? ` ${m - shown} more ports are in the CSV.` : ""}`)));
    });
  };
  onTheme(drawDeadlocks);

  // ---- the whole network in the course of time ----------------------------------------------------------------------------------
  let overview = null;
  const wholeNetwork = () => {
    const total = (f) => Array.from({ length: looks }, (_, i) => {
      let sum = 0;
      for (let p = 0; p < n; p++) sum += f(p, i);
      return sum;
    });
    const fromHost = Array.from({ length: n }, (_, p) => nodes.host[ports.node[p]]);
    const toHost = Array.from({ length: n }, (_, p) => nodes.host[ports.node[ports.peer[p]]]);
    const sent = (which) => total((p, i) => (which[p] ? rateAt(p, i) : 0));
    return [
        { name: "sent by hosts", x: xsTime, y: sent(fromHost), shape: "vh", hover: "%{y:.4s}b/s" },
        { name: "sent to hosts", x: xsTime, y: sent(toHost), shape: "vh", dash: "dash", hover: "%{y:.4s}b/s" },
        { name: "stopped for part of the interval", axis: 1, x: xsTime, y: total((p, i) => of(course.stopped, p, i) > 0), shape: "vh", colour: "orange", fill: true, hover: "%{y}" },
        { name: "in all ingress buffers", axis: 2, x: xsTime, y: total((p, i) => of(course.ingress, p, i)), shape: "vh", colour: "purple", hover: "%{y:.4s}B" },
    ];
  };
  if (course || data.live) {
    overview = xoff.charts.chart({
      name: "network-time", title: "The network in the course of time", x: timeAxis, height: 430, click: (point) => go(lookAt(point.x * unitPs)),
      y: [{ title: "Rate [b/s]" }, { title: "Stopped ports" }, { title: "Ingress buffers [B]" }],
      note: "Drag over it to zoom, double-click to see all; the axis of the chosen port follows. Click to move the slider.",
      series: course ? wholeNetwork() : [],
    });
    overview.shapes = cursor();
    byId("overview").append(overview.element);
  } else byId("overview").closest("section").remove();
  changed.push((what) => {
    if (what !== "port") {
      overview?.mark(cursor());
      if (state.port >= 0) portChart.mark(cursor());
      explain();
    }
    drawTree();
  });

  // ---- flows --------------------------------------------------------------------------------------------------------------------
  let flows = data.flows;
  const cdfs = [];
  if (flows.fct.x.length) {
    const ended = flows.unfinished ? ` The curve ends below 1: ${count(flows.unfinished)} of ${count(flows.sized)} flows are not finished.` : "";
    const [per, unit] = [[1e12, "s"], [1e9, "ms"], [1e6, "us"], [1e3, "ns"]].find(([ps]) => flows.fct.x[flows.fct.x.length - 1] >= 2 * ps) || [1e3, "ns"];
    cdfs.push(xoff.charts.chart({ name: "fct-cdf", title: "Flow completion times", x: { title: `Completion time [${unit}]`, log: flows.fct.x[flows.fct.x.length - 1] > 20 * flows.fct.x[0], csv: `completion_${unit}` }, hovermode: "closest",
      y: [{ title: "Share of flows", range: [0, 1.02] }], height: 300, note: `Share of the flows with a size that are complete within a time.${ended}`,
      series: [{ name: "flows", x: Array.from(flows.fct.x, (t) => t / per), y: flows.fct.y, shape: "hv", hover: `%{y:.1%} within %{x:.4r} ${unit}` }] }));
  }
  if (flows.slowdown.x.length && flows.sizes.length === 1) {
    cdfs.push(xoff.charts.chart({ name: "slowdown-cdf", title: "Slowdown", x: { title: "Slowdown", csv: "slowdown" }, hovermode: "closest",
      y: [{ title: "Share of flows", range: [0, 1.02] }], height: 300, note: "Completion time over that of the same flow alone in the network.",
      series: [{ name: "flows", x: flows.slowdown.x, y: flows.slowdown.y, shape: "hv", colour: "green", hover: "%{y:.1%} at most %{x:.3r}" }] }));
  } else if (flows.sizes.length) {
    const x = flows.sizes.map((s) => s.mean);
    // The first one is the widest: where they are equal, each shows behind the next.
    // Of sizes of which no flow finished there is no point: a bound says nothing then. Triangles are bounds.
    const symbols = (symbol) => flows.sizes.map((s) => (s.unfinished ? "triangle-up-open" : symbol));
    const line = (key, name, symbol, width, size) => ({ name, x, y: flows.sizes.map((s) => (s.unfinished < s.flows ? s[key] : null)), mode: "lines+markers", symbol: symbols(symbol), width, size, hover: `${name} %{y:.3r}` });
    const open = flows.sizes.reduce((a, s) => a + s.unfinished, 0);
    cdfs.push(xoff.charts.chart({ name: "slowdown", title: "Slowdown by size of flow", x: { title: "Size of flow [B]", log: true, csv: "bytes" },
      y: [{ title: "Slowdown", log: true, csv: open ? "slowdown_at_least" : "slowdown" }], height: 300,
      note: `Completion time over that of the same flow alone.${open ? ` ${count(open)} unfinished flows count with their age: where there are some, values are lower bounds (triangles), and where no flow finished there is no point.` : ""}`,
      series: [line("p50", "median", "circle-open", 5, 16), line("p95", "95th percentile", "square-open", 3, 11), line("p99", "99th percentile", "diamond", 1.2, 5)] }));
  }
  const share100 = (s) => el("span", { title: "lower bound: unfinished flows count with their age" }, s);
  const size = (b) => (b === null ? "unlimited" : bytes(b));
  if (flows.sizes.length) {
    const rows = flows.sizes.map((s) => el("tr", {}, [s.from === s.to ? bytes(s.from) : `${bytes(s.from)} to ${bytes(s.to)}`, count(s.flows), count(s.unfinished), ...["p50", "p95", "p99"].map((k) => (s.unfinished ? share100(`≥ ${s[k].toPrecision(3)}`) : s[k].toPrecision(3)))]
      .map((v, i) => el("td", { class: i ? "right" : undefined }, v))));
    byId("sizes").append(el("div.scroll", {}, el("table", {}, el("thead", {}, el("tr", {}, ["Size", "Flows", "Unfinished", "Median", "p95", "p99"].map((h, i) => el("th", { scope: "col", class: i ? "right" : undefined }, h)))), el("tbody", {}, rows))));
  }
  cdfs.forEach((c) => byId("cdfs").append(c.element));
  const flowTable = table([
    { name: "Flow", csv: "flow", value: (f) => f[0], right: true },
    { name: "From", csv: "from", value: (f) => nodes.name[f[1]] }, { name: "To", csv: "to", value: (f) => nodes.name[f[2]] },
    { name: "Size", csv: "size_bytes", value: (f) => f[3], show: (f) => size(f[3]), right: true },
    { name: "Delivered", csv: "delivered_bytes", value: (f) => f[4], show: (f) => bytes(f[4]), right: true },
    { name: "Start", csv: "start_ps", value: (f) => f[5], show: (f) => time(f[5], 4), right: true },
    { name: "Completion time", csv: "completion_ps", value: (f) => f[6], order: (f) => (f[6] === null && f[3] !== null ? Infinity : f[6]), show: (f) => (f[6] === null ? el("span.badge.caution", {}, f[3] === null ? "no end" : "unfinished") : time(f[6], 4)), right: true },
    { name: "Slowdown", csv: "slowdown", value: (f) => f[7], order: (f) => (f[6] === null && f[3] !== null ? Infinity : f[7]), show: (f) => (f[7] === null ? "-" : f[7].toPrecision(3)), right: true },
  ], () => flows.list, { name: "flows", sort: 7, shown: 10 });
  byId("flows").append(flowTable.element);

  // ---- ranks of jobs ------------------------------------------------------------------------------------------------------------
  // The network beside the ranks: ports that flow control held back, or where it held none, what all hosts send.
  const together = (i) => {
    let sum = 0;
    for (let p = 0; p < n; p++) {
      if (acted) sum += Math.max(of(course.stopped, p, i), 10000 - of(course.limit, p, i)) / 1e4;
      else if (nodes.host[ports.node[p]]) sum += rateAt(p, i);
    }
    return sum;
  };
  let ranks = null;
  if (data.jobs.length) {
    ranks = xoff.jobs(data, {
      at: () => (course ? course.times[state.look] : null), go: (ps) => course && go(lookAt(ps)),
      choose: (port, ps) => (course && go(lookAt(ps)), choose(port)), portName: (p) => names[p],
      network: course ? { name: acted ? "ports stopped" : "sent by all", times: course.times, values: Array.from(course.times, (_, i) => (i ? together(i) : 0)) } : null,
    });
    byId("jobs").append(ranks.element);
    changed.push(ranks.mark);
  }

  // ---- ports --------------------------------------------------------------------------------------------------------------------
  const all = Array.from({ length: n }, (_, p) => p);
  const stopped = (p) => Math.max(totals.pause_ps[p], totals.hold_ps[p]);
  const portTable = table([
    { name: "Port", csv: "port", value: (p) => names[p], show: (p) => portName(p) },
    { name: "Utilisation", csv: "utilisation_share", value: (p) => usedOfAll(p), show: (p) => percent(usedOfAll(p)), right: true },
    { name: "Sent", csv: "sent_bytes", value: (p) => totals.tx[p], show: (p) => bytes(totals.tx[p]), right: true },
    { name: "Pauses", csv: "pauses", value: (p) => totals.pauses[p], show: (p) => count(totals.pauses[p]), right: true },
    { name: "Stopped", csv: "stopped_share", value: (p) => stoppedOfAll(p), order: stopped, show: (p) => percent(stoppedOfAll(p)), right: true },
    { name: "Largest queue", csv: "largest_queue_bytes", value: (p) => totals.egress_max[p], show: (p) => bytes(totals.egress_max[p]), right: true },
    { name: "Largest buffer at far end", csv: "largest_buffer_bytes", value: (p) => totals.ingress_max[p], show: (p) => bytes(totals.ingress_max[p]), right: true },
    { name: "Marked CE", csv: "marked_ce_frames", value: (p) => totals.marked[p], show: (p) => count(totals.marked[p]), right: true },
    ...(largest(totals.marked_ue, 0) > 0 ? [{ name: "Marked UE", csv: "marked_ue_frames", value: (p) => totals.marked_ue[p], show: (p) => count(totals.marked_ue[p]), right: true }] : []),
  ], () => all, { name: "ports", sort: all.some((p) => stopped(p)) ? 4 : 1, shown: 12, pick: (p) => choose(p), mark: (p) => p === state.port });
  byId("ports").append(portTable.element);

  // ---- first paint, then the charts ---------------------------------------------------------------------------------------------
  if (course) {
    const deadlock = data.deadlocks[0];
    const most = () => {
      let [best, where] = [-1, looks - 1];
      for (let i = 0; i < looks; i++) {
        let sum = 0;
        for (let p = 0; p < n; p++) sum += acted ? of(course.stopped, p, i) + (10000 - of(course.limit, p, i)) : rateAt(p, i);
        if (sum > best) [best, where] = [sum, i];
      }
      return where;
    };
    go(deadlock ? lookAt(deadlock.closed_ps) : most());
  } else drawTree();
  // What a reader would look at first: a port of the deadlock, the one that was stopped longest, or the busiest.
  const worst = (of) => all.reduce((a, b) => (of(b) > of(a) ? b : a), 0);
  if (n) choose(data.deadlocks.length ? data.deadlocks[0].ports[0].port : all.some(stopped) ? worst(stopped) : worst((p) => totals.tx[p] / ports.rate[p]));
  document.documentElement.dataset.painted = String(Math.round(performance.now()));
  const start = async () => {
    await Promise.all([overview?.draw(), ...cdfs.map((c) => c.draw())]);
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
  };
  requestAnimationFrame(() => setTimeout(start, 0));
  // ---- a run that goes on -------------------------------------------------------------------------------------------------------
  const ended = (why) => {
    const badge = document.querySelector(".headline .badge");
    badge.textContent = why;
    badge.className = "badge neutral";
  };
  const refresh = async () => {
    let answer;
    try {
      answer = await fetch("api/data");
    } catch {
      return ended("the run has ended; this is what there was last");
    }
    setTimeout(refresh, 1000);
    if (!answer.ok) return;
    const sent = await answer.json();
    const follows = state.look >= looks - 1;
    data = xoff.unpack(sent.data, await xoff.inflateText(sent.packed));
    [totals, course, flows] = [data.totals, data.course, data.flows];
    looks = course ? course.times.length : 0;
    xsTime = course ? Array.from(course.times, (t) => t / unitPs) : [];
    queueMax = largestQueue();
    xoff.cards(document.querySelector(".cards"), data.facts);
    if (course) {
      overview.set({ series: wholeNetwork() });
      go(follows ? looks - 1 : lookAt((slider.value / 1000) * course.times[looks - 1]));
      if (state.port >= 0) choose(state.port);
    }
    drawLegend();
    drawDeadlocks();
    portTable.draw();
    flowTable.draw();
  };
  if (data.live) refresh();
  // For tests, and for a console.
  return { data, state, names, choose, go, net, lookAt, ranks };
};
