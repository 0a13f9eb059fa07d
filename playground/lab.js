// @ts-check
// The lab: questions whose answers a run judges. It follows docs/tutorials/teacher.md.
"use strict";
/** @typedef {{ what: string, fits: (answer: string) => boolean }} Form */
/** @typedef {{ title: string, text: string, ask: string, choices?: string[], form?: Form, of?: string, args: (answer: string) => string[], judge: (answer: string, json: any, table: (name: string, column: string) => number[]) => boolean, why: string }} Question */
const RING = ["run", "ring.toml", "--out", "out/lab", "--format", "csv"];
const TREE = ["tree", "tcd.toml", "500us"];
/** Settings as arguments. @param {string} answer */
const given = (answer) => wordsOf(answer).flatMap((s) => ["--set", s]);
/** @param {string} text */
const same = (text) => text.trim().toLowerCase().replace(/\s*(->|:)\s*/, "->");
/** Adds numbers up. @param {number[]} numbers */
const total = (numbers) => numbers.reduce((sum, n) => sum + n, 0);
/** Forms of an answer, tested before a run. @type {Record<string, Form>} */
const FORMS = {
  port: { what: "a port, such as H1->S1", fits: (answer) => /^[\w.-]+->[\w.-]+$/.test(same(answer)) },
  number: { what: "a whole number, such as 12", fits: (answer) => /^\s*\d{1,9}\s*$/.test(answer) },
  setting: { what: "one setting, such as switch.buffer=2MB", fits: (answer) => wordsOf(answer).length === 1 && FORMS.settings.fits(answer) },
  settings: { what: "settings, such as run.seed=2 switch.buffer=2MB", fits: (answer) => wordsOf(answer).length > 0 && wordsOf(answer).every((w) => /^[\w.[\]-]+=./s.test(w)) },
};
/** @type {Question[]} */
const QUESTIONS = [
  {
    title: "The smallest deadlock",
    text: "Three switches in a ring have one host each. Every host sends to the host two switches further on. Run the preset “Ring”, and look at the report: nothing was lost, no link failed, and nothing moves any more.",
    ask: "S1->S2 waits for which port?",
    form: FORMS.port,
    args: () => RING,
    judge: (answer, json) => {
      const ports = json.verdict.deadlock.ports;
      return same(ports[(ports.indexOf("S1->S2") + 1) % ports.length]) === same(answer);
    },
    why: "Each switch stores frames that only the next switch could take. The deadlock is a circle of buffers, not of packets.",
  },
  {
    title: "Could we have known?",
    text: "The circle is in the routes before the first frame is sent. `check` finds it without a run; open “Your own files, and any command”, and ask: check ring.toml",
    ask: "How many buffers wait for each other in a circle?",
    form: FORMS.number,
    args: () => ["check", "ring.toml"],
    judge: (answer, json) => Number(answer) === json.cyclic_buffers,
    why: "Each buffer of the circle is behind a port of the ring; the answer lists remedies, each proved by a second search.",
  },
  {
    title: "Is it PFC's fault?",
    text: "Credits never send a pause: a sender sends only as many bytes as it has credits for. Gentle Flow Control slows the port down.",
    ask: "With which flow control is no port of this ring blocked at all?",
    choices: ["pfc", "cbfc", "gfc-buffer"],
    args: (answer) => [...RING, "--set", `flow_control=${answer}`],
    judge: (_, __, table) => total(table("ports", "blocked_ps")) === 0,
    why: "The lack of credits blocks ports as well. GFC stops nothing, so no port waits forever.",
  },
  {
    title: "The order of service decides",
    text: "Keep PFC, its thresholds and the routes. Change how an egress port serves the ports that its frames came from.",
    ask: "Which setting (key=value) keeps the ring alive for 20 ms?",
    form: FORMS.setting,
    args: (answer) => [...RING, ...given(answer)],
    judge: (answer, json) => wordsOf(answer)[0].startsWith("switch.discipline=") && json.verdict.answer === "yes",
    why: "With round robin the frames that close the circle wait behind others. The circle of question 2 is still there: it did not close in this run.",
  },
  {
    title: "A congestion tree",
    text: "Hosts H7 and H8 send bursts to H6, and a tree of paused ports grows from one bottleneck against the traffic. Run the preset “Congestion tree”; then ask: tree out/A 500us",
    ask: "Which port is congested, and does not merely wait for a congested one?",
    form: FORMS.port,
    of: "congestion-tree",
    args: () => TREE,
    judge: (answer, json) => json.branches.some((/** @type {any} */ b) => b.role === "congested" && same(b.port) === same(answer)),
    why: "Every other port of the tree waits for it. If it were faster, none of them would stop.",
  },
  {
    title: "Victims",
    text: "The answer to the same command names the flows through ports that only wait. Such a flow never meets the bottleneck, and suffers all the same.",
    ask: "Which flow is the victim (its number)?",
    form: FORMS.number,
    of: "congestion-tree",
    args: () => TREE,
    judge: (answer, json) => json.victims.length === 1 && json.victims[0].flow === Number(answer),
    why: "Its host must not slow down: that would help nobody. The hosts of the bursts should.",
  },
  {
    title: "Which marks tell them apart?",
    text: "A switch marks frames to tell hosts that they should slow down. A mark that the victim receives too is a false accusation.",
    ask: "With which detection do frames of the victim carry marks that say “undetermined”?",
    choices: ["red", "np-ecn", "tcd"],
    of: "congestion-tree",
    args: (answer) => ["run", "tcd.toml", "--out", "out/lab", "--format", "csv", "--set", `detection=${answer}`],
    judge: (_, __, table) => table("flows", "ue_frames")[0] > 0,
    why: "RED sees a long queue and marks it. Ternary congestion detection knows that the port was paused, and says so.",
  },
  {
    title: "Hand in",
    text: "Repair the ring by the flow control only; switches stay FIFO. No deadlock, no lost frame, and every flow gets at least 3 Gb/s on average over 20 ms.",
    ask: "Your settings (key=value key=value)",
    form: FORMS.settings,
    args: (answer) => [...RING, ...given(answer)],
    judge: (answer, json, table) =>
      wordsOf(answer).every((s) => /^flow_control\b/.test(s)) && json.verdict.answer === "yes" && json.verdict.lost_frames === 0 && Math.min(...table("flows", "bytes_delivered")) * 8 >= 3e9 * 20e-3,
    why: "A run of your settings passed. The teacher can grade a file of answers in the same way, with Python.",
  },
];
{
  const box = byId("lab");
  let at = 0;
  /** The worker of a judged answer. @type {Worker | undefined} */
  let judging;
  /** Number of the last judged answer. */
  let judged = 0;
  /** Runs the command of an answer. Returns its JSON, and its tables by name and column. @param {Question} q @param {string} answer */
  const tried = async (q, answer) => {
    const { name, text } = /** @type {Preset} */ (preset(q.of ?? "ring"));
    const { answer: said, files } = await askShown([...q.args(answer), "--json"], new Map([[name, bytesOf(text)]]), undefined, (w) => (judging = w));
    const table = (/** @type {string} */ of, /** @type {string} */ column) => {
      const [head, ...rows] = new TextDecoder().decode(files.get(`out/lab/${of}.csv`)).trim().split("\n").map((l) => l.split(","));
      const column_ = head.indexOf(column);
      if (column_ < 0) throw new Error(`the table ${of} has no column ${column}`);
      return rows.map((r) => Number(r[column_]));
    };
    return { said, table };
  };
  const draw = () => {
    const q = QUESTIONS[at];
    const verdict = el("p", { role: "status" });
    const answer = /** @type {HTMLInputElement} */ (q.choices ? el("select", {}, q.choices.map((c) => el("option", {}, c))) : el("input", { spellcheck: "false", autocomplete: "off", autocapitalize: "off" }));
    const next = el("button", { type: "button", hidden: true, onclick: () => (at++, draw()) }, "Next question");
    const judge = async (/** @type {Event} */ e) => {
      e.preventDefault();
      verdict.className = "";
      if (judging) halt(judging);
      const mine = ++judged;
      if (q.form && !q.form.fits(answer.value)) {
        verdict.className = "wrong";
        verdict.textContent = `Expected ${q.form.what}.`;
        return;
      }
      verdict.textContent = "Running...";
      try {
        const { said, table } = await tried(q, answer.value);
        if (mine !== judged) return;
        const known = said.exit !== 2;
        const right = known && q.judge(answer.value, JSON.parse(said.stdout), table);
        verdict.className = right ? "right" : "wrong";
        verdict.textContent = right ? `Right. ${q.why}` : known ? "No: a run of your answer shows something else. Try again." : `The simulator does not know that: ${said.stderr.trim().split("\n")[0].replace(/^×\s*/, "")}`;
        next.hidden = !right || at + 1 === QUESTIONS.length;
        if (right && at + 1 === QUESTIONS.length) verdict.textContent += " That was the last question.";
        if (!next.hidden) next.focus();
      } catch (failed) {
        if (mine === judged) verdict.textContent = `Not judged: ${/** @type {Error} */ (failed).message}. Judge again.`;
      }
    };
    // Browsers do nothing with Enter in a list.
    answer.addEventListener("keydown", (e) => q.choices && e.key === "Enter" && (e.preventDefault(), answer.form?.requestSubmit()));
    box.replaceChildren(el("h2", {}, `${at + 1} of ${QUESTIONS.length}. ${q.title}`), el("p", {}, q.text), el("form.line", { onsubmit: judge }, el("label.grow", {}, q.ask, answer), el("button", {}, "Judge by a run")), verdict, next);
    answer.focus();
  };
  /** @param {boolean} open */
  const turn = (open) => {
    box.hidden = !open;
    byId("lab-open").setAttribute("aria-expanded", String(open));
    if (open) draw();
    else if (location.hash === "#lab=1") history.replaceState(null, "", location.href.replace(/#.*/s, "")); // the same link opens it again
  };
  byId("lab-open").addEventListener("click", () => turn(box.hidden));
  const named = () => location.hash === "#lab=1" && turn(true);
  addEventListener("hashchange", named);
  engine.then(named, () => {});
}
