// Compare two systems task by task: fetch the results of each, count, and draw the tables. The numbers equal those of
// `bashboard compare`. Text of a submission is set as text, with hidden characters written out.

import { BoardTable } from "./board.js";
import { resultsOf } from "./results.js";

const MOST = 400; // characters of one command or reason; the submissions' pages and files have the rest

// The classification of `evaluator/escaping.py`: what a reader cannot see, blank letters, and stacked accents.
export const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|(?! )\p{Zs}|[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]|(?<=\p{M}{2}|^\p{M}?)\p{M}/gu;

export const make = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.filter((child) => child !== null));
  return made;
};

/** Text of a record: bytes that are not UTF-8 come in base64, and are written out where they are not ASCII. */
const textOf = (value) => typeof value === "string" ? value
  : [...atob(value.base64)].map((c) => c < "\x80" ? c : `<0x${c.charCodeAt(0).toString(16).toUpperCase()}>`).join("");

/** Nodes of a text in which everything invisible is written out and marked, cut where it is long. */
export const shown = (value) => {
  const text = textOf(value);
  const cut = text.length > MOST ? text.slice(0, MOST) : text;
  const nodes = [];
  let from = 0;
  for (const { 0: hidden, index } of cut.matchAll(HIDDEN)) {
    const code = hidden.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    nodes.push(cut.slice(from, index), make("span", { className: "mark", textContent: hidden === "\n" ? "↵" : `<U+${code}>` }));
    from = index + hidden.length;
  }
  nodes.push(cut.slice(from));
  if (cut !== text) nodes.push(make("span", { className: "cut", textContent: `… ${text.length - MOST} more characters` }));
  return nodes;
};

/** Twice the smaller binomial tail at 1/2 (McNemar 1947), at most 1. */
export const mcnemar = (b, c) => {
  const total = b + c;
  let log = -total * Math.LN2;
  let tail = Math.exp(log);
  for (let taken = 0; taken < Math.min(b, c); taken += 1) {
    log += Math.log((total - taken) / (taken + 1));
    tail += Math.exp(log);
  }
  return Math.min(1, 2 * tail);
};

const Z = 1.959963984540054;

const reach = (passed, total) => {
  const share = passed / total;
  const centre = share + Z * Z / (2 * total);
  const spread = Z * Math.sqrt(share * (1 - share) / total + Z * Z / (4 * total * total));
  const scale = 1 + Z * Z / total;
  return [share - Math.max(0, (centre - spread) / scale), Math.min(1, (centre + spread) / scale) - share];
};

/** Bounds of the difference between two paired shares: method 10 of Newcombe 1998. */
export const interval = ({ both, a, b, neither }) => {
  const total = both + a + b + neither;
  if (!total) return [-1, 1];
  const margins = (both + a) * (b + neither) * (both + b) * (a + neither);
  let product = both * neither - a * b;
  if (product > 0) product = Math.max(0, product - total / 2);
  const phi = margins ? product / Math.sqrt(margins) : 0;
  const [below1, above1] = reach(both + a, total);
  const [below2, above2] = reach(both + b, total);
  const width = (one, other) => Math.sqrt(Math.max(0, one * one - 2 * phi * one * other + other * other));
  const difference = (a - b) / total;
  return [Math.max(-1, difference - width(below1, above2)), Math.min(1, difference + width(above1, below2))];
};

