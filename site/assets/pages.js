// What scripts add to the pages behind the board: buttons that copy a command, lists of other candidates, and buttons of
// the header that the keyboard can reach. Every page is complete without them.

import { addCandidates } from "./candidates.js";
import { element } from "./dom.js";

/** Milliseconds for which a button says that it copied. */
const SAID = 1500;

/** The text of a command as it was given, or null if the page shows it cut or has written out a hidden character. */
export const commandText = (code) => {
  if (code.querySelector(".cut, .empty")) return null;
  let text = "";
  for (const node of code.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) text += node.data;
    else if (node.matches("br")) text += "\n";
    else if (node.textContent !== "↵") return null;
  }
  return text;
};

const copy = async (button, code) => {
  await navigator.clipboard.writeText(commandText(code));
  button.textContent = "copied";
  setTimeout(() => { button.textContent = "copy"; }, SAID);
};

/** Put a button beside each command of a part of the page, where the browser lets a page copy. */
export const addCopyButtons = (place) => {
  if (!navigator.clipboard) return;
  for (const code of place.querySelectorAll(".given > code.command, .commands > li > code.command")) {
    if (code.nextElementSibling?.matches(".copy") || commandText(code) === null) continue;
    const button = element("button", { type: "button", className: "copy", textContent: "copy" });
    button.setAttribute("aria-label", `copy the command ${code.textContent.slice(0, 40)}`);
    button.addEventListener("click", () => copy(button, code));
    code.after(button);
  }
};

/** The theme opens its drawer and its search by labels, which the keyboard cannot reach. */
const addHeaderButton = (name, words) => {
  const label = document.querySelector(`label.md-header__button[for="__${name}"]`);
  const toggle = document.getElementById(`__${name}`);
  if (!label || !toggle || label.querySelector("button")) return;
  const button = element("button", { type: "button", className: "header-button" }, ...label.childNodes);
  button.setAttribute("aria-label", words);
  const say = () => button.setAttribute("aria-expanded", String(toggle.checked));
  button.addEventListener("click", () => toggle.click());
  toggle.addEventListener("change", say);
  say();
  label.append(button);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !toggle.checked) return;
    toggle.click();
    button.focus();
  });
};

/** The theme puts a wide table into a frame that scrolls. The keyboard must reach the frame. */
const nameFrames = () => {
  for (const frame of document.querySelectorAll(".md-typeset__scrollwrap")) {
    let before = frame;
    while (before && !/^H[1-6]$/.test(before.tagName)) before = before.previousElementSibling ?? before.parentElement;
    frame.tabIndex = 0;
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", `Table: ${before?.textContent.trim() ?? document.title}`);
  }
};

const completeRows = (place) => {
  addCopyButtons(place);
  addCandidates(place);
};

/** A long table draws its first rows only. A row that comes later is completed, too. */
const watchRows = () => {
  const watcher = new MutationObserver((changes) => changes.forEach(({ target }) => completeRows(target)));
  for (const table of document.querySelectorAll("table.board-table--verdicts")) {
    watcher.observe(table.tBodies[0], { childList: true });
  }
};

/** The browser does not scroll to a row that was hidden while the page loaded. */
const showTarget = () => {
  const id = location.hash.slice(1);
  if (id) document.getElementById(id)?.closest("tr")?.scrollIntoView();
};

const start = () => {
  requestAnimationFrame(nameFrames); // the theme has made the frames by then
  completeRows(document);
  watchRows();
  showTarget();
  addHeaderButton("drawer", "Menu");
  addHeaderButton("search", "Search");
};

if (window.document$) window.document$.subscribe(start);
else start();
