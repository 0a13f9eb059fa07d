// @ts-check
// The network as a drawing on a canvas: one line for each direction of a link, coloured by the chosen quantity. Zoom, pan, hover, click, keys.
"use strict";
// For each node the distance to the next one at the same height, which limits the length of its name.
xoff.networkRoom = (xs, ys) => {
  const room = new Float64Array(xs.length).fill(Infinity);
  /** @type {Map<number, number[]>} */
  const rows = new Map();
  for (let i = 0; i < xs.length; i++) {
    const key = Math.round(ys[i] * 50);
    const row = rows.get(key);
    if (row) row.push(i);
    else rows.set(key, [i]);
  }
  for (const row of rows.values()) {
    row.sort((a, b) => xs[a] - xs[b]);
    for (let k = 1; k < row.length; k++) {
      const gap = xs[row[k]] - xs[row[k - 1]];
      room[row[k]] = Math.min(room[row[k]], gap);
      room[row[k - 1]] = Math.min(room[row[k - 1]], gap);
    }
  }
  return room;
};
// Positions of nodes and links on the canvas, for the present zoom.
xoff.networkPlace = (net) => {
  const { rem, largest, smallest } = xoff;
  const { nodes, ports } = net;
  const [xs, ys] = [nodes.x, nodes.y];
  const n = ports.node.length;
  const MARGIN = 34;
  const bounds = { x0: smallest(xs), x1: largest(xs), y0: smallest(ys), y1: largest(ys) };
  const place = /** @type {Place} */ ({ view: { scale: 1, x: 0, y: 0 }, size: { width: 0, height: 0 }, unit: [1, 1], letter: 12, room: xoff.networkRoom(xs, ys) });
  place.resize = (width, height) => {
    place.size = { width, height };
    place.letter = Math.max(12, rem() * 0.75);
    const [w, h] = [Math.max(bounds.x1 - bounds.x0, 1e-9), Math.max(bounds.y1 - bounds.y0, 1e-9)];
    const [sx, sy] = [(width - 2 * MARGIN) / w, (height - 2 * MARGIN) / h];
    // Tiers may be stretched, rings may not.
    place.unit = net.tiers ? [sx, sy] : [Math.min(sx, sy), Math.min(sx, sy)];
  };
  place.at = (i) => {
    const { size, unit, view } = place;
    return [
      size.width / 2 + ((xs[i] - (bounds.x0 + bounds.x1) / 2) * unit[0] + view.x) * view.scale,
      size.height / 2 + ((ys[i] - (bounds.y0 + bounds.y1) / 2) * unit[1] + view.y) * view.scale,
    ];
  };
  // Both directions of a link lie side by side, each on the right of its path.
  place.segment = (p, width = place.lineWidth()) => {
    const [ax, ay] = place.at(ports.node[p]);
    const [bx, by] = place.at(ports.node[ports.peer[p]]);
    const length = Math.hypot(bx - ax, by - ay) || 1;
    const off = width * 0.75;
    const [ox, oy] = [(-(by - ay) / length) * off, ((bx - ax) / length) * off];
    return [ax + ox, ay + oy, bx + ox, by + oy];
  };
  place.middle = (p) => {
    const [ax, ay, bx, by] = place.segment(p);
    return [(ax + bx) / 2, (ay + by) / 2];
  };
  place.lineWidth = () => Math.min(5, Math.max(0.7, (n > 2000 ? 1 : n > 300 ? 1.8 : 3.6) * Math.sqrt(place.view.scale)));
  place.hostSize = () => Math.min(6, Math.max(1.2, (net.hosts > 300 ? 1.6 : net.hosts > 60 ? 3 : 5) * Math.sqrt(place.view.scale)));
  place.outside = (x, y) => x < -80 || y < -40 || x > place.size.width + 80 || y > place.size.height + 40;
  // The port and the node below a point of the canvas.
  place.hit = (x, y) => {
    let [node, best] = [-1, 14];
    for (let i = 0; i < xs.length; i++) {
      const [nx, ny] = place.at(i);
      const d = Math.hypot(nx - x, ny - y);
      if (d < best) [best, node] = [d, i];
    }
    let [port, near] = [-1, 9];
    const width = place.lineWidth();
    for (let p = 0; p < n; p++) {
      const [ax, ay, bx, by] = place.segment(p, width);
      const [dx, dy] = [bx - ax, by - ay];
      const t = Math.max(0.04, Math.min(0.96, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
      const d = Math.hypot(ax + t * dx - x, ay + t * dy - y);
      if (d < near) [near, port] = [d, p];
    }
    return { port: node >= 0 && best < near ? -1 : port, node };
  };
  // The nearest port in a direction, within 60 degrees of it; `from` itself if there is none.
  place.towards = (from, dx, dy) => {
    const [x, y] = place.middle(from);
    let [found, least] = [from, Infinity];
    for (let p = 0; p < n; p++) {
      const [px, py] = place.middle(p);
      const along = (px - x) * dx + (py - y) * dy;
      const across = Math.abs((px - x) * dy - (py - y) * dx);
      if (p === from || along < 0.5 || across > 1.75 * along) continue;
      const cost = along + 2 * across;
      if (cost < least) [least, found] = [cost, p];
    }
    return found;
  };
  return place;
};

// Names that fit without overlap. The ends of the chosen port come first, then all nodes in their order.
xoff.networkNames = (net, place, selected) => {
  const { nodes, ports } = net;
  const letter = place.letter;
  const r = place.hostSize();
  const names = new Array(nodes.x.length);
  /** @type {Map<number, Point[]>} */
  const bands = new Map();
  /** @param {number} x0 @param {number} x1 @param {number} y0 @param {number} y1 @param {boolean} [take] */
  const free = (x0, x1, y0, y1, take) => {
    for (let b = Math.floor(y0 / 16); b <= Math.floor(y1 / 16); b++) {
      const band = bands.get(b);
      if (take) band ? band.push([x0, x1]) : bands.set(b, [[x0, x1]]);
      else if (band && band.some(([a, z]) => x0 < z && x1 > a)) return false;
    }
    return true;
  };
  // The start and the end of a long name stay: neighbours differ in their ends.
  /** @param {string} text @param {number} letters */
  const shortened = (text, letters) => {
    const most = Math.max(letters, 9);
    const head = Math.floor((most - 1) / 2) - 1;
    return text.length <= most ? text : `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
  };
  const ends = selected >= 0 ? [ports.node[selected], ports.node[ports.peer[selected]]] : [];
  for (const i of [...ends, ...nodes.x.keys()]) {
    const [x, y] = place.at(i);
    if (names[i] !== undefined || place.outside(x, y)) continue;
    const letters = place.room[i] === Infinity ? 24 : Math.floor((place.room[i] * place.unit[0] * place.view.scale) / (letter * 0.6) - 1.7);
    const text = shortened(nodes.name[i], letters);
    const middle = nodes.host[i] ? y + xoff.networkBeside(net, place, y, r) : y;
    const [half, high] = [xoff.networkWidth(text, letter) / 2, letter * (nodes.host[i] ? 0.5 : 0.8)];
    const centre = nodes.host[i] ? xoff.networkInside(place, x, half) : x;
    /** @type {Segment} */
    const box = [centre - half, centre + half, middle - high, middle + high];
    if (!free(...box)) continue;
    free(...box, true);
    names[i] = text;
  }
  return names;
};
xoff.networkWidth = (text, letter) => text.length * letter * 0.6 + letter;
// Offset of a host's name: below the host, or above it in the upper half of a ring.
xoff.networkBeside = (net, place, y, r) => (net.tiers || y >= place.size.height / 2 ? 1 : -1) * (r + place.letter * 0.75);
// Centre of a name that the edge of the drawing does not cut off.
xoff.networkInside = (place, x, half) => (x < 0 || x > place.size.width ? x : Math.max(half - 4, Math.min(place.size.width - half + 4, x)));

// The arrow in the middle of a line, and a node with its name.
xoff.networkArrow = (c, [ax, ay, bx, by], width) => {
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
xoff.networkNode = (c, net, place, i, text) => {
  const { colour } = xoff;
  const { nodes } = net;
  const [letter, r] = [place.letter, place.hostSize()];
  const [x, y] = place.at(i);
  if (place.outside(x, y)) return;
  const named = text !== undefined;
  const wide = xoff.networkWidth(text || nodes.name[i], letter);
  c.lineWidth = 1;
  c.beginPath();
  if (nodes.host[i]) {
    c.fillStyle = colour("host");
    c.arc(x, y, r, 0, 2 * Math.PI);
    c.fill();
  } else {
    const [w, h] = named ? [wide, letter * 1.6] : [Math.max(4, Math.min(wide, place.room[i] * place.unit[0] * place.view.scale * 0.7, 12)), 7];
    c.fillStyle = colour("switch");
    c.strokeStyle = colour("edge");
    c.roundRect(x - w / 2, y - h / 2, w, h, Math.min(5, h / 2));
    c.fill();
    c.stroke();
  }
  if (!named) return;
  c.fillStyle = colour("fg");
  if (nodes.host[i]) c.fillText(text, xoff.networkInside(place, x, wide / 2), y + xoff.networkBeside(net, place, y, r));
  else c.fillText(text, x, y + 0.5);
};

// Draws lines and nodes on a 2D context.
xoff.networkPainter = (net, place, { value, cycles, ink }) => {
  const { colour, mix, onTheme } = xoff;
  const { nodes, ports } = net;
  const n = ports.node.length;
  const LEVELS = 24;
  /** @type {Partial<Painter>} */
  const start = { scheme: [], labels: [] };
  const painter = /** @type {Painter} */ (start);
  painter.recolour = () => {
    const [low, high] = [colour("edge-low"), colour(ink())];
    painter.scheme = Array.from({ length: LEVELS + 1 }, (_, i) => mix(low, high, i / LEVELS));
  };
  onTheme(painter.recolour);
  painter.colourOf = (p) => {
    const v = value(p);
    return painter.scheme[v > 0 ? Math.max(1, Math.min(LEVELS, Math.ceil(v * LEVELS))) : 0];
  };
  /** @param {CanvasRenderingContext2D} c @param {number} width */
  const links = (c, width) => {
    /** @type {Map<string, Path2D | null>} */
    const paths = new Map(painter.scheme.map((s) => [s, null]));
    for (let p = 0; p < n; p++) {
      const key = painter.colourOf(p);
      const [ax, ay, bx, by] = place.segment(p, width);
      const path = paths.get(key) ?? new Path2D();
      paths.set(key, path);
      path.moveTo(ax, ay);
      path.lineTo(bx, by);
    }
    for (const [stroke, path] of paths) {
      if (!path) continue;
      const idle = stroke === painter.scheme[0];
      // Idle lines recede where lines are many.
      c.globalAlpha = idle && n > 600 ? 0.45 : 1;
      c.lineWidth = !idle && n > 600 ? width + 0.8 : width;
      c.strokeStyle = stroke;
      c.stroke(path);
    }
    c.globalAlpha = 1;
  };
  /** @param {CanvasRenderingContext2D} c @param {number} p @param {number} width @param {string} stroke @param {number} wide */
  const strong = (c, p, width, stroke, wide) => {
    const s = place.segment(p, width);
    c.strokeStyle = c.fillStyle = stroke;
    c.lineWidth = wide;
    c.beginPath();
    c.moveTo(s[0], s[1]);
    c.lineTo(s[2], s[3]);
    c.stroke();
    xoff.networkArrow(c, s, wide);
  };
  painter.paint = (canvas, selected, hovered) => {
    const ratio = window.devicePixelRatio || 1;
    const c = xoff.context(canvas);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, place.size.width, place.size.height);
    const width = place.lineWidth();
    links(c, width);
    for (const p of cycles()) strong(c, p, width, colour("deadlock"), width + 2.5);
    if (hovered >= 0) strong(c, hovered, width, colour("fg"), width + 1);
    // The chosen port has a rim, so that its own colour stays.
    if (selected >= 0) {
      strong(c, selected, width, colour("accent"), width + 5);
      strong(c, selected, width, cycles().includes(selected) ? colour("deadlock") : painter.colourOf(selected), width + 1);
    }
    const letter = place.letter;
    c.font = `${letter}px system-ui, sans-serif`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    painter.labels = xoff.networkNames(net, place, selected);
    // Names lie above the nodes without one.
    for (const named of [false, true]) {
      for (let i = 0; i < nodes.x.length; i++) if ((painter.labels[i] !== undefined) === named) xoff.networkNode(c, net, place, i, painter.labels[i]);
    }
  };
  return painter;
};

// The same drawing as SVG text.
xoff.networkSvg = (net, place, painter, tooltip) => {
  const { svg, colour } = xoff;
  const { nodes, ports } = net;
  const { width, height } = place.size;
  const wide = place.lineWidth();
  const lines = Array.from(ports.node, (_, p) => {
    const [x1, y1, x2, y2] = place.segment(p, wide).map((v) => v.toFixed(1));
    return svg("line", { x1, y1, x2, y2, stroke: painter.colourOf(p), "stroke-width": wide.toFixed(1) }, svg("title", {}, tooltip(p)));
  });
  const r = place.hostSize();
  const marks = nodes.name.flatMap((whole, i) => {
    const [x, y] = place.at(i);
    const spot = nodes.host[i] ? svg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: r.toFixed(1), fill: colour("host") }, svg("title", {}, whole)) : "";
    if (painter.labels[i] === undefined) return [spot];
    const high = y + (nodes.host[i] ? xoff.networkBeside(net, place, y, r) : 0) + 4;
    const look = { "text-anchor": "middle", "font-size": 12, "font-family": "sans-serif", fill: colour("fg"), "paint-order": "stroke", stroke: colour("bg"), "stroke-width": 5 };
    return [spot, svg("text", { x: x.toFixed(1), y: high.toFixed(1), ...look }, painter.labels[i], svg("title", {}, whole))];
  });
  const paper = svg("rect", { width, height, fill: colour("bg") });
  return new XMLSerializer().serializeToString(svg("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height }, paper, lines, marks));
};

// Pointer: drag pans, two fingers or the wheel with a key zoom, a click chooses.
xoff.networkPointer = (canvas, place, { zoom, hover, click, draw }) => {
  const pointers = new Map();
  let [moved, spread] = [0, 0];
  /** @param {MouseEvent} e @returns {Point} */
  const local = (e) => {
    const rect = canvas.getBoundingClientRect();
    return [e.clientX - rect.left, e.clientY - rect.top];
  };
  canvas.addEventListener("pointerdown", (e) => {
    pointers.set(e.pointerId, local(e));
    canvas.setPointerCapture(e.pointerId);
    moved = 0;
  });
  canvas.addEventListener("pointermove", (e) => {
    const [x, y] = local(e);
    const before = pointers.get(e.pointerId);
    if (!before) return hover(x, y);
    pointers.set(e.pointerId, [x, y]);
    if (pointers.size === 2) {
      const [[ax, ay], [bx, by]] = [...pointers.values()];
      const now = Math.hypot(ax - bx, ay - by);
      if (spread) zoom(now / spread, (ax + bx) / 2, (ay + by) / 2);
      spread = now;
      moved = 99;
      return undefined;
    }
    moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
    if (moved > 4) {
      place.view.x += (x - before[0]) / place.view.scale;
      place.view.y += (y - before[1]) / place.view.scale;
      draw();
    }
    return undefined;
  });
  /** @param {PointerEvent} e */
  const release = (e) => {
    pointers.delete(e.pointerId);
    spread = 0;
    if (e.type === "pointerup" && moved <= 4) click(...local(e));
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  // With a key: the plain wheel scrolls the report.
  canvas.addEventListener("wheel", (e) => {
    if (!(e.ctrlKey || e.shiftKey || e.metaKey)) return;
    e.preventDefault();
    zoom(Math.exp(-(e.deltaY || e.deltaX) / 300), ...local(e));
  }, { passive: false });
  canvas.addEventListener("dblclick", (e) => zoom(2, ...local(e)));
};

// Words next to a point of the drawing; none hide them.
xoff.networkTip = (tip, size, text, x = 0, y = 0) => {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  tip.style.left = `${Math.max(4, Math.min(x + 14, size.width - tip.offsetWidth - 6))}px`;
  tip.style.top = `${y + 18 + tip.offsetHeight > size.height ? y - tip.offsetHeight - 10 : y + 18}px`;
};

// Zooms about a point, the middle of the drawing without one.
xoff.networkZoom = (place, factor, x = place.size.width / 2, y = place.size.height / 2) => {
  const { view } = place;
  const before = view.scale;
  view.scale = Math.max(0.5, Math.min(60, view.scale * factor));
  const [cx, cy] = [x - place.size.width / 2, y - place.size.height / 2];
  view.x += cx / view.scale - cx / before;
  view.y += cy / view.scale - cy / before;
};

// Keys of the drawing: those of `keys`, and arrows, which move into a direction.
xoff.networkKeys = (canvas, keys, move) => {
  /** @type {Record<string, Point>} */
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !(e.key in ARROWS || e.key in keys)) return;
    e.preventDefault();
    if (e.key in keys) keys[e.key]();
    else move(...ARROWS[e.key]);
  });
};

xoff.network = (net, { value, ink, tooltip, pick, cycles, name }) => {
  const { el, onTheme, save, tools } = xoff;
  const { nodes, ports } = net;
  const place = xoff.networkPlace(net);
  const painter = xoff.networkPainter(net, place, { value, cycles, ink });
  const help = "Network. Arrow keys move between links, Enter chooses one, plus and minus zoom, 0 shows all. The table of ports holds the same values.";
  const canvas = el("canvas", { role: "application", tabindex: 0, "aria-label": help });
  const tip = el("div.tip", { hidden: true, role: "status" });
  const box = el("div.canvas", {}, canvas, tip);
  let [selected, hovered, due] = [-1, -1, false];
  const draw = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => ((due = false), painter.paint(canvas, selected, hovered)));
  };
  new ResizeObserver(() => {
    const rect = box.getBoundingClientRect();
    if (!rect.width) return;
    const ratio = window.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [Math.round(rect.width * ratio), Math.round(rect.height * ratio)];
    place.resize(rect.width, rect.height);
    painter.paint(canvas, selected, hovered);
  }).observe(box);
  onTheme(draw);
  /** @param {number} factor @param {number} [x] @param {number} [y] */
  const zoom = (factor, x, y) => (xoff.networkZoom(place, factor, x, y), draw());
  const reset = () => ((place.view.scale = 1), (place.view.x = place.view.y = 0), draw());
  /** @param {string} text @param {number} [x] @param {number} [y] */
  const show = (text, x, y) => xoff.networkTip(tip, place.size, text, x, y);
  /** @param {number} port */
  const aim = (port) => {
    if (port === hovered) return;
    hovered = port;
    draw();
  };
  /** @param {number} x @param {number} y */
  const hover = (x, y) => {
    const { port, node } = place.hit(x, y);
    const text = port >= 0 ? tooltip(port) : node >= 0 ? nodes.name[node] : "";
    canvas.style.cursor = text ? "pointer" : "grab";
    show(text, x, y);
    aim(port);
  };
  /** @param {number} node */
  const busiest = (node) => {
    let best = -1;
    for (let p = 0; p < ports.node.length; p++) if (ports.node[p] === node && (best < 0 || value(p) > value(best))) best = p;
    return best;
  };
  /** @param {number} x @param {number} y */
  const click = (x, y) => {
    const { port, node } = place.hit(x, y);
    if (port >= 0) pick(port);
    else if (node >= 0) pick(busiest(node));
  };
  xoff.networkPointer(canvas, place, { zoom, hover, click, draw });
  const leave = () => (show(""), aim(-1));
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("blur", leave);
  xoff.networkKeys(canvas, { "+": () => zoom(1.6), "-": () => zoom(1 / 1.6), 0: reset, Escape: leave, Enter: () => hovered >= 0 && pick(hovered) }, (dx, dy) => {
    const port = hovered >= 0 ? place.towards(hovered, dx, dy) : Math.max(0, selected);
    aim(port);
    show(tooltip(port), ...place.middle(port));
  });
  /** @type {Tool[]} */
  const buttons = [["+", () => zoom(1.6), "Zoom in"], ["−", () => zoom(1 / 1.6), "Zoom out"], ["Fit", reset, "Show all"],
    ["SVG", () => save(`${name}.svg`, "image/svg+xml", xoff.networkSvg(net, place, painter, tooltip))], ["PNG", () => canvas.toBlob((/** @type {Blob | null} */ b) => save(`${name}.png`, "image/png", b))]];
  return {
    element: box, tools: tools(buttons), draw, recolour: () => (painter.recolour(), draw()), view: place.view, middle: place.middle, at: place.at,
    select: (port) => ((selected = port), draw()), scheme: () => painter.scheme, labels: () => painter.labels, hovered: () => hovered,
  };
};
