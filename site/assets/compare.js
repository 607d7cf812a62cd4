// Compare two systems task by task: fetch the results of each, count, and draw the tables. The numbers equal those of
// `bashboard compare`. Text of a submission is set as text, with hidden characters written out.

import { BoardTable } from "./board.js";
import { resultsOf } from "./results.js";
import { addCopyButtons } from "./pages.js";

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
    if (hidden === "\n") nodes.push(make("br"));
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

const verdict = (side, { finding, command }) => {
  const cell = make("td", { className: "decided" },
    make("span", { className: `verdict verdict--${finding.outcome}`, textContent: finding.outcome }), " ",
    finding.step ? make("span", { className: "step", textContent: finding.step }) : null, " ",
    ...shown(finding.reason ?? ""),
    finding.place ? make("small", { className: "where" }, ...shown(finding.place)) : null,
    command ? make("div", { className: "given" }, make("code", { className: "command", dir: "ltr" }, ...shown(command))) : null);
  cell.dataset.label = side;
  return cell;
};

const anchorTo = (task) => {
  const link = make("a", { className: "anchor", href: `#${task}`, textContent: "#" });
  link.setAttribute("aria-label", `Link to the row ${task}`);
  return link;
};

const taskRow = ({ task, nl, topic, kind, one, other }) => {
  const name = make("th", { scope: "row" }, make("span", { className: "instruction" }, ...shown(nl)), " ",
    make("small", { className: "slug" }, make("a", { href: `../tasks/${task}/`, textContent: task }), " ", anchorTo(task)));
  name.dataset.value = task;
  return make("tr", { id: task }, name, make("td", { className: "passed-by", textContent: WORDS[kind] }),
    make("td", { className: "topic", textContent: topic }), verdict("A", one), verdict("B", other));
};

const figures = (counts, total) => {
  const [low, high] = interval(counts);
  const p = mcnemar(counts.a, counts.b);
  const entries = [
    ...Object.entries(WORDS).map(([key, word]) => [`Passed by ${word}`, `${counts[key]}`, `of ${total}`]),
    ["A − B, accuracy", points(total ? (counts.a - counts.b) / total : 0), `points, 95 % interval ${points(low)} to ${points(high)}`],
    ["McNemar, exact", pWords(p), p <= 0.05 ? "significantly different" : "not significantly different"],
  ];
  return make("dl", { className: "figures" }, ...entries.map(([name, value, note]) => make("div", {},
    make("dt", { textContent: name }), make("dd", {}, `${value} `, make("small", { className: "note", textContent: note })))));
};

const namesOf = (systems) => make("p", { className: "versus" }, ...systems.flatMap(({ side, name, slug }) => [
  make("b", { textContent: side }), " ", make("a", { href: `../submissions/${slug}/` }, make("bdi", {}, ...shown(name))), " "]));

