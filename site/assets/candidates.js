// Add the list of a submission's other candidates to each row, and fill it when the reader opens it. The caption of the
// table links to the file with all candidates, for readers without scripts.

import { resultsOf } from "./results.js";

const files = new Map(); // address -> promise of results: one file has the candidates for all tasks

/** Add a closed list to each cell of a part of the page that has other candidates. */
export const addCandidates = (place) => {
  for (const cell of place.querySelectorAll("td[data-others]")) {
    const others = Number(cell.dataset.others);
    delete cell.dataset.others;
    const words = `${others} other candidate${others === 1 ? "" : "s"}`;
    const list = document.createElement("details");
    list.className = "others";
    list.append(Object.assign(document.createElement("summary"), { textContent: words }));
    cell.append(list);
  }
};

const noteOf = ({ outcome, reason }, confidence) =>
  `${outcome === "not-run" ? `${reason}, ` : ""}confidence ${confidence.toFixed(2)}`;

const fill = async (list) => {
  const address = new URL(list.closest("table").dataset.candidates, document.baseURI).href;
  const task = list.closest("tr").id;
  if (!files.has(address)) files.set(address, resultsOf(address));
  try {
    const [results, { make, shown }] = await Promise.all([files.get(address), import("./compare.js")]);
    const others = results.filter((each) => each.task === task && each.rank > 1);
    list.append(make("ol", {}, ...others.map(({ rank, finding, command, confidence }) => make("li", { value: rank },
      make("span", { className: `verdict verdict--${finding.outcome}`, textContent: finding.outcome }), " ",
      command ? make("code", { className: "command", dir: "ltr" }, ...shown(command))
        : make("span", { className: "empty", textContent: "(empty)" }), " ",
      make("small", { className: "note", textContent: noteOf(finding, confidence) })))));
  } catch (error) {
    files.delete(address); // the next opening tries again
    delete list.dataset.filled;
    const link = document.createElement("a");
    link.href = address;
    link.download = "";
    link.textContent = `All candidates (they could not be fetched: ${error.message})`;
    list.replaceChildren(list.querySelector("summary"), link);
    return;
  }
  list.querySelector("a")?.remove(); // of an attempt that failed
};

// `toggle` does not bubble
document.addEventListener("toggle", ({ target }) => {
  if (!target.open || !target.matches("details.others") || "filled" in target.dataset) return;
  target.dataset.filled = "";
  fill(target);
}, true);
