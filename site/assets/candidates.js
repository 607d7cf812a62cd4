// Show a submission's other candidates for a task when the reader opens their list. Without scripts, the list has a link to
// the file with all candidates.

import { resultsOf } from "./results.js";

const files = new Map(); // address -> promise of results: one file has the candidates for all tasks

const fill = async (list) => {
  const link = list.querySelector("a");
  const address = link.href;
  if (!files.has(address)) files.set(address, resultsOf(address));
  try {
    const [results, { make, shown }] = await Promise.all([files.get(address), import("./compare.js")]);
    const others = results.filter(({ task, rank }) => task === list.dataset.candidates && rank > 1);
    link.replaceWith(make("ol", {}, ...others.map(({ rank, finding, command, confidence }) => make("li", { value: rank },
      make("span", { className: `verdict verdict--${finding.outcome}`, textContent: finding.outcome }), " ",
      command ? make("code", { className: "command", dir: "ltr" }, ...shown(command))
        : make("span", { className: "empty", textContent: "(empty)" }), " ",
      make("small", { className: "note", textContent: `confidence ${confidence.toFixed(2)}` })))));
  } catch (error) {
    files.delete(address); // the next opening tries again
    delete list.dataset.filled;
    link.textContent = `All candidates (they could not be fetched: ${error.message})`;
  }
};

// `toggle` does not bubble
document.addEventListener("toggle", ({ target }) => {
  if (!target.open || !target.dataset?.candidates || "filled" in target.dataset) return;
  target.dataset.filled = "";
  fill(target);
}, true);
