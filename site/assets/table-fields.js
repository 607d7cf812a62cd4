// The fields above a table: a text filter, a select for each facet, chips of what is chosen, and a chooser of columns.

import { element } from "./dom.js";

/** Selects are in one line on a wide screen, and folded on a narrow one. */
const WIDE = matchMedia("(min-width: 60em)");

export class TableFields {
  /** `view` is the table's state, and `change` is called with a function that changes it. */
  constructor(name, label, rows, view, change) {
    this.rows = rows;
    this.view = view;
    this.change = change;
    this.search = element("input", { type: "search", autocomplete: "off", spellcheck: false });
    this.search.addEventListener("input", () => change(() => { view.words = this.search.value; }));
    this.status = element("output", { className: "count" });
    this.status.setAttribute("role", "status");
    this.chips = element("ul", { className: "chips", hidden: true });
    this.chips.setAttribute("aria-label", "Chosen filters");
    this.selects = new Map(rows.facets.map((facet) => [facet.key, this.selectOf(facet)]));
    const parts = [element("label", {}, label, this.search), this.folded("Filters", "facets", this.facetLabels()), this.columnChooser()];
    this.form = element("form", { className: "board-filter" }, ...parts.filter(Boolean), this.status, this.chips);
    this.form.setAttribute("role", "search");
    this.form.setAttribute("aria-label", `Choose rows: ${name}`);
    this.form.addEventListener("submit", (event) => event.preventDefault());
  }

  selectOf({ key, choices }) {
    const select = element("select", {}, element("option", { value: "", textContent: "all" }));
    for (const [value, count] of choices) select.append(element("option", { value, textContent: `${value} (${count})` }));
    select.addEventListener("change", () => this.change(() => this.view.chosen.set(key, select.value)));
    return select;
  }

  facetLabels() {
    return this.rows.facets.map(({ key, title }) => element("label", {}, title, this.selects.get(key)));
  }

  /** Fold fields on a narrow screen. A table with one facet needs no fold. */
  folded(title, className, fields) {
    if (fields.length < 2) return fields[0];
    const details = element("details", { className, open: WIDE.matches }, element("summary", { textContent: title }), ...fields);
    WIDE.addEventListener("change", () => { details.open = WIDE.matches; });
    return details;
  }

  columnChooser() {
    if (this.rows.columns.every(({ shown }) => shown)) return null;
    this.boxes = new Map();
    const labels = this.rows.columns.filter(({ key }) => key !== "system").map(({ key, title }) => {
      const box = element("input", { type: "checkbox" });
      box.addEventListener("change", () => this.change(() => { this.view.columns[box.checked ? "add" : "delete"](key); }));
      this.boxes.set(key, box);
      return element("label", {}, box, ` ${title}`);
    });
    const fields = element("fieldset", {}, element("legend", { textContent: "Columns of the table" }), ...labels);
    const details = element("details", { className: "columns" }, element("summary", { textContent: "Columns" }), fields);
    details.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      details.open = false;
      details.querySelector("summary").focus();
    });
    document.addEventListener("click", (event) => { if (!details.contains(event.target)) details.open = false; });
    return details;
  }

  /** Show the view in the fields. `drawn` of `matching` of `total` rows are in the table. */
  show(drawn, matching, total) {
    const { view } = this;
    if (this.search.value !== view.words) this.search.value = view.words;
    for (const [key, select] of this.selects) select.value = view.chosen.get(key) ?? "";
    for (const [key, box] of this.boxes ?? []) box.checked = view.columns.has(key);
    const number = (value) => value.toLocaleString("en");
    this.status.replaceChildren(`${number(drawn)} of ${number(total)} rows`);
    if (matching !== total && drawn !== matching) this.status.replaceChildren(`${number(drawn)} of ${number(matching)} matching rows, of ${number(total)}`);
    this.showChips(matching);
  }

  showChips(matching) {
    const { view } = this;
    const chip = (text, act) => {
      const button = element("button", { type: "button" }, text, element("span", { textContent: " ×", ariaHidden: "true" }));
      button.setAttribute("aria-label", `Remove the filter ${text}`);
      button.addEventListener("click", () => { this.change(act); this.search.focus(); });
      return element("li", {}, button);
    };
    const chips = this.rows.facets.filter(({ key }) => view.chosen.get(key))
      .map(({ key, title }) => chip(`${title}: ${view.chosen.get(key)}`, () => view.chosen.delete(key)));
    if (view.words.trim()) chips.unshift(chip(`“${view.words.trim()}”`, () => { view.words = ""; }));
    if (chips.length > 1 || (chips.length && !matching)) {
      const clear = element("button", { type: "button", className: "clear", textContent: "Clear all filters" });
      clear.addEventListener("click", () => { this.change(() => { view.words = ""; view.chosen.clear(); }); this.search.focus(); });
      chips.push(element("li", {}, clear));
    }
    this.chips.hidden = !chips.length;
    this.chips.replaceChildren(...chips);
  }
}
