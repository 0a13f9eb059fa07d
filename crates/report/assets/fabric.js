// @ts-check
// The page of a run of a scheduled fabric.
"use strict";
xoff.fabric = async () => {
  const { byId, bytes, percent, table } = xoff;
  /** @type {FabricData} */
  const data = await xoff.data();
  const w = data.windows;
  const [unitPs, unitName] = data.end_ps >= 2e12 ? [1e12, "s"] : data.end_ps >= 2e9 ? [1e9, "ms"] : [1e6, "us"];
  const x = w.map((s) => s.end_ps / unitPs);
  const axis = { title: `Time [${unitName}]`, time: true, csv: `time_${unitName}` };
  const hot = data.outputs.some((o) => o[1]);
  /** @type {Chart[]} */
  const charts = [];
  /** @param {Omit<ChartSpec, "x">} spec */
  const add = (spec) => {
    const chart = xoff.charts.chart({ x: axis, height: 280, ...spec });
    byId("charts").append(chart.element);
    charts.push(chart);
  };
  /** @param {string} name @param {Series["y"]} y @param {Partial<Series>} [more] */
  const line = (name, y, more = {}) => ({ name, x, y, shape: "vh", hover: "%{y:.4s}", ...more });
  add({ name: "throughput", title: "Throughput", y: [{ title: "Rate [b/s]" }], note: "Packets that left, by the load of their output.",
    series: [line("outputs", w.map((s) => s.cold)), ...(hot ? [line("hotspots", w.map((s) => s.hot), { dash: "dash" })] : [])] });
  add({ name: "delay", title: "Delay to outputs that are no hotspots", y: [{ title: "Mean delay [s]" }], note: "From the input adapter to the line.",
    series: [line("mean delay", w.map((s) => (s.delay_ps === null ? null : s.delay_ps / 1e12)), { legend: false })] });
  if (hot) {
    add({ name: "queues", title: "Queues of hotspots", y: [{ title: "Fabric-output queue [B]" }], note: "The fullest and the mean at the end of each window.",
      series: [line("fullest", w.map((s) => s.queue_max)), line("mean", w.map((s) => s.queue_mean), { dash: "dash" })] });
  }
  add({ name: "grants", title: "Grants held by inputs", y: [{ title: "Segments" }], note: "By the input that holds most, and on average.",
    series: [line("most", w.map((s) => s.grants_max)), line("mean", w.map((s) => s.grants_mean), { dash: "dash" })] });
  if (data.flows.length) {
    add({ name: "flows", title: "Flows of hosts", y: [{ title: "Rate [b/s]" }], note: "As they come to their input buffers.", series: data.flows.map((f) => line(f.name, f.rate)) });
    add({ name: "inputs", title: "Input buffers", y: [{ title: "Input buffer [B]" }], note: "At the end of each window.", series: data.flows.map((f) => line(f.name, f.input)) });
  }
  const outputs = table([
    { name: "Output", csv: "output", value: (o) => o[0] }, { name: "Load", csv: "load", value: (o) => (o[1] ? "hotspot" : "normal") },
    { name: "Offered", csv: "offered_bytes", value: (o) => o[2], show: (o) => bytes(o[2]), right: true }, { name: "Delivered", csv: "delivered_bytes", value: (o) => o[3], show: (o) => bytes(o[3]), right: true },
    { name: "Share delivered", csv: "delivered_share", value: (o) => (o[2] ? o[3] / o[2] : 0), show: (o) => percent(o[2] ? o[3] / o[2] : 0), right: true },
  ], () => data.outputs, { name: "outputs", sort: 3, shown: 16 });
  byId("outputs").append(outputs.element);
  document.documentElement.dataset.painted = String(Math.round(performance.now()));
  for (const c of charts) await c.draw();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
};
