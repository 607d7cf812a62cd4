// Sorting and choosing rows of the board's tables. The tables are complete without this script; it only adds
// buttons and a line of fields, and keeps what is chosen in the address, so that a view can be sent to others.

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Rows of a long table that are drawn until the reader asks for all: laying out a thousand takes a second. */
const FIRST = 100;

/** What a cell sorts by: its data-value, else its text. */
const valueOf = (cell) => cell.dataset.value ?? cell.textContent.trim();

const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

export class BoardTable {
  constructor(table) {
    this.table = table;
    this.body = table.tBodies[0];
    this.heads = [...table.tHead.rows[0].cells];
    this.rows = [...this.body.rows].map((row, place) => ({ row, place }));
    this.sort = null; // { column, descending }
    this.words = "";
    this.chosen = new Map(); // column -> value
    this.limit = this.rows.length > 2 * FIRST ? FIRST : Infinity;
    this.addButtons();
    if (this.rows.length > 3) this.addFields();
    if (this.limit < Infinity) this.addAll();
    this.readAddress();
    this.show();
  }

  addButtons() {
    this.heads.forEach((head, column) => {
      if (head.dataset.kind === "none" || this.rows.length < 2) return;
      const title = head.querySelector(".title");
      const button = element("button", { type: "button" }, ...title.childNodes);
      button.addEventListener("click", () => this.turn(column));
      title.append(button);
    });
  }

  addFields() {
    this.search = element("input", { type: "search", autocomplete: "off", spellcheck: false });
    this.search.addEventListener("input", () => this.change(() => { this.words = this.search.value; }));
    const fields = [element("label", {}, "Rows that contain", this.search)];
    this.selects = new Map();
    this.heads.forEach((head, column) => {
      if (!("facet" in head.dataset)) return;
      const values = [...new Set(this.rows.map(({ row }) => valueOf(row.cells[column])))].sort(collator.compare);
      if (values.length < 2) return;
      const select = element("select", {}, element("option", { value: "", textContent: "all" }));
      for (const value of values) select.append(element("option", { value, textContent: value }));
      select.addEventListener("change", () => this.change(() => this.chosen.set(column, select.value)));
      this.selects.set(column, select);
      fields.push(element("label", {}, head.querySelector(".title").textContent, select));
    });
    this.status = element("output", { className: "count" });
    this.status.setAttribute("role", "status");
    const form = element("form", { className: "board-filter" }, ...fields, this.status);
    form.setAttribute("role", "search");
    form.setAttribute("aria-label", `Choose rows: ${this.table.caption.textContent.split(":")[0]}`);
    form.addEventListener("submit", (event) => event.preventDefault());
    this.table.closest(".board-scroll").before(form);
  }

  addAll() {
    this.all = element("button", { type: "button", className: "show-all" });
    this.all.addEventListener("click", () => this.change(() => { this.limit = Infinity; }));
    this.table.closest(".board-scroll").after(this.all);
  }

  /** First the order that tells most, then its reverse, then the board's own. */
  turn(column) {
    const first = this.heads[column].dataset.kind === "number";
    const current = this.sort?.column === column ? this.sort.descending : null;
    const next = current === null ? first : current === first ? !first : null;
    this.change(() => { this.sort = next === null ? null : { column, descending: next }; });
  }

  change(act) {
    act();
    this.show();
    this.writeAddress();
  }

  show() {
    const words = this.words.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = this.ordered().filter((entry) => this.isChosen(entry, words));
    const drawn = chosen.slice(0, this.limit);
    this.body.replaceChildren(...drawn.map(({ row }) => row));
    this.heads.forEach((head, column) => {
      if (this.sort?.column === column) head.setAttribute("aria-sort", this.sort.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    this.table.toggleAttribute("data-sorted", this.sort !== null); // lines between groups mean the board's own order
    if (this.status) this.status.textContent = `${drawn.length} of ${this.rows.length} rows`;
    if (!this.all) return;
    this.all.hidden = chosen.length === drawn.length;
    this.all.textContent = `Show all ${chosen.length} rows`;
  }

  isChosen(entry, words) {
    for (const [column, value] of this.chosen) {
      if (value && valueOf(entry.row.cells[column]) !== value) return false;
    }
    if (!words.length) return true;
    entry.text ??= entry.row.textContent.toLowerCase();
    return words.every((word) => entry.text.includes(word));
  }

  ordered() {
    if (!this.sort) return this.rows;
    const { column, descending } = this.sort;
    const number = this.heads[column].dataset.kind === "number";
    for (const entry of this.rows) {
      const value = valueOf(entry.row.cells[column]);
      entry.key = number ? Number.parseFloat(value) : value;
    }
    const compare = number ? (a, b) => a - b : collator.compare;
    const sign = descending ? -1 : 1;
    return [...this.rows].sort((a, b) => sign * compare(a.key, b.key) || a.place - b.place);
  }

  key(name) {
    return `${this.table.id}.${name}`;
  }

  readAddress() {
    const given = new URLSearchParams(location.search);
    const sort = given.get(this.key("sort")) ?? "";
    const column = this.heads.findIndex((head) => head.dataset.key === sort.replace(/^-/, "") && head.querySelector("button"));
    if (column >= 0) this.sort = { column, descending: sort.startsWith("-") };
    if (given.get(this.key("rows")) === "all") this.limit = Infinity;
    if (!this.search) return;
    this.search.value = this.words = given.get(this.key("q")) ?? "";
    for (const [at, select] of this.selects) {
      select.value = given.get(this.key(this.heads[at].dataset.key)) ?? "";
      if (select.selectedIndex < 0) select.value = "";
      this.chosen.set(at, select.value);
    }
  }

  writeAddress() {
    const address = new URL(location.href);
    const put = (name, value) => value
      ? address.searchParams.set(this.key(name), value)
      : address.searchParams.delete(this.key(name));
    put("sort", this.sort && `${this.sort.descending ? "-" : ""}${this.heads[this.sort.column].dataset.key}`);
    put("q", this.words);
    put("rows", this.all && this.limit === Infinity ? "all" : "");
    for (const [column, value] of this.chosen) put(this.heads[column].dataset.key, value);
    history.replaceState(history.state, "", address);
  }
}

const start = () => {
  for (const table of document.querySelectorAll("table.board-table:not([data-ready])")) {
    table.dataset.ready = "";
    new BoardTable(table);
  }
};

// The theme announces each page it shows, whether the browser loaded it or the theme did.
if (window.document$) window.document$.subscribe(start);
else start();
