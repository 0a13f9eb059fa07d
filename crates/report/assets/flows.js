// @ts-check
// Completion times and slowdown of flows, and their table.
"use strict";
xoff.completionChart = (flows) => {
  const { count, charts } = xoff;
  const { x, y } = flows.fct;
  const last = x[x.length - 1];
  const open = flows.unfinished ? ` The curve ends below 1: ${count(flows.unfinished)} of ${count(flows.sized)} flows are unfinished.` : "";
  /** @type {[ps: number, unit: string][]} */
  const UNITS = [[1e12, "s"], [1e9, "ms"], [1e6, "us"], [1e3, "ns"]];
  const [per, unit] = UNITS.find(([ps]) => last >= 2 * ps) || UNITS[3];
  return charts.chart({
    name: "fct-cdf", title: "Flow completion time", x: { title: `Completion time [${unit}]`, log: last > 20 * x[0], csv: `completion_${unit}` }, hovermode: "closest",
    y: [{ title: "Share of flows", range: [0, 1.02] }], height: 300, note: `Share of the flows with a size that complete within a time.${open}`,
    series: [{ name: "flows", x: Array.from(x, (t) => t / per), y, shape: "hv", hover: `%{y:.1%} within %{x:.4r} ${unit}` }],
  });
};

xoff.slowdownChart = (flows) => {
  const { count, charts } = xoff;
  if (flows.slowdown.x.length && flows.sizes.length === 1) {
    return charts.chart({
      name: "slowdown-cdf", title: "Slowdown", x: { title: "Slowdown", csv: "slowdown" }, hovermode: "closest",
      y: [{ title: "Share of flows", range: [0, 1.02] }], height: 300, note: "Completion time divided by that of the same flow alone in the network.",
      series: [{ name: "flows", x: flows.slowdown.x, y: flows.slowdown.y, shape: "hv", colour: "green", hover: "%{y:.1%} at most %{x:.3r}" }],
    });
  }
  if (!flows.sizes.length) return null;
  const x = flows.sizes.map((s) => s.mean);
  // The first line is the widest: where lines are equal, each shows behind the next. Triangles are lower bounds; a size without a finished
  // flow has no point.
  /** @param {string} symbol */
  const symbols = (symbol) => flows.sizes.map((s) => (s.unfinished ? "triangle-up-open" : symbol));
  /** @param {Quantile} key @param {string} name @param {string} symbol @param {number} width @param {number} size */
  const line = (key, name, symbol, width, size) => ({ name, x, y: flows.sizes.map((s) => (s.unfinished < s.flows ? s[key] : null)), mode: "lines+markers", symbol: symbols(symbol), width, size, hover: `${name} %{y:.3r}` });
  const open = flows.sizes.reduce((a, s) => a + s.unfinished, 0);
  return charts.chart({
    name: "slowdown", title: "Slowdown by flow size", x: { title: "Flow size [B]", log: true, csv: "bytes" },
    y: [{ title: "Slowdown", log: true, csv: open ? "slowdown_at_least" : "slowdown" }], height: 300,
    note: `Completion time divided by that of the same flow alone.${open ? ` ${count(open)} unfinished flows count with their age. Triangles are lower bounds. A size without a finished flow has no point.` : ""}`,
    series: [line("p50", "median", "circle-open", 5, 16), line("p95", "95th percentile", "square-open", 3, 11), line("p99", "99th percentile", "diamond", 1.2, 5)],
  });
};

xoff.sizeTable = (flows) => {
  const { el, bytes, count } = xoff;
  /** @type {Quantile[]} */
  const QUANTILES = ["p50", "p95", "p99"];
  /** @param {SizeBin} s @param {Quantile} k */
  const bound = (s, k) => (s.unfinished ? el("span", { title: "Lower bound: unfinished flows count with their age" }, `≥ ${s[k].toPrecision(3)}`) : s[k].toPrecision(3));
  /** @param {SizeBin} s */
  const cells = (s) => [s.from === s.to ? bytes(s.from) : `${bytes(s.from)} to ${bytes(s.to)}`, count(s.flows), count(s.unfinished), ...QUANTILES.map((k) => bound(s, k))];
  /** @param {number} i */
  const right = (i) => (i ? "right" : undefined);
  const heads = ["Size", "Flows", "Unfinished", "Median", "p95", "p99"].map((h, i) => el("th", { scope: "col", class: right(i) }, h));
  const rows = flows.sizes.map((s) => el("tr", {}, cells(s).map((v, i) => el("td", { class: right(i) }, v))));
  return xoff.scroll(el("table", {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows)));
};

xoff.runFlows = (run) => {
  const { el, byId, time, bytes, table } = xoff;
  const { nodes, flows } = run.data;
  const charts = [flows.fct.x.length ? xoff.completionChart(flows) : null, xoff.slowdownChart(flows)].filter((c) => c !== null);
  charts.forEach((c) => byId("cdfs").append(c.element));
  if (flows.sizes.length) byId("sizes").append(...xoff.sizeTable(flows));
  /** @param {FlowRow} f */
  const unfinished = (f) => f[6] === null && f[3] !== null;
  /** @param {FlowRow} f */
  const state = (f) => el("span.badge.caution", {}, f[3] === null ? "unlimited" : "unfinished");
  const list = table([
    { name: "Flow", csv: "flow", value: (f) => f[0], right: true },
    { name: "From", csv: "from", value: (f) => nodes.name[f[1]] }, { name: "To", csv: "to", value: (f) => nodes.name[f[2]] },
    { name: "Size", csv: "size_bytes", value: (f) => f[3], show: (f) => (f[3] === null ? "unlimited" : bytes(f[3])), right: true },
    { name: "Delivered", csv: "delivered_bytes", value: (f) => f[4], show: (f) => bytes(f[4]), right: true },
    { name: "Start", csv: "start_ps", value: (f) => f[5], show: (f) => time(f[5], 4), right: true },
    { name: "Completion time", csv: "completion_ps", value: (f) => f[6], order: (f) => (unfinished(f) ? Infinity : f[6]), show: (f) => (f[6] === null ? state(f) : time(f[6], 4)), right: true },
    { name: "Slowdown", csv: "slowdown", value: (f) => f[7], order: (f) => (unfinished(f) ? Infinity : f[7]), show: (f) => (f[7] === null ? "-" : f[7].toPrecision(3)), right: true },
  ], () => run.data.flows.list, { name: "flows", sort: 7, shown: 10 });
  byId("flows").append(list.element);
  return { charts, table: list };
};
