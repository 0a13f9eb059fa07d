// @ts-check
// The chosen port: why it waits, its counters, its course over time; and the table of all ports.
"use strict";
xoff.runPort = (run) => {
  const { el, byId, time, bytes, rate, percent, count, times, several } = xoff;
  const { data, state } = run;
  /** @param {number} p */
  const facts = (p) => {
    const t = run.totals;
    /** @param {number} n @param {number} ps */
    const sum = (n, ps) => (n ? `${times(n)}, ${time(ps, 3)} in total${ps > run.data.end_ps ? " over all priorities" : ""}` : "never");
    /** @type {[frames: number, code: string][]} */
    const codes = [[t.marked[p], "CE"], [t.marked_ue[p], "UE"]];
    const marks = codes.filter(([n]) => n).map(([n, code]) => `${count(n)} ${code}`);
    const rows = [
      ["Link rate", rate(data.ports.rate[p])],
      ["Sent", `${bytes(t.tx[p])}, utilisation ${percent(run.usedOfAll(p))}`],
      ["Paused", sum(t.pauses[p], t.paused_ps[p])],
      ["Blocked", sum(t.blocks[p], t.blocked_ps[p])],
      ["Egress queue, maximum", bytes(t.egress_max[p])],
      [`Ingress buffer of ${run.peer(p)}, maximum`, `${bytes(t.ingress_max[p])} (one priority)`],
      ["ECN-marked", marks.length ? marks.join(", ") : "none"],
      [`Dropped at ${run.peer(p)}`, t.dropped[p] ? several(t.dropped[p], "frame") : "none"],
    ];
    return el("dl.facts", {}, rows.map(([k, v]) => el("div", {}, el("dt", {}, k), el("dd", {}, v))));
  };
  const chart = xoff.charts.chart({
    name: "port", title: "Over time", x: run.timeAxis, y: [{ title: "Rate [b/s]" }, { title: "Buffers [B]" }, { title: "Paused [%]", range: [0, 105] }], height: 430,
    click: (point) => run.go(run.sampleAt(point.x * run.unitPs)),
  });
  /** @param {number} p */
  const lines = (p) => {
    const { xs } = run;
    const course = run.over();
    const line = data.ports.rate[p];
    const queue = { name: "egress queue", axis: 1, x: xs, y: run.seriesOf(course.egress, p, (b) => b), shape: "vh", colour: "green", hover: "%{y:.3s}B" };
    return [
      { name: "sent", x: xs, y: Array.from({ length: run.samples }, (_, i) => run.rateAt(p, i)), shape: "vh", hover: "%{y:.3s}b/s" },
      { name: "allowed by flow control", x: xs, y: run.seriesOf(course.limit, p, (l) => (l / 1e4) * line), shape: "hv", colour: "vermilion", dash: "dash", hover: "%{y:.3s}b/s" },
      ...(data.nodes.host[data.ports.node[p]] ? [] : [queue]),
      { name: `ingress buffer of ${run.peer(p)}`, axis: 1, x: xs, y: run.seriesOf(course.ingress, p, (b) => b), shape: "vh", colour: "purple", dash: "dash", hover: "%{y:.3s}B" },
      { name: "paused", axis: 2, x: xs, y: run.seriesOf(course.stopped, p, (s) => s / 100), shape: "vh", colour: "orange", fill: true, hover: "%{y:.3r} %" },
    ];
  };
  /** @param {number} p */
  const note = (p) => {
    const marked = run.seriesOf(run.over().marked, p, (m) => m).reduce((a, b) => a + b, 0);
    return `Rates and pauses are means between two samples, buffers are values at a sample. A frame counts when it starts, so a short interval can exceed the link rate.${marked ? ` ECN-marked, CE and UE: ${several(marked, "frame")}.` : ""}`;
  };
  const chain = el("div.chain", { id: "chain" });
  const panel = el("div", { id: "panel", hidden: true });
  const title = el("span", { id: "port-name" });
  const detail = el("div");
  panel.append(el("h3", {}, "Why it waits"), chain, detail, chart.element);
  const hint = el("p.note", { id: "no-port" }, "No port is chosen. Click a link in the network or a row in the table of ports.");
  byId("port").querySelector("h2").append(" ", title);
  byId("port").append(hint, panel);

  const recorded = xoff.runRecorded(run, chart);
  chart.zoomed = recorded.fetch;
  const explain = () => state.port >= 0 && chain.replaceChildren(...xoff.runChain(run, state.port));
  run.choose = (p) => {
    state.port = p;
    run.net.select(p);
    hint.hidden = true;
    panel.hidden = false;
    title.textContent = run.names[p];
    detail.replaceChildren(facts(p));
    if (run.course) chart.set({ series: lines(p), shapes: run.cursor(), title: `${run.names[p]} over time`, note: note(p) });
    chart.element.hidden = !run.course;
    explain();
    run.portTable?.draw();
    run.changed.forEach((f) => f("port"));
    recorded.forget();
    recorded.fetch();
  };
  run.changed.push((what) => {
    if (what === "port") return;
    if (state.port >= 0) chart.mark(run.cursor());
    explain();
  });
};