const points = (share) => `${share < 0 ? "−" : "+"}${Math.abs(100 * share).toFixed(1)}`;
const pWords = (p) => p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`;
const WORDS = { both: "both", a: "only A", b: "only B", neither: "neither" };

const fetched = async (address) => {
  const reply = await fetch(address);
  if (!reply.ok) throw new Error(`${address}: ${reply.status}`);
  return reply.text();
};

const answersOf = async (slug) => {
  const results = await resultsOf(`../submissions/${slug}.jsonl.gz`);
  return new Map(results.filter((row) => row.rank === 1).map((row) => [row.task, row]));
};

const counted = (pairs) => {
  const counts = { both: 0, a: 0, b: 0, neither: 0 };
  for (const { kind } of pairs) counts[kind] += 1;
  return counts;
};

const head = (columns) => make("thead", {}, make("tr", {}, ...columns.map(([key, title, kind, facet]) => {
  const cell = make("th", { scope: "col" }, make("span", { className: "title", textContent: title }));
  Object.assign(cell.dataset, { key, kind: kind ?? "text" }, facet ? { facet: "" } : {});
  return cell;
})));

const table = (id, caption, columns, rows, kind = "") => {
  const drawn = make("table", { id, className: `board-table ${kind}` },
    make("caption", { id: `${id}-caption`, textContent: caption }), head(columns), make("tbody", {}, ...rows));
  const frame = make("div", { className: "board-scroll", tabIndex: 0 }, drawn);
  frame.setAttribute("role", "region");
  frame.setAttribute("aria-labelledby", `${id}-caption`);
  return frame;
};

const number = (value, text = `${value}`) => {
  const cell = make("td", { className: "number", textContent: text });
  cell.dataset.value = value;
  return cell;
};

const groups = (id, caption, title, pairs, namesOf) => {
  const held = new Map();
  for (const pair of pairs) for (const name of namesOf(pair)) held.set(name, [...(held.get(name) ?? []), pair]);
  const rows = [...held].sort(([a], [b]) => a < b ? -1 : 1).map(([name, members]) => {
    const counts = counted(members);
    return make("tr", {}, make("th", { scope: "row" }, ...shown(name)),
      ...Object.values(counts).map((count) => number(count)), number(mcnemar(counts.a, counts.b), pWords(mcnemar(counts.a, counts.b))));
  });
  const columns = [["name", title], ...Object.entries(WORDS).map(([key, word]) => [key, word, "number"]), ["p", "p", "number"]];
  return table(id, caption, columns, rows);
};

// The classes of `evaluator/records/metrics.py`, in the order in which they are tried.
const CLASSES = ["no command", "right text but wrong effect", "effect right but text far", "wrong utility", "wrong flags",
  "wrong arguments", "wrong effect"];

const errorRows = (pairs) => CLASSES.map((name) => {
  const [ones, others] = ["one", "other"].map((side) => pairs.filter((pair) => pair[side].error === name).length);
  return make("tr", {}, make("th", { scope: "row", textContent: name }), number(ones), number(others));
});

const verdict = ({ finding, command }) => make("td", { className: "decided" },
  make("span", { className: `verdict verdict--${finding.outcome}`, textContent: finding.outcome }), " ",
  finding.step ? make("span", { className: "step", textContent: finding.step }) : null, " ",
  ...shown(finding.reason ?? ""),
  finding.place ? make("small", { className: "where" }, ...shown(finding.place)) : null,
  command ? make("div", {}, make("code", { className: "command", dir: "ltr" }, ...shown(command))) : null);

const taskRow = ({ task, topic, kind, one, other }) => {
  const name = make("th", { scope: "row" }, make("a", { href: `../tasks/${task}/`, textContent: task }));
  name.dataset.value = task;
  return make("tr", {}, name, make("td", { textContent: WORDS[kind] }), make("td", { textContent: topic }),
    verdict(one), verdict(other));
};

const figures = (counts, total) => {
  const [low, high] = interval(counts);
  const p = mcnemar(counts.a, counts.b);
  const entries = [
    ...Object.entries(WORDS).map(([key, word]) => [`Passed by ${word}`, `${counts[key]}`, `of ${total}`]),
    ["A − B, accuracy", points(total ? (counts.a - counts.b) / total : 0), `points, 95 % interval ${points(low)} to ${points(high)}`],
    ["McNemar, exact", pWords(p), p <= 0.05 ? "distinguishable by these tasks alone" : "not distinguishable"],
  ];
  return make("dl", { className: "figures" }, ...entries.map(([name, value, note]) => make("div", {},
    make("dt", { textContent: name }), make("dd", {}, `${value} `, make("small", { className: "note", textContent: note })))));
};

const draw = (place, pairs, left) => {
  const counts = counted(pairs);
  const columns = [["task", "Task"], ["passed", "Passed by", "text", true], ["topic", "Topic", "text", true],
    ["a", "A", "none"], ["b", "B", "none"]];
  const rows = [...pairs].sort((x, y) => (x.kind === "a" || x.kind === "b" ? 0 : 1) - (y.kind === "a" || y.kind === "b" ? 0 : 1));
  place.replaceChildren(
    figures(counts, pairs.length),
    ...(left ? [make("p", { className: "note", textContent: `${left} tasks are left out: not asked of both, or our machinery failed.` })] : []),
    make("h2", { textContent: "The tasks" }),
    table("tasks", "Tasks that only one of the two passes come first.", columns, rows.map(taskRow), "board-table--verdicts"),
    make("h2", { textContent: "How they fail" }),
    table("errors-table", "Tasks that a system does not pass, by class of error.",
      [["class", "Class of error"], ["a", "A", "number"], ["b", "B", "number"]], errorRows(pairs)),
    make("h2", { textContent: "By topic" }),
    groups("topics", "Tasks by topic.", "Topic", pairs, ({ topic }) => [topic]),
    make("h2", { textContent: "By utility" }),
    groups("utilities", "A task counts for every utility that its references call.", "Utility", pairs, ({ utilities }) => utilities),
  );
  for (const drawn of place.querySelectorAll("table")) {
    drawn.dataset.ready = "";
    new BoardTable(drawn);
  }
};

class Comparison {
  constructor(form) {
    this.form = form;
    this.place = form.nextElementSibling;
    this.status = form.querySelector("[role=status]");
    [this.a, this.b] = form.querySelectorAll("select");
    this.b.append(...[...this.a.options].map((option) => option.cloneNode(true)));
    if (this.a.options.length < 2) return;
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", () => this.choose());
    this.read();
  }

  read() {
    const given = new URLSearchParams(location.search);
    this.a.value = given.get("a") ?? this.a.options[0].value;
    this.b.value = given.get("b") ?? this.b.options[1].value;
    const unknown = ["a", "b"].find((name) => this[name].selectedIndex < 0);
    if (unknown) this.say(`There is no system ${given.get(unknown)} on this board.`);
    else this.show();
  }

  choose() {
    const address = new URL(location.href);
    address.searchParams.set("a", this.a.value);
    address.searchParams.set("b", this.b.value);
    history.replaceState(history.state, "", address);
    this.show();
  }

  say(words) {
    this.status.textContent = words;
    this.place.replaceChildren();
  }

  async show() {
    const [a, b] = [this.a.value, this.b.value];
    if (!a || !b) return;
    if (a === b) {
      this.say("Choose two different systems.");
      return;
    }
    try {
      const [tasks, ones, others] = await Promise.all([fetched("../tasks.json").then(JSON.parse), answersOf(a), answersOf(b)]);
      if (a !== this.a.value || b !== this.b.value) return; // the reader chose others meanwhile
      this.compare(tasks, ones, others);
    } catch (error) {
      this.say(`This could not be fetched: ${error.message}`);
    }
  }

  compare(tasks, ones, others) {
    const pairs = [];
    for (const { id, topic, utilities } of tasks) {
      const [one, other] = [ones.get(id), others.get(id)];
      if (!one || !other || [one, other].some(({ finding }) => finding.outcome === "infra-error")) continue;
      const [first, second] = [one, other].map(({ finding }) => finding.outcome === "pass");
      const kind = first ? (second ? "both" : "a") : second ? "b" : "neither";
      pairs.push({ task: id, topic, utilities, kind, one, other });
    }
    draw(this.place, pairs, tasks.length - pairs.length);
    this.status.textContent = `${pairs.length} tasks compared`;
  }
}

for (const form of document.querySelectorAll("form[data-compare]")) new Comparison(form);
