// @ts-check
// Charts by plotly.js. The report carries the compressed script, which the browser inflates after the first paint. Time axes are linked.
"use strict";
xoff.charts = (() => {
  const { el, colour, save, csv, tools, onTheme } = xoff;
  let library = null;
  const ready = () => {
    library ??= (async () => {
      // The script is at the end of the file, which the browser may still be reading.
      if (document.readyState === "loading") await new Promise((go) => document.addEventListener("DOMContentLoaded", go, { once: true }));
      const script = document.createElement("script");
      // Around the report there may be a policy that asks for one.
      script.nonce = document.querySelector("script")?.nonce ?? "";
      script.textContent = new TextDecoder().decode(await xoff.inflate("plotly", "gzip"));
      document.head.append(script);
      return window.Plotly;
    })();
    return library;
  };

  const SERIES = ["blue", "vermilion", "green", "purple", "orange", "sky", "grey"];
  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid"];
  // Below this width [px] a legend replaces the labels at the lines.
  const NARROW = 420;
  // Distance between two labels, and width of a letter, as parts of the letter's height.
  const [LINE, LETTER] = [1.3, 0.56];

  // All charts whose x is time: zooming one zooms all.
  /** @type {Chart[]} */
  const linked = [];
  let linking = false;
  /** @param {Plot} from @param {number[] | undefined} range */
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

  // ---- parts of a chart: its lines, labels at the lines, layout -------------------------------------------------------------------
  /** @param {Series} s @param {number} i */
  const ink = (s, i) => colour(s.colour || SERIES[i % SERIES.length]);
  /** @param {Chart} self */
  const traces = (self) =>
    self.series.map((s, i) => ({
      type: "scatter", mode: s.mode || "lines", name: s.name, x: s.x, y: s.y, yaxis: s.axis ? `y${s.axis + 1}` : "y",
      line: { color: ink(s, i), width: s.width || 1.8, dash: s.dash || (s.colour ? "solid" : DASHES[Math.floor(i / SERIES.length) % 7]), shape: s.shape || "linear" },
      marker: { size: s.size || 6, symbol: s.symbol || "circle", color: ink(s, i) },
      fill: s.fill ? "tozeroy" : "none", fillcolor: s.fill ? `${ink(s, i)}40` : undefined,
      fillpattern: s.fill ? { shape: "/", fgcolor: ink(s, i), bgcolor: `${ink(s, i)}40`, size: 6, solidity: 0.35 } : undefined,
      showlegend: s.legend !== false, customdata: s.text, hovertemplate: s.hover || "%{y:.4~s}", connectgaps: false,
    }));
  /** @param {Chart} self */
  const named = (self) => self.series.filter((s) => s.legend !== false && s.x.length);
  // Lines with markers lie on each other at their ends, so a legend names them.
  /** @param {Chart} self */
  const direct = (self) => named(self).length > 1 && self.plot.clientWidth >= NARROW && named(self).every((s) => !s.mode);
  /** @param {string} text */
  const broken = (text) => {
    const lines = [""];
    for (const word of text.split(" ")) {
      const last = lines.length - 1;
      if (lines[last] && lines[last].length + word.length > 13) lines.push(word);
      else lines[last] += (lines[last] ? " " : "") + word;
    }
    return lines;
  };
  /** @param {Series} s */
  const last = (s) => {
    for (let i = s.y.length - 1; i >= 0; i--) if (s.y[i] !== null) return Number(s.y[i]);
    return 0;
  };
  // A label at the right end of each line, in its colour; labels of one panel keep apart.
  /** @param {Chart} self @param {number} letter @param {number[]} heights */
  const labels = (self, letter, heights) =>
    self.spec.y.flatMap((y, axis) => {
      const own = self.series.map((s, i) => ({ s, i })).filter(({ s }) => (s.axis || 0) === axis && s.legend !== false && s.x.length);
      const top = y.range ? y.range[1] : Math.max(...own.map(({ s }) => xoff.largest(s.y, 1e-12))) * 1.05;
      const placed = own.map(({ s, i }) => ({ s, i, lines: broken(s.name), value: last(s), wanted: Math.max(0, last(s) / top) * heights[axis], at: 0 })).sort((a, b) => a.wanted - b.wanted);
      let floor = -Infinity;
      for (const l of placed) {
        const half = (l.lines.length * LINE * letter) / 2;
        l.at = Math.max(l.wanted, floor + half, half - letter);
        floor = l.at + half;
      }
      const over = Math.max(0, floor - heights[axis] - letter);
      return placed.map((l) => ({
        xref: "paper", x: 1, xanchor: "left", xshift: 6, yref: axis ? `y${axis + 1}` : "y", y: y.log ? Math.log10(l.value) : l.value, yshift: l.at - over - l.wanted,
        text: l.lines.join("<br>"), align: "left", showarrow: false, font: { color: xoff.mix(ink(l.s, l.i), colour("fg"), 0.35), size: letter },
      }));
    });
  /** @param {Record<string, any>} a */
  const axisOf = (a) => ({
    gridcolor: colour("line"), linecolor: colour("edge"), zerolinecolor: colour("line"), tickcolor: colour("edge"),
    ticks: "outside", ticklen: 4, automargin: true, hoverformat: ".4~s", exponentformat: "SI", fixedrange: false, ...a,
    title: { text: a.title, font: { size: xoff.rem() * 0.75 }, standoff: 8 },
  });
  /** @param {Chart} self */
  const layoutOf = (self) => {
    const { spec, plot } = self;
    // Letters follow those of the report; a narrow legend has one line for each series.
    const letter = xoff.rem() * 0.75;
    const names = named(self);
    const atLines = direct(self);
    const room = !atLines && names.length > 1 ? 18 * (plot.clientWidth < NARROW ? names.length : 1) : 0;
    const margin = { l: 62, r: 14, t: 8, b: 44 };
    if (atLines) margin.r = 14 + Math.max(...names.flatMap((s) => broken(s.name).map((t) => t.length))) * letter * LETTER;
    const height = Math.round(((spec.height || 300) * xoff.rem()) / 16) + room;
    const n = spec.y.length;
    const gap = n > 1 ? 0.07 : 0;
    const part = (1 - gap * (n - 1)) / n;
    const axes = Object.fromEntries(spec.y.map((y, i) => [i ? `yaxis${i + 1}` : "yaxis", axisOf({
      title: y.title, type: y.log ? "log" : "linear", rangemode: y.log ? "normal" : "tozero", ticksuffix: y.suffix || "",
      domain: [1 - (i + 1) * part - i * gap, 1 - i * (part + gap)], range: y.range,
    })]));
    return {
      ...axes,
      xaxis: axisOf({ title: spec.x.title, type: spec.x.log ? "log" : "linear", anchor: n > 1 ? `y${n}` : "y", ticksuffix: spec.x.suffix || "", range: self.range || spec.x.range }),
      width: plot.clientWidth || undefined, height, margin, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", size: letter, color: colour("fg") }, hovermode: spec.hovermode || "x unified",
      hoverlabel: { bgcolor: colour("soft"), bordercolor: colour("edge"), font: { color: colour("fg") } },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: letter } }, showlegend: names.length > 1 && !atLines,
      annotations: atLines ? labels(self, letter, spec.y.map(() => part * (height - margin.t - margin.b))) : [],
      shapes: self.shapes.map((s) => ({ ...s, line: { ...s.line, color: colour(s.colour || "fg") } })), dragmode: "zoom", uirevision: "stay",
    };
  };
  const CONFIG = { displayModeBar: false, responsive: false, doubleClick: "reset", scrollZoom: false };

  // ---- downloads ----------------------------------------------------------------------------------------------------------------
  // An image names its run, so that it keeps its meaning in another document. It has no mark of the slider.
  /** @param {Chart} self @param {"svg" | "png"} format */
  const image = (self, format) => async () => {
    const Plotly = await ready();
    const box = self.plot.getBoundingClientRect();
    const layout = layoutOf(self);
    /** @param {string} text */
    const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    const subject = xoff.subject ? `<br><sub>${plain(xoff.subject)}</sub>` : "";
    const title = { text: `${plain(self.title)}${subject}`, x: 0, xanchor: "left", xref: "paper", font: { size: layout.font.size * 1.25 } };
    const whole = { ...layout, title, shapes: [], height: layout.height + 52, margin: { ...layout.margin, t: layout.margin.t + 52 }, paper_bgcolor: colour("bg"), font: { ...layout.font, family: "sans-serif" } };
    const size = { format, width: Math.round(box.width), height: whole.height, scale: format === "png" ? 2 : 1 };
    const url = await Plotly.toImage({ data: traces(self), layout: whole, config: CONFIG }, size);
    const text = url.slice(url.indexOf(",") + 1);
    if (format === "svg") save(`${self.spec.name}.svg`, "image/svg+xml", decodeURIComponent(text));
    else save(`${self.spec.name}.png`, "image/png", new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], { type: "image/png" }));
  };
  /** @param {Chart} self */
  const values = (self) => () => {
    const { spec, series } = self;
    // Several quantities share a column of values, so each row names its own.
    /** @param {Pick<Series, "axis">} s */
    const quantity = (s) => ((y) => y.csv || y.title)(spec.y[s.axis || 0]);
    const many = spec.y.length > 1;
    const rows = series.flatMap((s) => Array.from(s.x, (x, i) => (many ? [s.name, x, quantity(s), s.y[i]] : [s.name, x, s.y[i]])));
    const heads = ["series", spec.x.csv || spec.x.title, ...(many ? ["quantity", "value"] : [quantity({})])];
    save(`${spec.name}.csv`, "text/csv", csv(heads, rows));
  };

  /** @param {Chart} self */
  const wire = (self) => {
    const { spec, plot } = self;
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
    plot.on("plotly_click", (e) => spec.click?.(e.points[0]));
  };

  // A chart: {name, title, note, x: {title, time, log}, y: [{title, log, rangemode}, ...] one above the other, height, series: [{name, x, y,
  // axis: 0, colour, dash, shape, fill, mode, hover}], shapes: () => [...]}.
  /** @type {Charts["chart"]} */
  const chart = (spec) => {
    const plot = el("div.plot", { role: "img", "aria-label": spec.title });
    const heading = el("h3", {}, spec.title);
    const note = el("p.note", {}, spec.note || "");
    const self = /** @type {Chart} */ ({ spec, plot, title: spec.title, series: spec.series || [], shapes: spec.shapes || [], range: null });
    const head = el("div.bar", {}, el("div", {}, heading, xoff.subject ? el("div.note.subject", {}, xoff.subject) : ""), tools([["SVG", image(self, "svg")], ["PNG", image(self, "png")], ["CSV", values(self)]]));
    self.element = el("figure.chart", { "data-chart": spec.name }, head, plot, note);
    self.draw = async () => {
      const Plotly = await ready();
      await Plotly.react(plot, traces(self), layoutOf(self), CONFIG);
      if (!self.wired) wire(self);
    };
    // New data, a new heading or new marks; drawn with the next frame, once however often it is called.
    self.set = (change) => {
      Object.assign(self, change);
      heading.textContent = self.title;
      if (change.note !== undefined) note.textContent = change.note;
      if (!self.due) {
        self.due = true;
        requestAnimationFrame(() => ((self.due = false), self.draw()));
      }
    };
    // Only the marks: a move of the slider does not draw all series again.
    self.mark = (shapes) => {
      self.shapes = shapes;
      if (self.wired && !self.marking) {
        self.marking = true;
        requestAnimationFrame(() => ((self.marking = false), window.Plotly.relayout(plot, { shapes: layoutOf(self).shapes })));
      }
    };
    // The library's own resizing loses the height that panels and legend need.
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
