// A table that a reader can sort and filter. The table works without this script. The script adds buttons and fields,
// and keeps the view in the address, so that a view can be sent to others.

import { element } from "./dom.js";
import { TableFields } from "./table-fields.js";
import { FileRows, PageRows, compareBy, headOf, matcher } from "./table-rows.js";

/** Number of rows that a table shows until a reader asks for more. Laying out a thousand takes a second. */
const STEP = 100;

/** Number of rows that fill a screen. They are drawn at once, and the others as soon as the browser is idle. */
const SCREEN = 40;

const whenIdle = (act) => (window.requestIdleCallback ? requestIdleCallback(act, { timeout: 500 }) : setTimeout(act, 50));

/** Call a function at the reader's first movement or key on this page. */
const atFirstSign = (act) => {
  const stop = new AbortController();
  for (const event of ["pointermove", "pointerdown", "keydown", "wheel", "touchstart"]) {
    addEventListener(event, () => { stop.abort(); act(); }, { passive: true, signal: stop.signal });
  }
};

export class BoardTable {
  constructor(table) {
    this.table = table;
    this.body = table.tBodies[0];
    this.frame = table.closest(".board-scroll");
    const facts = document.getElementById(`${table.id}-facts`);
    this.rows = facts ? new FileRows(table, JSON.parse(facts.textContent)) : new PageRows(table);
    this.columns = new Map(this.rows.columns.map((column) => [column.key, column]));
    this.heads = new Map([...table.tHead.rows[0].cells].map((head) => [head.dataset.key, head]));
    this.usual = this.rows.columns.filter(({ shown }) => shown).map(({ key }) => key);
    const limit = facts || this.rows.total > 2 * STEP ? STEP : Infinity;
    this.limit = limit;
    this.view = { sort: null, words: "", chosen: new Map(), columns: new Set(this.usual), limit };
    for (const head of this.heads.values()) this.addButton(head);
    if (this.rows.total > 3) this.addFields();
    if (this.rows.total > this.limit) this.addMore();
    this.readAddress();
    this.showTarget();
    if (this.isUsual()) this.draw();
    else this.update();
    this.watchWidth();
  }

  addButton(head) {
    if (head.dataset.kind === "none" || this.rows.total < 2) return;
    const title = head.querySelector(".title");
    const button = element("button", { type: "button" }, ...title.childNodes);
    button.addEventListener("click", () => this.turn(head.dataset.key));
    title.append(button);
  }

  addFields() {
    const name = this.table.caption.textContent.split(":")[0].trim();
    const label = this.table.dataset.rows ? "Find systems" : "Find rows";
    this.fields = new TableFields(name, label, this.rows, this.view, (act) => this.change(act));
    this.fields.search.placeholder = this.table.dataset.rows ? "name, model, author" : "words";
    const place = document.querySelector(`.board-tools[data-for="${this.table.id}"]`);
    if (place) place.append(this.fields.form);
    else this.frame.before(this.fields.form);
    // Rows are fetched while the reader is still on the way to the fields.
    if (!this.rows.isReady) atFirstSign(() => whenIdle(() => this.rows.ready().catch(() => {})));
  }

  addMore() {
    this.more = element("button", { type: "button", className: "show-all" });
    this.more.addEventListener("click", () => this.change(() => { this.view.limit += STEP; }));
    this.frame.after(this.more);
  }

  /** Sort by a column: first in the order that tells most, then in its reverse, then in the board's own order. */
  turn(key) {
    const { sort } = this.view;
    const most = this.columns.get(key).kind === "number";
    const first = key === this.table.dataset.order ? !most : most;
    const current = sort?.key === key ? sort.descending : null;
    const next = current === null ? first : current === most && first === most ? !first : null;
    this.change(() => { this.view.sort = next === null ? null : { key, descending: next }; });
  }

  change(act) {
    act();
    this.writeAddress();
    this.update();
  }

  /** True if the view shows what the page has without the script. */
  isUsual() {
    const { sort, words, chosen, limit } = this.view;
    return !sort && !words.trim() && ![...chosen.values()].some(Boolean) && limit === this.limit && !this.shownColumns();
  }

  /** Draw the view. Fetch the rows first if they are not here. */
  async update() {
    if (!this.rows.isReady) {
      try {
        await this.rows.ready();
      } catch {
        if (this.fields) this.fields.status.textContent = "The rows could not be loaded. The list of all systems is below.";
        return;
      }
    }
    this.draw();
  }

  draw() {
    const { rows, view } = this;
    const keys = rows.columns.filter(({ key }) => view.columns.has(key) || key === "system").map(({ key }) => key);
    const chosen = rows.isReady ? this.ordered().filter(this.fits()) : rows.entries;
    const matching = rows.isReady ? chosen.length : rows.total;
    const drawn = chosen.slice(0, view.limit);
    this.drawHeads(keys);
    this.drawRows(drawn, keys);
    this.table.toggleAttribute("data-sorted", view.sort !== null); // lines between groups mean the board's own order
    this.fields?.show(drawn.length, matching, rows.total);
    if (!this.more) return;
    this.more.hidden = matching === drawn.length;
    this.more.textContent = `Show ${Math.min(STEP, matching - drawn.length)} more of ${matching.toLocaleString("en")} rows`;
  }