const draw = (place, systems, pairs, left) => {
  const counts = counted(pairs);
  const columns = [["task", "Task"], ["passed", "Passed by", "text", true], ["topic", "Topic", "text", true],
    ["a", "A", "none"], ["b", "B", "none"]];
  const rows = [...pairs].sort((x, y) => (x.kind === "a" || x.kind === "b" ? 0 : 1) - (y.kind === "a" || y.kind === "b" ? 0 : 1));
  place.replaceChildren(
    namesOf(systems),
    figures(counts, pairs.length),
    ...(left ? [make("p", { className: "note", textContent: `${left} ${left === 1 ? "task is" : "tasks are"} left out: not asked of both, or our machinery failed.` })] : []),
    make("h2", { textContent: "The tasks" }),
    table("tasks", "Tasks that only one of the two passes come first.", columns, rows.map(taskRow), "board-table--verdicts board-table--pairs"),
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
  addCopyButtons(place);
};

class Comparison {
  constructor(form) {
    this.form = form;
    this.place = form.nextElementSibling;
    this.status = form.querySelector("[role=status]");
    [this.a, this.b] = form.querySelectorAll("input");
    this.labels = new Map([...form.querySelectorAll("option")].map(({ value }) => [value.match(/\(([^()]*)\)$/)[1], value]));
    if (this.labels.size < 2) {
      form.hidden = true;
      return;
    }
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const input of [this.a, this.b]) {
      input.addEventListener("change", () => this.choose());
      input.addEventListener("focus", () => input.select()); // the list shows only what the text allows
    }
    form.querySelector(".swap").addEventListener("click", () => {
      [this.a.value, this.b.value] = [this.b.value, this.a.value];
      this.choose();
    });
    this.read();
  }

  read() {
    const given = new URLSearchParams(location.search);
    const [first, second] = this.labels.keys();
    const slugs = { a: given.get("a") ?? first, b: given.get("b") ?? (given.get("a") === second ? first : second) };
    for (const name of ["a", "b"]) this[name].value = this.labels.get(slugs[name]) ?? slugs[name];
    this.show();
  }

  /** The slug of the system that a reader means: an entry of the list, a slug, or a part of one name alone. */
  slugOf(text) {
    const wanted = text.trim().toLowerCase();
    if (this.labels.has(wanted)) return wanted;
    const found = [...this.labels].filter(([, label]) => wanted && label.toLowerCase().includes(wanted));
    const same = found.filter(([, label]) => label.toLowerCase() === wanted);
    return (same[0] ?? (found.length === 1 ? found[0] : [null]))[0];
  }

  choose() {
    const [a, b] = [this.a, this.b].map(({ value }) => this.slugOf(value));
    if (a && b) {
      const address = new URL(location.href);
      address.searchParams.set("a", a);
      address.searchParams.set("b", b);
      address.hash = "";
      history.replaceState(history.state, "", address);
    }
    this.show();
  }

  say(words) {
    this.status.textContent = words;
    this.place.replaceChildren();
  }

  async show() {
    const texts = [this.a.value, this.b.value];
    const [a, b] = texts.map((text) => this.slugOf(text));
    const unknown = a ? (b ? null : texts[1]) : texts[0];
    if (unknown !== null) {
      this.say(unknown.trim() ? `There is no system ${unknown} on this board, or more than one.` : "Choose two systems.");
      return;
    }
    if (a === b) {
      this.say("Choose two different systems.");
      return;
    }
    [this.a.value, this.b.value] = [this.labels.get(a), this.labels.get(b)];
    try {
      const [tasks, ones, others] = await Promise.all([fetched("../tasks.json").then(JSON.parse), answersOf(a), answersOf(b)]);
      if (a !== this.slugOf(this.a.value) || b !== this.slugOf(this.b.value)) return; // the reader chose others meanwhile
      this.compare(tasks, ones, others, [["A", a], ["B", b]]);
    } catch (error) {
      this.say(`The results could not be fetched (${error.message}). Reload the page to try again.`);
    }
  }

  compare(tasks, ones, others, chosen) {
    const pairs = [];
    for (const { id, nl, topic, utilities } of tasks) {
      const [one, other] = [ones.get(id), others.get(id)];
      if (!one || !other || [one, other].some(({ finding }) => finding.outcome === "infra-error")) continue;
      const [first, second] = [one, other].map(({ finding }) => finding.outcome === "pass");
      const kind = first ? (second ? "both" : "a") : second ? "b" : "neither";
      pairs.push({ task: id, nl, topic, utilities, kind, one, other });
    }
    const systems = chosen.map(([side, slug]) => ({ side, slug, name: this.labels.get(slug).replace(/ \([^()]*\)$/, "") }));
    draw(this.place, systems, pairs, tasks.length - pairs.length);
    this.status.textContent = `${pairs.length} ${pairs.length === 1 ? "task" : "tasks"} compared`;
    if (location.hash.length > 1) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  }
}

for (const form of document.querySelectorAll("form[data-compare]")) new Comparison(form);
