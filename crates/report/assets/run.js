// @ts-check
// The report of a run: the network over time, the chosen port, deadlocks, pause trees, flows and ports. The other scripts draw its parts.
"use strict";
// Data and state that all parts share. Columns lie port by port: the value of port p at sample i is column[p * samples + i].
xoff.runState = (data) => {
  const { quoted, largest, time } = xoff;
  /** @type {Partial<Run>} */
  const start = { data, state: { sample: 0, metric: "rate", port: -1 }, changed: [] };
  const run = /** @type {Run} */ (start);
  const n = data.ports.node.length;
  run.over = () => /** @type {Course} */ (run.course);
  run.load = (next) => {
    run.data = next;
    run.totals = next.totals;
    run.course = next.course;
    run.samples = next.course ? next.course.times.length : 0;
    run.xs = next.course ? Array.from(next.course.times, (t) => t / run.unitPs) : [];
    run.queueMax = largest(run.totals.ingress_max, largest(run.totals.egress_max, 1));
  };
  [run.unitPs, run.unit] = data.live || data.end_ps >= 2e12 ? [1e12, "s"] : data.end_ps >= 2e9 ? [1e9, "ms"] : data.end_ps >= 2e6 ? [1e6, "us"] : [1e3, "ns"];
  run.load(data);
  run.timeAxis = { title: `Time [${run.unit}]`, time: true, csv: `time_${run.unit}` };
  run.count = n;
  run.names = Array.from({ length: n }, (_, p) => `${data.nodes.name[data.ports.node[p]]}->${data.nodes.name[data.ports.node[data.ports.peer[p]]]}${data.ports.suffix[p] || ""}`);
  run.peer = (p) => data.nodes.name[data.ports.node[data.ports.peer[p]]];
  run.typed = (p) => quoted(run.names[p].includes("#") ? run.names[p] : run.names[p].replace("->", ":"));
  run.portName = (p) => xoff.el("button.port", { type: "button", onclick: () => run.choose(p) }, run.names[p]);
  // Without an action of flow control the links show their load.
  run.acted = largest(run.totals.pauses, 0) + largest(run.totals.blocks, 0) > 0 || !!data.course?.limit.some((l) => l < 10000);
  if (run.acted || data.live) run.state.metric = "stopped";

  run.of = (column, p, i) => column[p * run.samples + i];
  run.seriesOf = (column, p, f) => Array.from({ length: run.samples }, (_, i) => f(run.of(column, p, i), i));
  // Mean rate of a port since the previous sample, and its share of the line rate.
  run.rateAt = (p, i) => (i > 0 ? (run.of(run.over().sent, p, i) * 8e12) / (run.over().times[i] - run.over().times[i - 1]) : 0);
  /** @param {number} part @param {number} whole */
  const share = (part, whole) => (whole > 0 ? part / whole : 0);
  run.used = (p, i) => Math.min(1, run.rateAt(p, i) / data.ports.rate[p]);
  // Times of several priorities are added up and may exceed the run.
  run.pausedPs = (p) => Math.max(run.totals.paused_ps[p], run.totals.blocked_ps[p]);
  run.pausedOfAll = (p) => Math.min(1, share(run.pausedPs(p), run.data.end_ps));
  // A frame counts when it starts: in a short run the last one would give more than 100 %.
  run.usedOfAll = (p) => Math.min(1, share(run.totals.tx[p] * 8e12, run.data.end_ps * data.ports.rate[p]));
  run.sampleAt = (ps) => {
    let [low, high] = [0, run.samples - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (run.over().times[middle] < ps) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  run.cursor = () => (run.course ? [{ type: "line", xref: "x", yref: "paper", x0: run.xs[run.state.sample], x1: run.xs[run.state.sample], y0: 0, y1: 1, line: { width: 1.2, dash: "dot" }, colour: "accent" }] : []);
  run.interval = () => {
    const i = run.state.sample;
    return i > 0 ? `mean of ${time(run.over().times[i] - run.over().times[i - 1], 3)}` : "start";
  };
  return run;
};

// What the colour of a link can show, and a port in words.
xoff.runMetrics = (run) => {
  const { bytes, rate, percent, time } = xoff;
  const { state, of } = run;
  /** @param {number} p @param {number} i */
  const held = (p, i) => Math.max(of(run.over().stopped, p, i), 10000 - of(run.over().limit, p, i)) / 1e4;
  /** @param {number} p */
  const queue = (p) => (run.course ? Math.max(of(run.course.egress, p, state.sample), of(run.course.ingress, p, state.sample)) : Math.max(run.totals.egress_max[p], run.totals.ingress_max[p]));
  run.metrics = {
    stopped: {
      label: "Flow control",
      ink: "orange",
      value: (p) => (run.course ? held(p, state.sample) : run.pausedOfAll(p)),
      legend: () => ["free to send", run.course ? "paused all the time, or rate-limited to zero" : "paused all the time, whole run"],
    },
    rate: {
      label: "Utilisation",
      ink: "blue",
      value: (p) => (run.course ? run.used(p, state.sample) : run.usedOfAll(p)),
      legend: () => ["idle", "line rate"],
    },
    queue: {
      label: "Queue",
      ink: "purple",
      value: (p) => queue(p) / run.queueMax,
      legend: () => ["empty", `${bytes(run.queueMax)}, the largest of the run`],
    },
  };
  run.words = (p) => {
    const { names, course } = run;
    const line = run.data.ports.rate[p];
    if (!course) return `${names[p]}: ${bytes(run.totals.tx[p])} sent, paused for ${time(run.pausedPs(p), 3)}`;
    const i = state.sample;
    const parts = [`${names[p]}: ${rate(Math.min(run.rateAt(p, i), line))} of ${rate(line)}`];
    if (of(course.stopped, p, i)) parts.push(`paused ${percent(of(course.stopped, p, i) / 1e4)} of the interval`);
    if (of(course.limit, p, i) < 10000 && of(course.limit, p, i) > 0) parts.push(`limited to ${rate((of(course.limit, p, i) / 1e4) * line)}`);
    parts.push(`egress queue ${bytes(of(course.egress, p, i))}, ingress buffer of ${run.peer(p)} ${bytes(of(course.ingress, p, i))}`);
    return parts.join("; ");
  };
};

// The network, its legend, the slider.
xoff.runNetwork = (run) => {
  const { el, byId, time, onTheme } = xoff;
  const { data, state } = run;
  const inCycle = () => {
    const now = run.course ? run.course.times[state.sample] : run.data.end_ps;
    return run.data.deadlocks.filter((d) => d.start_ps <= now).flatMap((d) => d.ports.map((p) => p.port));
  };
  const hosts = data.nodes.host.reduce((a, h) => a + h, 0);
  run.net = xoff.network({ nodes: data.nodes, ports: data.ports, tiers: data.tiers, hosts }, {
    value: (p) => run.metrics[state.metric].value(p), ink: () => run.metrics[state.metric].ink, tooltip: run.words, pick: (p) => run.choose(p), cycles: inCycle, name: "network",
  });
  const still = run.samples < 2 && !data.live;
  const now = el("output", { id: "now" });
  const slider = el("input", { type: "range", id: "time", min: 0, max: 1000, value: 0, "aria-label": "Time in the run", disabled: still });
  const end = () => run.over().times[run.samples - 1];
  run.fromSlider = () => run.sampleAt((slider.value / 1000) * end());
  run.go = (sample, fromSlider) => {
    if (!run.course) return;
    state.sample = Math.max(0, Math.min(run.samples - 1, sample));
    const at = run.course.times[state.sample];
    if (!fromSlider) slider.value = Math.round((1000 * at) / (end() || 1));
    now.textContent = `${time(at, 4)} · ${run.interval()}`;
    slider.setAttribute("aria-valuetext", time(at, 4));
    run.net.draw();
    run.changed.forEach((f) => f());
  };
  slider.addEventListener("input", () => run.go(run.fromSlider(), true));
  const legend = el("div.legend");
  run.drawLegend = () => {
    const [low, high] = run.metrics[state.metric].legend();
    legend.replaceChildren(el("span", {}, low), el("i", { style: `background:linear-gradient(90deg, ${run.net.scheme().join(",")})` }), el("span", {}, high),
      run.data.deadlocks.length ? el("span.cycle", {}, "deadlock") : "");
  };
  const choices = el("div.choices", { role: "radiogroup", "aria-label": "Colour of the links" },
    Object.entries(run.metrics).map(([key, m]) => el("button", { type: "button", role: "radio", "data-metric": key, "aria-checked": String(key === state.metric) }, m.label)));
  for (const button of choices.children) {
    button.addEventListener("click", () => {
      state.metric = button.dataset.metric;
      for (const b of choices.children) b.setAttribute("aria-checked", String(b === button));
      run.net.recolour();
      run.drawLegend();
    });
  }
  onTheme(() => queueMicrotask(run.drawLegend));
  const note = run.course || data.live ? "Each line is one direction of a link, on the right of its path. Click a link or a node. Zoom with Shift and the wheel, two fingers, or + and −." : data.left_out.join(" ");
  byId("network").append(el("div.bar", {}, choices, run.net.tools), run.net.element, legend, el("div.time", {}, xoff.runPlay(run, still), slider, now), el("p.note", {}, note));
};

// The button that plays the run.
xoff.runPlay = (run, still) => {
  let playing = 0;
  const play = xoff.el("button.play", { type: "button", id: "play", title: "Play", disabled: still }, "▶");
  const start = () => {
    const [from, began] = [run.state.sample >= run.samples - 1 ? 0 : run.state.sample, performance.now()];
    const seconds = Math.min(20, Math.max(5, run.samples / 20));
    /** @param {number} t */
    const step = (t) => {
      const sample = from + Math.floor(((t - began) / 1000 / seconds) * run.samples);
      run.go(sample);
      playing = sample < run.samples - 1 ? requestAnimationFrame(step) : 0;
      if (!playing) play.textContent = "▶";
    };
    playing = requestAnimationFrame(step);
  };
  play.addEventListener("click", () => {
    if (playing) {
      cancelAnimationFrame(playing);
      playing = 0;
    } else start();
    play.textContent = playing ? "❚❚" : "▶";
  });
  return play;
};

// Rates, paused ports and buffers of the whole network.
xoff.runOverview = (run) => {
  const { byId } = xoff;
  const { nodes, ports } = run.data;
  const series = () => {
    /** @param {(port: number, sample: number) => number} f */
    const total = (f) => Array.from({ length: run.samples }, (_, i) => {
      let sum = 0;
      for (let p = 0; p < run.count; p++) sum += f(p, i);
      return sum;
    });
    const fromHost = Array.from({ length: run.count }, (_, p) => nodes.host[ports.node[p]]);
    const toHost = Array.from({ length: run.count }, (_, p) => nodes.host[ports.node[ports.peer[p]]]);
    /** @param {number[]} which */
    const sent = (which) => total((p, i) => (which[p] ? run.rateAt(p, i) : 0));
    return [
      { name: "sent by hosts", x: run.xs, y: sent(fromHost), shape: "vh", hover: "%{y:.4s}b/s" },
      { name: "sent to hosts", x: run.xs, y: sent(toHost), shape: "vh", dash: "dash", hover: "%{y:.4s}b/s" },
      { name: "paused ports", axis: 1, x: run.xs, y: total((p, i) => Number(run.of(run.over().stopped, p, i) > 0)), shape: "vh", colour: "orange", fill: true, hover: "%{y}" },
      { name: "all ingress buffers", axis: 2, x: run.xs, y: total((p, i) => run.of(run.over().ingress, p, i)), shape: "vh", colour: "purple", hover: "%{y:.4s}B" },
    ];
  };
  if (!run.course && !run.data.live) {
    byId("overview").closest("section").remove();
    return null;
  }
  const chart = xoff.charts.chart({
    name: "network-time", title: "The network over time", x: run.timeAxis, height: 430, click: (point) => run.go(run.sampleAt(point.x * run.unitPs)),
    y: [{ title: "Rate [b/s]" }, { title: "Paused ports" }, { title: "Ingress buffers [B]" }],
    note: "A port counts as paused if it was paused during a part of the interval. Drag to zoom, double-click to see all: the chart of the port follows. A click moves the slider.",
    series: run.course ? series() : [],
  });
  chart.shapes = run.cursor();
  byId("overview").append(chart.element);
  run.changed.push((what) => what !== "port" && chart.mark(run.cursor()));
  return { chart, refresh: () => chart.set({ series: series() }) };
};

// Ranks of training jobs, with the network below them.
xoff.runRanks = (run) => {
  if (!run.data.jobs.length) return null;
  const { course, acted } = run;
  const { nodes, ports } = run.data;
  // Ports that flow control holds back, or without any the rate of all hosts.
  /** @param {number} i */
  const together = (i) => {
    let sum = 0;
    for (let p = 0; p < run.count; p++) {
      if (acted) sum += Math.max(run.of(run.over().stopped, p, i), 10000 - run.of(run.over().limit, p, i)) / 1e4;
      else if (nodes.host[ports.node[p]]) sum += run.rateAt(p, i);
    }
    return sum;
  };
  const ranks = xoff.jobs(run.data, {
    at: () => (course ? course.times[run.state.sample] : null), go: (ps) => course && run.go(run.sampleAt(ps)),
    choose: (port, ps) => (course && run.go(run.sampleAt(ps)), run.choose(port)), portName: (p) => run.names[p],
    network: course ? { name: acted ? "paused ports" : "sent by all", times: course.times, values: Array.from(course.times, (_, i) => (i ? together(i) : 0)) } : null,
  });
  xoff.byId("jobs").append(ranks.element);
  run.changed.push(ranks.mark);
  return ranks;
};

// Where the report starts: at the deadlock, or at the sample at which flow control (or the load) was strongest.
xoff.runStart = (run) => {
  const { course, totals } = run;
  const strongest = () => {
    let [best, where] = [-1, run.samples - 1];
    for (let i = 0; i < run.samples; i++) {
      let sum = 0;
      for (let p = 0; p < run.count; p++) sum += run.acted ? run.of(run.over().stopped, p, i) + (10000 - run.of(run.over().limit, p, i)) : run.rateAt(p, i);
      if (sum > best) [best, where] = [sum, i];
    }
    return where;
  };
  const deadlock = run.data.deadlocks[0];
  if (course) run.go(deadlock ? run.sampleAt(deadlock.start_ps) : strongest());
  else run.drawTree();
  if (!run.count) return;
  const all = Array.from({ length: run.count }, (_, p) => p);
  /** @param {(port: number) => number} of */
  const worst = (of) => all.reduce((a, b) => (of(b) > of(a) ? b : a), 0);
  run.choose(deadlock ? deadlock.ports[0].port : all.some(run.pausedPs) ? worst(run.pausedPs) : worst((p) => totals.tx[p] / run.data.ports.rate[p]));
};

// Asks the server of a live run for its data once a second.
xoff.runLive = (run, redraw) => {
  const refresh = async () => {
    let answer;
    try {
      answer = await fetch("api/data");
    } catch {
      const verdict = /** @type {HTMLElement} */ (document.querySelector("h1"));
      verdict.textContent = "the run has ended; these are its last data";
      verdict.className = "verdict neutral";
      return;
    }
    setTimeout(refresh, 1000);
    if (answer.status !== 200) return;
    const sent = await answer.json();
    const follows = run.state.sample >= run.samples - 1;
    run.load(xoff.unpack(sent.data, await xoff.inflateText(sent.packed)));
    redraw(follows);
  };
  refresh();
};

xoff.run = async () => {
  const data = await xoff.data();
  xoff.subject = data.subject;
  const run = xoff.runState(data);
  xoff.runMetrics(run);
  xoff.runNetwork(run);
  const overview = xoff.runOverview(run);
  xoff.runPort(run);
  xoff.runTrees(run);
  xoff.runDeadlocks(run);
  const flows = xoff.runFlows(run);
  const ranks = xoff.runRanks(run);
  run.portTable = xoff.runPorts(run);
  xoff.runStart(run);
  document.documentElement.dataset.painted = String(Math.round(performance.now()));
  const charts = async () => {
    await Promise.all([overview?.chart.draw(), ...flows.charts.map((c) => c.draw())]);
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
  };
  requestAnimationFrame(() => setTimeout(charts, 0));
  if (data.live) {
    xoff.runLive(run, (follows) => {
      xoff.cards(/** @type {Element} */ (document.querySelector(".cards")), run.data.facts);
      if (run.course) {
        overview?.refresh();
        run.go(follows ? run.samples - 1 : run.fromSlider());
        if (run.state.port >= 0) run.choose(run.state.port);
      }
      run.drawLegend();
      run.drawDeadlocks();
      run.portTable?.draw();
      flows.table.draw();
    });
  }
  // For tests, and for a console.
  return { data, state: run.state, names: run.names, choose: run.choose, go: run.go, net: run.net, sampleAt: run.sampleAt, ranks };
};
