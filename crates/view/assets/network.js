// The network as a drawing on a canvas: each direction of a link is a line of its own, coloured by what is chosen. Zoom, pan, hover, click.
"use strict";
xoff.network = (net, { value, tooltip, pick, cycles, name }) => {
  const { el, svg, colour, rem, mix, onTheme, save, tools, largest, smallest } = xoff;
  const { nodes, ports } = net;
  const n = ports.node.length;
  const LEVELS = 24;

  const canvas = el("canvas", { role: "img", tabindex: 0, "aria-label": "The network; the table of ports holds the same values" });
  const tip = el("div.tip", { hidden: true });
  const box = el("div.canvas", {}, canvas, tip);
  const view = { scale: 1, x: 0, y: 0 };
  let size = { width: 0, height: 0 };
  let selected = -1;
  let hovered = -1;
  let scheme = [];
  let labels = [];

  // ---- where things are ---------------------------------------------------------------------------------------------------------
  const [xs, ys] = [nodes.x, nodes.y];
  const bounds = { x0: smallest(xs), x1: largest(xs), y0: smallest(ys), y1: largest(ys) };
  // The room to the next node of the same height decides which names fit.
  const room = new Float64Array(xs.length).fill(Infinity);
  const rows = new Map();
  for (let i = 0; i < xs.length; i++) {
    const key = Math.round(ys[i] * 50);
    if (!rows.has(key)) rows.set(key, []);
    rows.get(key).push(i);
  }
  for (const row of rows.values()) {
    row.sort((a, b) => xs[a] - xs[b]);
    for (let k = 1; k < row.length; k++) {
      const gap = xs[row[k]] - xs[row[k - 1]];
      room[row[k]] = Math.min(room[row[k]], gap);
      room[row[k - 1]] = Math.min(room[row[k - 1]], gap);
    }
  }
  const MARGIN = 34;
  const fitted = () => {
    const [w, h] = [Math.max(bounds.x1 - bounds.x0, 1e-9), Math.max(bounds.y1 - bounds.y0, 1e-9)];
    const sx = (size.width - 2 * MARGIN) / w;
    const sy = (size.height - 2 * MARGIN) / h;
    // Tiers may be stretched, rings may not.
    return net.tiers ? [sx, sy] : [Math.min(sx, sy), Math.min(sx, sy)];
  };
  let unit = [1, 1];
  const at = (i) => [
    size.width / 2 + ((xs[i] - (bounds.x0 + bounds.x1) / 2) * unit[0] + view.x) * view.scale,
    size.height / 2 + ((ys[i] - (bounds.y0 + bounds.y1) / 2) * unit[1] + view.y) * view.scale,
  ];
  // Both directions side by side, each to the right of its way.
  const segment = (p, width) => {
    const [ax, ay] = at(ports.node[p]);
    const [bx, by] = at(ports.node[ports.peer[p]]);
    const length = Math.hypot(bx - ax, by - ay) || 1;
    const off = width * 0.75;
    const [ox, oy] = [(-(by - ay) / length) * off, ((bx - ax) / length) * off];
    return [ax + ox, ay + oy, bx + ox, by + oy];
  };
  const lineWidth = () => Math.min(5, Math.max(0.7, (n > 2000 ? 1 : n > 300 ? 1.8 : 3.6) * Math.sqrt(view.scale)));
  const hostSize = () => Math.min(6, Math.max(1.2, (net.hosts > 300 ? 1.6 : net.hosts > 60 ? 3 : 5) * Math.sqrt(view.scale)));

  // ---- drawing ------------------------------------------------------------------------------------------------------------------
  const palette = () => {
    const [low, high] = [colour("edge-low"), colour("edge-high")];
    scheme = Array.from({ length: LEVELS + 1 }, (_, i) => mix(low, high, i / LEVELS));
  };
  const level = (v) => (v > 0 ? Math.max(1, Math.min(LEVELS, Math.ceil(v * LEVELS))) : 0);
  const arrow = (c, [ax, ay, bx, by], width) => {
    const length = Math.hypot(bx - ax, by - ay) || 1;
    const [ux, uy] = [(bx - ax) / length, (by - ay) / length];
    const [mx, my] = [(ax + bx) / 2, (ay + by) / 2];
    const s = 3 + width * 1.6;
    c.beginPath();
    c.moveTo(mx + ux * s, my + uy * s);
    c.lineTo(mx - ux * s - uy * s * 0.8, my - uy * s + ux * s * 0.8);
    c.lineTo(mx - ux * s + uy * s * 0.8, my - uy * s - ux * s * 0.8);
    c.fill();
  };
  // ---- names ---------------------------------------------------------------------------------------------------------------------
  const outside = (x, y) => x < -80 || y < -40 || x > size.width + 80 || y > size.height + 40;
  const widthOf = (text, letter) => text.length * letter * 0.6 + letter;
  // Where the name of a host stands: below it, or above where the drawing goes on below.
  const beside = (y, r, letter) => (net.tiers || y >= size.height / 2 ? 1 : -1) * (r + letter * 0.75);
  // The middle of a name that is not cut off by the edge of the drawing, if its node is in it.
  const inside = (x, half) => (x < 0 || x > size.width ? x : Math.max(half - 4, Math.min(size.width - half + 4, x)));
  // As much of a name as there is room for, its end at least, in which it differs from its neighbours.
  const shortened = (text, letters) => {
    const most = Math.max(letters, 9);
    const head = Math.floor((most - 1) / 2) - 1;
    return text.length <= most ? text : `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
  };
  // The names that fit without one lying over another: those of the chosen port first, then as the nodes come. The whole name shows on hover.
  const placed = (letter, r) => {
    const names = new Array(xs.length);
    const bands = new Map();
    const free = (x0, x1, y0, y1, take) => {
      for (let b = Math.floor(y0 / 16); b <= Math.floor(y1 / 16); b++) {
        const band = bands.get(b);
        if (take) band ? band.push([x0, x1]) : bands.set(b, [[x0, x1]]);
        else if (band && band.some(([a, z]) => x0 < z && x1 > a)) return false;
      }
      return true;
    };
    const ends = selected >= 0 ? [ports.node[selected], ports.node[ports.peer[selected]]] : [];
    for (const i of [...ends, ...xs.keys()]) {
      const [x, y] = at(i);
      if (names[i] !== undefined || outside(x, y)) continue;
      const letters = room[i] === Infinity ? 24 : Math.floor((room[i] * unit[0] * view.scale) / (letter * 0.6) - 1.7);
      const text = shortened(nodes.name[i], letters);
      const middle = nodes.host[i] ? y + beside(y, r, letter) : y;
      const [half, high] = [widthOf(text, letter) / 2, letter * (nodes.host[i] ? 0.5 : 0.8)];
      const centre = nodes.host[i] ? inside(x, half) : x;
      const box = [centre - half, centre + half, middle - high, middle + high];
      if (!free(...box)) continue;
      free(...box, true);
      names[i] = text;
    }
    return names;
  };
  const paint = () => {
    const ratio = window.devicePixelRatio || 1;
    const c = canvas.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, size.width, size.height);
    const width = lineWidth();
    const paths = Array.from({ length: LEVELS + 1 }, () => null);
    for (let p = 0; p < n; p++) {
      const l = level(value(p));
      const [ax, ay, bx, by] = segment(p, width);
      const path = (paths[l] ??= new Path2D());
      path.moveTo(ax, ay);
      path.lineTo(bx, by);
    }
    paths.forEach((path, l) => {
      if (!path) return;
      // What is idle recedes where lines are many.
      c.globalAlpha = l === 0 && n > 600 ? 0.45 : 1;
      c.lineWidth = l > 0 && n > 600 ? width + 0.8 : width;
      c.strokeStyle = scheme[l];
      c.stroke(path);
    });
    c.globalAlpha = 1;
    const strong = (p, stroke, wide) => {
      const s = segment(p, width);
      c.strokeStyle = c.fillStyle = stroke;
      c.lineWidth = wide;
      c.beginPath();
      c.moveTo(s[0], s[1]);
      c.lineTo(s[2], s[3]);
      c.stroke();
      arrow(c, s, wide);
    };
    for (const p of cycles()) strong(p, colour("bad-line"), width + 2.5);
    if (hovered >= 0) strong(hovered, colour("fg"), width + 1);
    // What is chosen has a rim, so that its own colour stays.
    if (selected >= 0) {
      strong(selected, colour("accent"), width + 5);
      strong(selected, scheme[level(value(selected))], width + 1);
    }
    const letter = Math.max(12, rem() * 0.75);
    c.font = `${letter}px system-ui, sans-serif`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    const r = hostSize();
    labels = placed(letter, r);
    for (let i = 0; i < xs.length; i++) {
      const [x, y] = at(i);
      if (outside(x, y)) continue;
      const text = labels[i];
      const wide = widthOf(text || nodes.name[i], letter);
      const named = text !== undefined;
      c.lineWidth = 1;
      if (nodes.host[i]) {
        c.fillStyle = colour("host");
        c.beginPath();
        c.arc(x, y, r, 0, 2 * Math.PI);
        c.fill();
        if (named) {
          c.fillStyle = colour("fg");
          c.fillText(text, inside(x, wide / 2), y + beside(y, r, letter));
        }
      } else {
        const [w, h] = named ? [wide, letter * 1.6] : [Math.max(4, Math.min(wide, room[i] * unit[0] * view.scale * 0.7, 12)), 7];
        c.fillStyle = colour("switch");
        c.strokeStyle = colour("edge");
        c.beginPath();
        c.roundRect(x - w / 2, y - h / 2, w, h, Math.min(5, h / 2));
        c.fill();
        c.stroke();
        if (named) {
          c.fillStyle = colour("fg");
          c.fillText(text, x, y + 0.5);
        }
      }
    }
  };
  let due = false;
  const draw = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => ((due = false), paint()));
  };
  const resize = () => {
    const rect = box.getBoundingClientRect();
    if (!rect.width) return;
    const ratio = window.devicePixelRatio || 1;
    size = { width: rect.width, height: rect.height };
    [canvas.width, canvas.height] = [Math.round(rect.width * ratio), Math.round(rect.height * ratio)];
    unit = fitted();
    paint();
  };
  new ResizeObserver(resize).observe(box);
  onTheme(() => (palette(), draw()));

  // ---- what lies under the pointer ----------------------------------------------------------------------------------------------
  const hit = (x, y) => {
    const reach = 9;
    let node = -1;
    let best = 14;
    for (let i = 0; i < xs.length; i++) {
      const [nx, ny] = at(i);
      const d = Math.hypot(nx - x, ny - y);
      if (d < best) [best, node] = [d, i];
    }
    let [port, near] = [-1, reach];
    const width = lineWidth();
    for (let p = 0; p < n; p++) {
      const [ax, ay, bx, by] = segment(p, width);
      const [dx, dy] = [bx - ax, by - ay];
      const t = Math.max(0.04, Math.min(0.96, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
      const d = Math.hypot(ax + t * dx - x, ay + t * dy - y);
      if (d < near) [near, port] = [d, p];
    }
    return { port: node >= 0 && best < near ? -1 : port, node };
  };
  const busiest = (node) => {
    let best = -1;
    for (let p = 0; p < n; p++) if (ports.node[p] === node && (best < 0 || value(p) > value(best))) best = p;
    return best;
  };
  const local = (e) => {
    const rect = canvas.getBoundingClientRect();
    return [e.clientX - rect.left, e.clientY - rect.top];
  };
  const zoom = (factor, x = size.width / 2, y = size.height / 2) => {
    const before = view.scale;
    view.scale = Math.max(0.5, Math.min(60, view.scale * factor));
    const [cx, cy] = [x - size.width / 2, y - size.height / 2];
    view.x += cx / view.scale - cx / before;
    view.y += cy / view.scale - cy / before;
    draw();
  };
  const pointers = new Map();
  let [moved, spread] = [0, 0];
  canvas.addEventListener("pointerdown", (e) => {
    pointers.set(e.pointerId, local(e));
    canvas.setPointerCapture(e.pointerId);
    moved = 0;
  });
  canvas.addEventListener("pointermove", (e) => {
    const [x, y] = local(e);
    const before = pointers.get(e.pointerId);
    if (before) {
      pointers.set(e.pointerId, [x, y]);
      if (pointers.size === 2) {
        const [[ax, ay], [bx, by]] = [...pointers.values()];
        const now = Math.hypot(ax - bx, ay - by);
        if (spread) zoom(now / spread, (ax + bx) / 2, (ay + by) / 2);
        spread = now;
        moved = 99;
        return;
      }
      moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
      if (moved > 4) {
        view.x += (x - before[0]) / view.scale;
        view.y += (y - before[1]) / view.scale;
        draw();
      }
      return;
    }
    const { port, node } = hit(x, y);
    const text = port >= 0 ? tooltip(port) : node >= 0 ? nodes.name[node] : "";
    canvas.style.cursor = text ? "pointer" : "grab";
    tip.hidden = !text;
    if (text) {
      tip.textContent = text;
      tip.style.left = `${Math.max(4, Math.min(x + 14, size.width - tip.offsetWidth - 6))}px`;
      tip.style.top = `${y + 18 + tip.offsetHeight > size.height ? y - tip.offsetHeight - 10 : y + 18}px`;
    }
    if (port !== hovered) {
      hovered = port;
      draw();
    }
  });
  const release = (e) => {
    pointers.delete(e.pointerId);
    spread = 0;
    if (e.type === "pointerup" && moved <= 4) {
      const { port, node } = hit(...local(e));
      if (port >= 0) pick(port);
      else if (node >= 0) pick(busiest(node));
    }
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => ((tip.hidden = true), (hovered = -1), draw()));
  // With a key, so that scrolling the page over the drawing scrolls the page.
  canvas.addEventListener("wheel", (e) => {
    if (!(e.ctrlKey || e.shiftKey || e.metaKey)) return;
    e.preventDefault();
    zoom(Math.exp(-(e.deltaY || e.deltaX) / 300), ...local(e));
  }, { passive: false });
  canvas.addEventListener("dblclick", (e) => zoom(2, ...local(e)));
  const reset = () => ((view.scale = 1), (view.x = view.y = 0), draw());

  // ---- downloads ----------------------------------------------------------------------------------------------------------------
  const asSvg = () => {
    const width = lineWidth();
    const lines = Array.from({ length: n }, (_, p) => {
      const [x1, y1, x2, y2] = segment(p, width).map((v) => v.toFixed(1));
      return svg("line", { x1, y1, x2, y2, stroke: scheme[level(value(p))], "stroke-width": width.toFixed(1) }, svg("title", {}, tooltip(p)));
    });
    const marks = nodes.name.map((whole, i) => {
      const [x, y] = at(i);
      const high = y + (nodes.host[i] ? beside(y, hostSize(), 12) : 0) + 4;
      const spot = nodes.host[i] ? svg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: hostSize().toFixed(1), fill: colour("host") }, svg("title", {}, whole)) : "";
      if (labels[i] === undefined) return spot;
      return [spot, svg("text", { x: x.toFixed(1), y: high.toFixed(1), "text-anchor": "middle", "font-size": 12, "font-family": "sans-serif", fill: colour("fg"), "paint-order": "stroke", stroke: colour("bg"), "stroke-width": 5 }, labels[i], svg("title", {}, whole))];
    }).flat();
    const root = svg("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${size.width} ${size.height}`, width: size.width, height: size.height }, svg("rect", { width: size.width, height: size.height, fill: colour("bg") }), lines, marks);
    save(`${name}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(root));
  };
  const buttons = [["+", () => zoom(1.6), "Zoom in"], ["−", () => zoom(1 / 1.6), "Zoom out"], ["Fit", reset, "Show all"],
    ["SVG", asSvg], ["PNG", () => canvas.toBlob((b) => save(`${name}.png`, "image/png", b))]];
  return {
    element: box, tools: tools(buttons), draw, view,
    select: (port) => ((selected = port), draw()),
    // Where a port is drawn, for tests and for keyboards.
    middle: (p) => {
      const [ax, ay, bx, by] = segment(p, lineWidth());
      return [(ax + bx) / 2, (ay + by) / 2];
    },
    scheme: () => scheme,
    labels: () => labels,
    at,
  };
};
