// @ts-check
// Why ports wait: the chain from the chosen port to its root, and the pause trees of the network.
"use strict";
// Waiters are rows [port, priority, since (null: rate-limited), [[port waited for, flow, bytes], ...]].
xoff.waiters = (run) => {
  // The last sample at or before the present one that recorded them.
  for (let i = run.state.sample; run.course && i >= 0; i--) {
    const list = run.course.waiters[i];
    if (list) return { at: run.course.times[i], sample: i, list };
  }
  return { at: 0, sample: 0, list: [] };
};
// Bytes behind a port by one column of the rows, largest first.
xoff.waitSums = (behind, which) => {
  const by = new Map();
  for (const share of behind) by.set(share[which], (by.get(share[which]) || 0) + share[2]);
  return [...by].sort((a, b) => b[1] - a[1]);
};
xoff.held = (w) => w[3].reduce((a, s) => a + s[2], 0);

// The steps from a waiting port to the root, for one of its priorities.
xoff.runSteps = (run, list, first) => {
  const { el, time, bytes, several, waitSums } = xoff;
  const { nodes, flows } = run.data;
  const STEPS_MAX = 14;
  /** @param {Waiter} w */
  const since = (w) => (w[2] === null ? "is rate-limited" : `has been paused since ${time(w[2], 4)}`);
  /** @param {number} f */
  const flowName = (f) => (flows.ends[f] ? `flow ${f} (${nodes.name[flows.ends[f][0]]} to ${nodes.name[flows.ends[f][1]]})` : `flow ${f}`);
  const steps = [];
  /** @type {number[]} */
  const seen = [];
  /** @type {Waiter | undefined} */
  let w = first;
  let [here, slowed] = [first[0], false];
  while (w && w[3].length && !seen.includes(here)) {
    seen.push(here);
    slowed ||= w[2] === null;
    const [outs, from] = [waitSums(w[3], 0), waitSums(w[3], 1)];
    const held = bytes(xoff.held(w));
    const targets = outs.length === 1 ? [` in ${run.peer(here)}, blocked on `, run.portName(outs[0][0])]
      : [` in ${run.peer(here)}, blocked on `, outs.slice(0, 3).flatMap(([o, b], i) => [i ? ", " : "", run.portName(o), ` (${bytes(b)})`]), outs.length > 3 ? ` and ${outs.length - 3} more` : ""];
    steps.push(el("li", {}, run.portName(here), ` ${since(w)} (priority ${w[1]}): ${held}`, targets, ".",
      el("div.note", {}, `${from.slice(0, 3).map(([f, b]) => `${flowName(f)}${from.length > 1 ? `: ${bytes(b)}` : ""}`).join(", ")}${from.length > 3 ? ` and ${several(from.length - 3, "more flow")}` : ""}`)));
    here = outs[0][0];
    w = list.find((x) => x[0] === here && x[1] === first[1]);
  }
  const far = run.peer(here);
  const root = seen.includes(here) && slowed
    ? el("p.root", {}, "Root: these ports slow each other down in a cycle that starts with ", run.portName(here), "; all of them still send.")
    : seen.includes(here)
    ? el("p.root.bad", {}, "Root: these ports wait for each other in a cycle that starts with ", run.portName(here), ".")
    : w
    ? el("p.root.bad", {}, "Root: ", run.portName(here), ` ${since(w)} (priority ${w[1]}) by ${far}, which buffers none of its frames: ${far} itself is the cause.`)
    : el("p.root", {}, "Root: ", run.portName(here), " is the bottleneck: it was free to send, and receives more traffic than its link carries.");
  const rest = steps.length - STEPS_MAX;
  return [root, el("ol", {}, steps.slice(0, STEPS_MAX)), rest > 0 ? el("p.note", {}, `and ${several(rest, "more step")}`) : ""];
};

// Elements that explain a port at the time of the slider.
xoff.runChain = (run, p) => {
  const { el, time, quoted } = xoff;
  const { at, list } = xoff.waiters(run);
  const own = list.filter((w) => w[0] === p);
  // The time of the shown sample, so that the command gives the same answer. A real-frame run cannot be repeated.
  const then = own.length ? at : run.course ? run.course.times[run.state.sample] : run.data.end_ps;
  const command = el("code.command", {}, `xoff explain ${quoted(run.data.folder)} ${run.typed(p)} ${time(then, 9).replace(" ", "")}`);
  const rest = run.data.real ? "" : el("p.note", {}, "The whole chain, from a repeated run: ", command);
  const answer = el("div", { id: "explained" });
  const ask = async () => {
    answer.replaceChildren(el("p.note", {}, "xoff repeats the run up to this time ..."));
    const reply = await fetch(`api/explain?port=${encodeURIComponent(run.names[p])}&at_ps=${then}`);
    answer.replaceChildren(el("pre", {}, await reply.text()));
  };
  if (run.data.served && !run.data.real) rest.append(" ", el("button", { type: "button", onclick: ask }, "run it here"));
  if (own.length) return [...own.flatMap((w) => xoff.runSteps(run, list, w)), el("p.note", {}, `Values at ${time(at, 4)}.`), rest, answer];
  return [el("p", {}, run.course ? `At ${time(then, 4)} flow control neither pauses nor limits this port while ${run.peer(p)} buffers its frames.` : "This run recorded no waiting ports over time."), rest, answer];
};

