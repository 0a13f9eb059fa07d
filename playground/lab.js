// @ts-check
// The lab: questions whose answers a run judges. It follows docs/tutorials/teacher.md.
"use strict";
/** @typedef {{ title: string, text: string, ask: string, choices?: string[], args: (answer: string) => string[], judge: (answer: string, json: any) => boolean, why: string }} Question */
/** Total of a column of numbers in the text of a CSV file. @param {string} csv @param {string} column */
const total = (csv, column) => {
  const [head, ...rows] = csv.trim().split("\n").map((l) => l.split(","));
  return rows.reduce((sum, r) => sum + Number(r[head.indexOf(column)]), 0);
};
const RING = ["run", "ring.toml", "--out", "out/lab", "--format", "csv"];
/** @type {Question[]} */
const QUESTIONS = [
  {
    title: "1. The smallest deadlock",
    text: "Three switches in a ring have one host each. Every host sends to the host two switches further on. Run the preset “Ring”, and look at the report: nothing was lost, no link failed, and nothing moves any more.",
    ask: "S1->S2 waits for which port?",
    args: () => RING,
    judge: (answer, json) => {
      const ports = json.verdict.deadlock.ports;
      return ports[(ports.indexOf("S1->S2") + 1) % ports.length] === answer.trim().replace(":", "->");
    },
    why: "Each switch stores frames that only the next switch could take. The deadlock is a circle of buffers, not of packets.",
  },
  {
    title: "2. Could we have known?",
    text: "The circle is in the routes before the first frame is sent. `check` finds it without a run; open “Your own files, and any command”, and ask: check ring.toml",
    ask: "How many buffers wait for each other in a circle?",
    args: () => ["check", "ring.toml"],
    judge: (answer, json) => Number(answer) === json.cyclic_buffers,
    why: "Each buffer of the circle is behind a port of the ring; the answer lists remedies, each proved by a second search.",
  },
  {
    title: "3. Is it PFC's fault?",
    text: "Credits never send a pause: a sender sends only as many bytes as it has credits for. Gentle Flow Control slows the port down.",
    ask: "With which flow control is no port of this ring blocked at all?",
    choices: ["pfc", "cbfc", "gfc-buffer"],
    args: (answer) => [...RING, "--set", `flow_control=${answer}`],
    judge: (_, json) => json.csv !== undefined && total(json.csv, "blocked_ps") === 0,
    why: "The lack of credits blocks ports as well. GFC stops nothing, so no port waits forever.",
  },
  {
    title: "4. The order of service decides",
    text: "Keep PFC, its thresholds and the routes. Change how an egress port serves the ports that its frames came from.",
    ask: "Which setting (key=value) keeps the ring alive for 20 ms?",
    args: (answer) => [...RING, "--set", answer.trim()],
    judge: (answer, json) => /^switch\.discipline=/.test(answer.trim()) && json.verdict.answer === "yes",
    why: "With round robin the frames that close the circle wait behind others. The circle of question 2 is still there: it did not close in this run.",
  },
];
{
  const box = byId("lab");
  let at = 0;
  const draw = () => {
    const q = QUESTIONS[at];
    const verdict = el("p", { role: "status" });
    const answer = /** @type {HTMLInputElement} */ (q.choices ? el("select", { "aria-label": q.ask }, q.choices.map((c) => el("option", {}, c))) : el("input", { "aria-label": q.ask, spellcheck: "false" }));
    const next = el("button", { type: "button", hidden: true, onclick: () => (at++, draw()) }, "Next question");
    const judge = async (/** @type {Event} */ e) => {
      e.preventDefault();
      verdict.className = "";
      verdict.textContent = "Running...";
      const ring = new Map([["ring.toml", bytesOf(/** @type {Preset} */ (preset("ring")).text)]]);
      const done = await ask([...q.args(answer.value), "--json"], ring).catch((/** @type {Error} */ e) => e);
      if (done instanceof Error) return void (verdict.textContent = `Not judged: ${done.message}. Judge again.`);
      const { answer: given, files } = done;
      const csv = files.get("out/lab/ports.csv");
      const json = given.exit === 2 ? undefined : { ...JSON.parse(given.stdout), csv: csv && new TextDecoder().decode(csv) };
      const right = json !== undefined && q.judge(answer.value, json);
      verdict.className = right ? "right" : "wrong";
      verdict.textContent = right ? `Right. ${q.why}` : json === undefined ? `The simulator does not know that: ${given.stderr.trim().split("\n")[0]}` : "No: a run of your answer shows something else. Try again.";
      next.hidden = !right || at + 1 === QUESTIONS.length;
      if (right && at + 1 === QUESTIONS.length) verdict.textContent += " That was the last question.";
      if (!next.hidden) next.focus();
    };
    box.replaceChildren(el("h2", {}, q.title), el("p", {}, q.text), el("form.line", { onsubmit: judge }, el("label.grow", {}, q.ask, answer), el("button", {}, "Judge by a run")), verdict, next);
    answer.focus();
  };
  byId("lab-open").addEventListener("click", () => {
    box.hidden = !box.hidden;
    if (!box.hidden) draw();
  });
  if (location.hash === "#lab=1") engine.then(() => byId("lab-open").click());
}
