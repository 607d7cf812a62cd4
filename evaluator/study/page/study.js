// One sitting: consent, task after task, thanks. Everything is shown as text only. The server keeps the clock.
"use strict";

const at = id => document.getElementById(id);
const earlier = [];
let key, number, place = 0;

async function ask(what, body = {}) {
  let reply;
  try {
    reply = await fetch(what, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ key, ...body }),
    });
  } catch {
    throw new Error("the study does not answer; tell its organiser. Your results so far are saved.");
  }
  const value = await reply.json();
  if (!reply.ok) throw new Error(value.error);
  return value;
}

function say(text, kind) {
  const line = document.createElement("pre");
  line.className = kind;
  line.textContent = text;
  at("log").append(line);
  at("log").scrollTop = at("log").scrollHeight;
  return line;
}

function fit() {
  at("command").style.height = "auto";
  at("command").style.height = `${at("command").scrollHeight}px`;
}

function rest(is) {
  for (const id of ["command", "skip", "next", "begin"]) at(id).disabled = is;
}

/** Do one thing at a time; an error is shown, and no input is lost. */
async function doing(act) {
  rest(true);
  at("trouble").hidden = true;
  let focus;
  try {
    focus = await act();
  } catch (error) {
    at("trouble").textContent = error.message;
    at("trouble").hidden = false;
    focus = at("task").hidden ? at("begin") : at("command");
  }
  rest(false);
  focus.focus();
}

async function begin() {
  key = (await ask("join")).key;
  return show();
}

async function show() {
  const task = await ask("show");
  at("consent").hidden = true;
  at("task").hidden = Boolean(task.done);
  at("done").hidden = !task.done;
  if (task.done) return at("done-title");
  number = task.number;
  at("progress").textContent = task.warm_up ? "Warm-up, not measured" : `Task ${task.number} of ${task.tasks}`;
  at("instruction").textContent = task.instruction;
  at("place").textContent = task.place;
  at("log").replaceChildren();
  at("command").value = "";
  at("line").hidden = at("skip").hidden = false;
  at("next").hidden = true;
  earlier.length = place = 0;
  fit();
  return at("command");
}

async function enter() {
  const command = at("command").value;
  if (!command.trim()) return at("command");
  earlier.push(command);
  place = earlier.length;
  const running = say("running; your clock is paused …", "typed");
  const found = await ask("enter", { number, command }).finally(() => running.remove());
  say(`$ ${command}`, "typed");
  if (found.output) say(found.output, "printed");
  say(found.verdict, found.passed ? "good" : "bad");
  at("command").value = "";
  fit();
  if (!found.passed) return at("command");
  at("line").hidden = at("skip").hidden = true;
  at("next").hidden = false;
  return at("next");
}

async function skip() {
  await ask("skip", { number });
  return show();
}

function recall(step) {
  place = Math.min(earlier.length, Math.max(0, place + step));
  at("command").value = earlier[place] ?? "";
  fit();
}

at("command").addEventListener("input", fit);
at("command").addEventListener("keydown", event => {
  const single = !at("command").value.includes("\n");
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    doing(enter);
  } else if (single && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
    event.preventDefault();
    recall(event.key === "ArrowUp" ? -1 : 1);
  }
});
at("terminal").addEventListener("click", () => {
  if (!at("line").hidden && !String(getSelection())) at("command").focus();
});
at("begin").addEventListener("click", () => doing(begin));
at("next").addEventListener("click", () => doing(show));
at("skip").addEventListener("click", () => doing(skip));
at("begin").focus();