// Trees of the waiting ports: below each port those whose frames wait for it. A place is a port and a priority.
xoff.pauseTrees = (list, hasQueue) => {
  /** @param {number} port @param {number} priority */
  const place = (port, priority) => port * 8 + priority;
  const waits = new Map(list.map((w) => [place(w[0], w[1]), w]));
  const parent = new Map(list.filter((w) => w[3].length).map((w) => [place(w[0], w[1]), place(xoff.waitSums(w[3], 0)[0][0], w[1])]));
  /** @type {Map<number, number[]>} */
  const children = new Map();
  for (const [child, p] of parent) children.set(p, [...(children.get(p) || []), child]);
  /** @type {(place: number, seen?: Set<number>) => number} */
  const size = (p, seen = new Set()) => {
    if (seen.has(p)) return 0;
    seen.add(p);
    return (children.get(p) || []).reduce((sum, child) => sum + size(child, seen), 1);
  };
  // Roots: ports that others wait for, and paused ports with frames to send.
  const alone = list.filter((w) => !w[3].length && !children.has(place(w[0], w[1])) && hasQueue(w[0]));
  const roots = [...new Set([...parent.values()].filter((p) => !parent.has(p)))].sort((a, b) => size(b) - size(a));
  roots.push(...alone.map((w) => place(w[0], w[1])));
  return { waits, parent, children, roots, port: (k) => Math.floor(k / 8), priority: (k) => k % 8, several: new Set(list.map((w) => w[1])).size > 1 };
};

xoff.runTrees = (run) => {
  const { el, byId, time, bytes, several } = xoff;
  const LINES = 32;
  const tree = el("div.tree", { id: "tree" });
  /** @param {Waiter | undefined} w */
  const stateOf = (w) => {
    if (!w) return "free to send";
    const held = xoff.held(w);
    if (!held) return `paused since ${time(w[2], 4)} by ${run.peer(w[0])}, which buffers none of its frames`;
    return w[2] === null ? `rate-limited, ${bytes(held)} in ${run.peer(w[0])}` : `paused since ${time(w[2], 4)}, ${bytes(held)} in ${run.peer(w[0])}`;
  };
  /** @param {Trees} t */
  const branches = (t) => {
    const shown = new Set();
    /** @type {(place: number) => HTMLElement} */
    const draw = (k) => {
      shown.add(k);
      /**  */
      const below = (t.children.get(k) || []).filter((c) => !shown.has(c));
      const room = Math.max(0, LINES - shown.size);
      return el("li", {}, run.portName(t.port(k)), t.several ? ` priority ${t.priority(k)}` : "", " ", el("span.note", {}, stateOf(t.waits.get(k))),
        below.length ? el("ul", {}, below.slice(0, room).map(draw), below.length > room ? el("li.note", {}, `and ${below.length - room} more`) : "") : "");
    };
    const all = t.roots.slice(0, 8).map((r) => el("ul.top", {}, draw(r)));
    let cycles = 0;
    for (const p of t.parent.keys()) {
      if (shown.has(p) || cycles > 4) continue;
      /** @type {number | undefined} */
      let at = p;
      /** @type {number[]} */
      const way = [];
      while (at !== undefined && !way.includes(at)) (way.push(at), (at = t.parent.get(at)));
      if (at === undefined || shown.has(at)) continue;
      cycles++;
      all.push(el("ul.top", {}, el("li.note", {}, "in a cycle:"), draw(at)));
    }
    return all;
  };
  run.drawTree = () => {
    const { at, sample, list } = xoff.waiters(run);
    if (!run.course) return tree.replaceChildren(el("p", {}, "This run recorded no waiting ports over time."));
    const t = xoff.pauseTrees(list, (p) => run.of(run.over().egress, p, sample) > 0);
    const all = branches(t);
    if (!all.length) return tree.replaceChildren(el("p", {}, `At ${time(run.course.times[run.state.sample], 4)} no frame waits for a port that flow control pauses or limits.`));
    return tree.replaceChildren(el("p.note", {}, `At ${time(at, 4)}. Frames of the ports below a port wait for it.`), ...all,
      t.roots.length > 8 ? el("p.note", {}, `and ${several(t.roots.length - 8, "smaller tree")}`) : "");
  };
  byId("waits").append(tree);
  run.changed.push(run.drawTree);
};
