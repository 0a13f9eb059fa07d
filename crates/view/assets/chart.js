// Charts by plotly.js: its script comes packed with the page and is inflated after the first paint. Time axes of a page are linked.
"use strict";
xoff.charts = (() => {
  const { el, colour, save, csv, tools, onTheme } = xoff;
  let library = null;
  const ready = () => {
    library ??= (async () => {
      // It stands at the end of the page, which may not have been read yet.
      if (document.readyState === "loading") await new Promise((go) => document.addEventListener("DOMContentLoaded", go, { once: true }));
      const script = document.createElement("script");
      script.textContent = new TextDecoder().decode(await xoff.inflate("plotly", "gzip"));
      document.head.append(script);
      return window.Plotly;
    })();
    return library;
  };

  const SERIES = ["blue", "vermilion", "green", "purple", "orange", "sky", "grey"];
  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid"];
  const axis = (a) => ({
    gridcolor: colour("line"), linecolor: colour("edge"), zerolinecolor: colour("line"), tickcolor: colour("edge"),
    ticks: "outside", ticklen: 4, automargin: true, hoverformat: ".4~s", exponentformat: "SI", fixedrange: false, ...a,
    title: { text: a.title, font: { size: xoff.rem() * 0.75 }, standoff: 8 },
  });

  // All charts whose x is time: zooming one zooms all.
  const linked = [];
  let linking = false;
  const follow = (from, range) => {
    if (linking) return;
    linking = true;
    const to = range ? { "xaxis.range": range, "xaxis.autorange": false } : { "xaxis.autorange": true };
    const others = linked.filter((c) => c.plot !== from);
    others.forEach((c) => {
      c.range = range || null;
      c.zoomed?.();
    });
    Promise.all(others.map((c) => window.Plotly.relayout(c.plot, to))).finally(() => (linking = false));
  };

  // A chart: {name, title, note, x: {title, time, log}, y: [{title, log, rangemode}, ...] one above the other, height, series: [{name, x, y,
  // axis: 0, colour, dash, shape, fill, mode, hover}], shapes: () => [...], annotations}. `timeUnit`: what x counts, of picoseconds.
  const chart = (spec) => {
    const plot = el("div.plot", { role: "img", "aria-label": spec.title });
    const file = spec.name;
    const image = (format) => async () => {
      const Plotly = await ready();
      const box = plot.getBoundingClientRect();
      const url = await Plotly.toImage(plot, { format, width: Math.round(box.width), height: Math.round(box.height), scale: format === "png" ? 2 : 1 });
      if (format === "svg") save(`${file}.svg`, "image/svg+xml", decodeURIComponent(url.slice(url.indexOf(",") + 1)));
      else save(`${file}.png`, "image/png", new Blob([Uint8Array.from(atob(url.split(",")[1]), (c) => c.charCodeAt(0))], { type: "image/png" }));
    };
    // Several quantities share a column of values, so each row names its own.
    const quantity = (s) => ((y) => y.csv || y.title)(spec.y[s.axis || 0]);
    const rows = () => self.series.flatMap((s) => Array.from(s.x, (x, i) => (spec.y.length > 1 ? [s.name, x, quantity(s), s.y[i]] : [s.name, x, s.y[i]])));
    const heads = () => ["series", spec.x.csv || spec.x.title, ...(spec.y.length > 1 ? ["quantity", "value"] : [quantity({})])];
    const table = () => save(`${file}.csv`, "text/csv", csv(heads(), rows()));
    const heading = el("h3", {}, spec.title);
    const note = el("p.note", {}, spec.note || "");
    const head = el("div.bar", {}, heading, tools([["SVG", image("svg")], ["PNG", image("png")], ["CSV", table]]));
    const element = el("figure.chart", { "data-chart": file }, head, plot, note);
    const self = { element, plot, series: spec.series || [], shapes: spec.shapes || [], range: null };

    const traces = () =>
      self.series.map((s, i) => ({
        type: "scatter", mode: s.mode || "lines", name: s.name, x: s.x, y: s.y, yaxis: s.axis ? `y${s.axis + 1}` : "y",
        line: { color: colour(s.colour || SERIES[i % SERIES.length]), width: s.width || 1.8, dash: s.dash || (s.colour ? "solid" : DASHES[Math.floor(i / SERIES.length) % 7]), shape: s.shape || "linear" },
        marker: { size: s.size || 6, symbol: s.symbol || "circle", color: colour(s.colour || SERIES[i % SERIES.length]) },
        fill: s.fill ? "tozeroy" : "none", fillcolor: s.fill ? colour(s.colour || SERIES[i % SERIES.length]) + "33" : undefined,
        showlegend: s.legend !== false, customdata: s.text, hovertemplate: s.hover || "%{y:.4~s}", connectgaps: false,
      }));
    const layout = () => {
      // Letters follow those of the page; on a phone the legend has a line for each series.
      const letter = xoff.rem() * 0.75;
      const named = self.series.filter((s) => s.legend !== false).length;
      const room = plot.clientWidth < 560 ? 18 * Math.max(0, named - 1) + 40 : 0;
      const n = spec.y.length;
      const gap = n > 1 ? 0.07 : 0;
      const part = (1 - gap * (n - 1)) / n;
      const axes = Object.fromEntries(spec.y.map((y, i) => [i ? `yaxis${i + 1}` : "yaxis", axis({
        title: y.title, type: y.log ? "log" : "linear", rangemode: y.log ? "normal" : "tozero", ticksuffix: y.suffix || "",
        domain: [1 - (i + 1) * part - i * gap, 1 - i * (part + gap)], range: y.range,
      })]));
      return {
        ...axes,
        xaxis: axis({ title: spec.x.title, type: spec.x.log ? "log" : "linear", anchor: n > 1 ? `y${n}` : "y", ticksuffix: spec.x.suffix || "", range: self.range || spec.x.range }),
        width: plot.clientWidth || undefined, height: Math.round(((spec.height || 300) * xoff.rem()) / 16) + room, margin: { l: 62, r: 14, t: 8, b: 44 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
        font: { family: "system-ui, sans-serif", size: letter, color: colour("fg") }, hovermode: spec.hovermode || "x unified",
        hoverlabel: { bgcolor: colour("soft"), bordercolor: colour("edge"), font: { color: colour("fg") } },
        legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: letter } }, showlegend: named > 1,
        shapes: self.shapes.map((s) => ({ ...s, line: { ...s.line, color: colour(s.colour || "fg") } })), dragmode: "zoom", uirevision: "stay",
      };
    };
    const config = { displayModeBar: false, responsive: false, doubleClick: "reset", scrollZoom: false };
    self.draw = async () => {
      const Plotly = await ready();
      await Plotly.react(plot, traces(), layout(), config);
      if (self.wired) return;
      self.wired = true;
      plot.dataset.drawn = "yes";
      if (spec.x.time) {
        linked.push(self);
        plot.on("plotly_relayout", (e) => {
          const range = e["xaxis.range[0]"] !== undefined ? [e["xaxis.range[0]"], e["xaxis.range[1]"]] : e["xaxis.range"];
          if (range || e["xaxis.autorange"]) {
            self.range = range || null;
            self.zoomed?.();
            follow(plot, range);
          }
        });
      }
      if (spec.click) plot.on("plotly_click", (e) => spec.click(e.points[0]));
    };
    // New data, a new heading or new lines over it; drawn at the next opportunity, once however often it is called.
    self.set = (change) => {
      Object.assign(self, change);
      if (change.title !== undefined) heading.textContent = change.title;
      if (change.note !== undefined) note.textContent = change.note;
      if (!self.due) {
        self.due = true;
        requestAnimationFrame(() => ((self.due = false), self.draw()));
      }
    };
    // Only the lines over it: dragging the slider may not draw all series anew.
    self.mark = (shapes) => {
      self.shapes = shapes;
      if (self.wired && !self.marking) {
        self.marking = true;
        requestAnimationFrame(() => ((self.marking = false), window.Plotly.relayout(plot, { shapes: layout().shapes })));
      }
    };
    // Not left to the library: what it makes of another width loses the height that the panels and the legend need.
    let width = 0;
    new ResizeObserver(() => {
      if (!self.wired || !plot.clientWidth || plot.clientWidth === width) return;
      width = plot.clientWidth;
      self.set({});
    }).observe(plot);
    onTheme(() => self.wired && self.draw());
    return self;
  };
  return { chart, ready, SERIES };
})();
