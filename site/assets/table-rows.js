// Where the rows of a table come from: from the page itself, or from a file that is fetched at the first use.
//
// Both kinds have the same members: `total`, `ready()`, `entries`, `columns`, `facets` and `elements(entries, keys)`.
// An entry has the methods `value(key)`, `choices(key)` and the text `words`, which the text filter searches.

import { element } from "./dom.js";

/** The value that a cell is sorted by: its data-value, or the text of the element that the head of its column names, or its text. */
const valueOf = (cell, values) => cell.dataset.value ?? ((values ? cell.querySelector(values)?.textContent : cell.textContent.trim()) ?? "–");

const columnOf = (head) => ({
  key: head.dataset.key,
  title: head.querySelector(".title")?.textContent ?? head.textContent,
  kind: head.dataset.kind ?? "text",
  shown: true,
});

/** The rows of a table that is complete in the page. */
export class PageRows {
  constructor(table) {
    const heads = [...table.tHead.rows[0].cells];
    this.columns = heads.map(columnOf);
    const places = new Map(this.columns.map(({ key }, place) => [key, place]));
    const read = (row, key) => valueOf(row.cells[places.get(key)], heads[places.get(key)].dataset.values);
    this.entries = [...table.tBodies[0].rows].map((row, place) => ({
      row,
      place,
      value: (key) => read(row, key),
      choices: (key) => [read(row, key)],
      get words() { return (this.text ??= row.textContent.toLowerCase()); },
    }));
    this.total = this.entries.length;
    this.facets = heads.filter((head) => "facet" in head.dataset).map((head) => {
      const { key, title } = columnOf(head);
      const counts = new Map();
      for (const entry of this.entries) for (const value of entry.choices(key)) counts.set(value, (counts.get(value) ?? 0) + 1);
      return { key, title, choices: [...counts].sort(([a], [b]) => COLLATOR.compare(a, b)) };
    }).filter(({ choices }) => choices.length > 1);
  }

  get isReady() { return true; }

  async ready() {}

  elements(entries) { return entries.map(({ row }) => row); }
}

/** The rows of a board. The page has the first ones. The file has all, with the HTML that the site builder wrote. */
export class FileRows {
  constructor(table, facts) {
    this.address = new URL(table.dataset.rows, document.baseURI);
    this.columns = facts.columns;
    this.facets = facts.facets;
    this.total = facts.total;
    this.places = new Map(this.columns.map(({ key }, place) => [key, place]));
    this.entries = [...table.tBodies[0].rows].map((row, place) => ({ row, place }));
  }

  get isReady() { return this.loaded !== undefined; }

  ready() {
    this.loading ??= fetch(this.address).then(async (reply) => {
      if (!reply.ok) throw new Error(`${this.address}: ${reply.status}`);
      const { rows } = await reply.json();
      this.entries = rows.map((row, place) => ({
        ...row,
        place,
        value: (key) => row.values[this.places.get(key)],
        choices: (key) => row.facets[key] ?? [],
      }));
      this.loaded = true;
    }).catch((error) => {
      this.loading = undefined; // the next use tries again
      throw error;
    });
    return this.loading;
  }

  /** Return rows with the cells of some columns. Their links are relative to the file. Each row is made only once. */
  elements(entries, keys) {
    const shown = keys.join();
    const missing = entries.filter((entry) => entry.cells && entry.shown !== shown);
    const places = keys.map((key) => this.places.get(key));
    const holder = document.createElement("template");
    holder.innerHTML = missing
      .map(({ begins, cells }) => `<tr${begins ? ' class="group-start"' : ""}>${places.map((place) => cells[place]).join("")}</tr>`)
      .join("");
    const rows = [...holder.content.children];
    missing.forEach((entry, place) => {
      for (const link of rows[place].querySelectorAll("a")) link.href = new URL(link.getAttribute("href"), this.address);
      Object.assign(entry, { row: rows[place], shown });
    });
    return entries.map(({ row }) => row);
  }
}

const COLLATOR = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Compare two values of a column. A missing value comes last in both directions. */
export const compareBy = (kind, descending) => (a, b) => {
  const [one, other] = [a, b].map((value) => kind === "number" ? Number.parseFloat(value) : value ?? "");
  const [noOne, noOther] = [one, other].map((value) => value === "" || Number.isNaN(value));
  if (noOne || noOther) return noOne - noOther;
  const sign = descending ? -1 : 1;
  return sign * (kind === "number" ? one - other : COLLATOR.compare(one, other));
};

/** Return a function that tells whether a text fits a filter: blanks mean "and", commas mean "or". */
export const matcher = (filter) => {
  const any = filter.toLowerCase().split(",").map((part) => part.split(/\s+/).filter(Boolean)).filter((words) => words.length);
  return (text) => !any.length || any.some((words) => words.every((word) => text.includes(word)));
};

/** Make the head of a column that is not in the page. */
export const headOf = ({ key, title, note, kind }) => {
  const head = element("th", { scope: "col" }, element("span", { className: "title", textContent: title }));
  Object.assign(head.dataset, { key, kind });
  if (note) head.append(" ", element("small", { className: "note", textContent: note }));
  return head;
};
