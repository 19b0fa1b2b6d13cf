/** The page: ask box, examples, key, and one answer at a time between a client and a view. */

import { Answer, AnswerError } from "./client.js";
import { AnswerView } from "./view.js";

/** People who listen to the page get at most one message in this time, errors apart. In ms. */
const SAY_EVERY_MS = 2000;

const { model, docs, keys } = document.documentElement.dataset;
const byId = (id) => document.getElementById(id);
const form = byId("ask");
const field = byId("question");

let key = "";
let question = "";
let answer = null;
const view = new AnswerView(byId("answer"), { stop, again, edit, key: enterKey, reconnect: () => answer?.reconnect() }, speaker());

byId("about").textContent = `Model: ${model} · Documents: ${docs}`;
byId("key-row").hidden = keys !== "true";

form.addEventListener("submit", (event) => {
  event.preventDefault();
  key = byId("key").value;
  if (field.value.trim() !== "") ask(field.value.trim());
});
field.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
for (const example of document.querySelectorAll(".examples button")) {
  example.addEventListener("click", () => {
    ask(example.textContent);
    field.focus({ preventScroll: true });
  });
}

/** An answer that is still being written is stopped: nobody would read it. */
async function ask(text) {
  if (answer !== null) answer.stop();
  question = text;
  const own = new Answer({ question }, { headers: () => (key === "" ? {} : { authorization: `Bearer ${key}` }) });
  answer = own;
  field.value = "";
  field.placeholder = "Ask another question";
  document.body.dataset.state = "asked";
  document.title = `${question} · citewire`;
  view.begin(question);
  scrollTo({ top: 0 });
  try {
    for await (const event of own.events()) {
      if (answer !== own) return;
      view.apply(event);
    }
  } catch (error) {
    if (answer === own) view.fail(error instanceof AnswerError ? error : { code: "page_error" });
    if (!(error instanceof AnswerError)) throw error;
  } finally {
    if (answer === own) answer = null;
  }
}

function stop() {
  answer?.stop();
  answer = null;
  view.stopped();
}

function again() {
  ask(question);
}

function edit() {
  field.value = question;
  field.focus();
}

function enterKey() {
  byId("key-row").hidden = false;
  field.value = question;
  byId("key").focus();
}

/** Says words through the live regions: errors at once, of the rest only the newest when its turn comes. */
function speaker() {
  let next = "";
  let timer = 0;
  let last = -Infinity;
  const speak = () => {
    timer = 0;
    last = performance.now();
    byId("said").textContent = next;
  };
  return (words, { urgent = false } = {}) => {
    if (urgent) {
      byId("alarm").textContent = words;
      return;
    }
    next = words;
    if (timer === 0) timer = setTimeout(speak, Math.max(0, last + SAY_EVERY_MS - performance.now()));
  };
}