  /** Draw the rows of the first screen, and then the others, so that the reader sees the first ones sooner. */
  drawRows(entries, keys) {
    const first = this.placeOfTarget(entries) < SCREEN ? SCREEN : entries.length;
    this.replaceRows(this.rows.elements(entries.slice(0, first), keys));
    this.drawn = entries;
    if (first < entries.length) whenIdle(() => { if (this.drawn === entries) this.replaceRows(this.rows.elements(entries, keys)); });
  }

  /** Replace the rows from the first one that differs. Rows that stay need no new layout. */
  replaceRows(rows) {
    const { body } = this;
    let same = 0;
    while (same < rows.length && body.rows[same] === rows[same]) same += 1;
    while (body.rows.length > same) body.lastElementChild.remove();
    body.append(...rows.slice(same));
  }

  drawHeads(keys) {
    const row = this.table.tHead.rows[0];
    if (this.table.dataset.rows) {
      for (const key of keys) {
        if (this.heads.has(key)) continue;
        this.heads.set(key, headOf(this.columns.get(key)));
        this.addButton(this.heads.get(key));
      }
      const heads = keys.map((key) => this.heads.get(key));
      if (heads.some((head, place) => row.cells[place] !== head) || row.cells.length !== heads.length) row.replaceChildren(...heads);
    }
    const { sort } = this.view;
    const order = sort ?? { key: this.table.dataset.order, descending: true };
    for (const [key, head] of this.heads) {
      if (order.key === key) head.setAttribute("aria-sort", order.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  }

  /** The place of the row that the fragment of the address names, or -1. */
  placeOfTarget(entries) {
    const id = location.hash.slice(1);
    return id ? entries.findIndex(({ row }) => row?.id === id) : -1;
  }

  /** Show as many rows as the row of the address needs. */
  showTarget() {
    const place = this.placeOfTarget(this.rows.entries);
    if (place >= this.view.limit) this.view.limit = Math.ceil((place + 1) / STEP) * STEP;
  }

  fits() {
    const matches = matcher(this.view.words);
    const chosen = [...this.view.chosen].filter(([, value]) => value);
    return (entry) => chosen.every(([key, value]) => entry.choices(key).includes(value)) && (!this.view.words || matches(entry.words));
  }

  ordered() {
    if (!this.view.sort) return this.rows.entries;
    const { key, descending } = this.view.sort;
    const compare = compareBy(this.columns.get(key).kind, descending);
    return [...this.rows.entries].sort((a, b) => compare(a.value(key), b.value(key)) || a.place - b.place);
  }

  /** The columns for the address, or an empty text for the usual ones. */
  shownColumns() {
    const shown = this.rows.columns.map(({ key }) => key).filter((key) => this.view.columns.has(key));
    return shown.join() === this.usual.join() ? "" : shown.join() || "none";
  }

  key(name) {
    return `${this.table.id}.${name}`;
  }

  readAddress() {
    const given = new URLSearchParams(location.search);
    const read = (name) => given.get(this.key(name)) ?? "";
    const { view } = this;
    const sort = read("sort").replace(/^-/, "");
    const column = this.columns.get(sort);
    if (column && column.kind !== "none" && this.rows.total > 1) view.sort = { key: sort, descending: read("sort").startsWith("-") };
    if (read("rows") === "all") view.limit = this.table.dataset.rows ? view.limit : Infinity;
    else if (Number.parseInt(read("rows"), 10) > view.limit) view.limit = Math.ceil(Number.parseInt(read("rows"), 10) / STEP) * STEP;
    if (read("columns")) view.columns = new Set(read("columns").split(",").filter((key) => this.columns.has(key)));
    if (!this.fields) return;
    this.fields.view = view;
    view.words = read("q");
    for (const { key, choices } of this.rows.facets) {
      if (choices.some(([value]) => value === read(key))) view.chosen.set(key, read(key));
    }
  }

  writeAddress() {
    const address = new URL(location.href);
    const { view } = this;
    const put = (name, value) => value
      ? address.searchParams.set(this.key(name), value)
      : address.searchParams.delete(this.key(name));
    put("sort", view.sort && `${view.sort.descending ? "-" : ""}${view.sort.key}`);
    put("q", view.words);
    put("rows", view.limit > this.limit ? String(view.limit) : "");
    put("columns", this.shownColumns());
    for (const { key } of this.rows.facets) put(key, view.chosen.get(key) ?? "");
    history.replaceState(history.state, "", address);
  }

  /** If the whole table fits the page, its heads stick to the page. Otherwise the table scrolls in its own frame. */
  watchWidth() {
    const fit = () => this.frame.toggleAttribute("data-fits", this.table.scrollWidth <= this.frame.parentElement.clientWidth);
    new ResizeObserver(fit).observe(this.table); // calls once at the start, after the browser's own layout
  }
}