// Values that the probes recorded of the port. The server sends them for the stretch of time on the screen.
xoff.runRecorded = (run, chart) => {
  let asked = "";
  const fetchAll = async () => {
    if (!run.data.served || run.state.port < 0) return;
    const [from, to] = (chart.range || [0, run.data.end_ps / run.unitPs]).map((t) => Math.max(0, Math.round(t * run.unitPs)));
    const question = `api/series?port=${encodeURIComponent(run.names[run.state.port])}&start_ps=${from}&end_ps=${to}`;
    if (question === asked) return;
    asked = question;
    const answer = await fetch(question);
    if (!answer.ok || question !== asked) return;
    const own = chart.series.filter((s) => !s.recorded);
    /**  */
    const lines = (await answer.json()).map((/** @type {{ name: string, kind: string, t: number[], v: number[] }} */ l) => ({
      name: `recorded: ${l.name}`, recorded: true, axis: l.kind === "rate" ? 0 : 1, x: l.t.map((t) => t / run.unitPs), y: l.v, width: 1, hover: l.kind === "rate" ? "%{y:.4s}b/s" : "%{y:.4s}B",
    }));
    chart.set({ series: [...own, ...lines] });
  };
  return { fetch: fetchAll, forget: () => (asked = "") };
};

xoff.runPorts = (run) => {
  const { byId, bytes, percent, count, largest, table } = xoff;
  const all = Array.from({ length: run.count }, (_, p) => p);
  /** @type {(key: Total) => (port: number) => number} */
  const total = (key) => (p) => run.totals[key][p];
  /** @param {string} name @param {string} csv @param {(port: number) => number} value @param {(value: number) => string} show @param {(port: number) => number} [order] */
  const column = (name, csv, value, show, order) => ({ name, csv, value, order, show: (/** @type {number} */ p) => show(value(p)), right: true });
  const ports = table([
    { name: "Port", csv: "port", value: (p) => run.names[p], show: run.portName },
    column("Utilisation", "utilisation_share", run.usedOfAll, percent),
    column("Sent", "sent_bytes", total("tx"), bytes),
    column("Pauses", "pauses", total("pauses"), count),
    column("Paused", "paused_share", run.pausedOfAll, percent, run.pausedPs),
    column("Egress queue, maximum", "egress_queue_max_bytes", total("egress_max"), bytes),
    column("Ingress buffer of the peer, maximum", "peer_ingress_max_bytes", total("ingress_max"), bytes),
    column("ECN-marked CE", "marked_ce_frames", total("marked"), count),
    ...(largest(run.totals.marked_ue, 0) > 0 ? [column("ECN-marked UE", "marked_ue_frames", total("marked_ue"), count)] : []),
  ], () => all, { name: "ports", sort: all.some(run.pausedPs) ? 4 : 1, shown: 12, pick: (p) => run.choose(p), mark: (p) => p === run.state.port });
  byId("ports").append(ports.element);
  return ports;
};
