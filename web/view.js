/**
 * Shows one answer: question, text, status line, refusal, problems, what was replaced, sources. Takes events and errors,
 * asks for nothing; what a reader wants done goes out through `actions`.
 *
 *   idle → thinking → streaming (or checking) → settled | error | stopped
 */

import { drawn, make, makeButton } from "./dom.js";
import { Prose, hasPlace, marksOf, removedMarks } from "./prose.js";
import { Sources } from "./sources.js";
import { Status } from "./status.js";
import {
  WAITING, errorWords, isInvalid, problemWords, replacedReason, sayFound, showProblems, tally, verdictOf,
} from "./words.js";

/** Letters left and right of a problem's place that are quoted with it. */
const AROUND = 60;

export class AnswerView {
  #root;
  #say;
  #parts;
  #status;
  #prose;
  #sources;
  #text = "";
  #frame = 0;
  #chip = null;
  #settlement = null;

  /** `actions`: `{stop, again, edit, key, reconnect}`; `say(words, {urgent})` reaches people who do not see the page. */
  constructor(root, actions, say) {
    this.#root = root;
    this.#say = say;
    this.#parts = {
      question: make("h2", "question"),
      notes: make("details", "notes", make("summary", "", "Model's notes, not checked"), make("p", "pre")),
      body: make("div", "body"),
      refusal: make("div", "refusal"),
      problems: make("details", "problems"),
      replaced: make("details", "replaced"),
      sources: make("aside", "sources"),
    };
    const { question, notes, body, refusal, problems, replaced, sources } = this.#parts;
    question.dir = "auto";
    sources.ariaLabel = "Sources";
    this.#status = new Status(actions, say);
    const line = this.#status.el;
    root.replaceChildren(make("div", "reading", question, notes, body, refusal, line, problems, replaced), sources);
    this.#sources = new Sources(sources, (place) => this.#goToChip(place));
    this.#prose = new Prose(body, {
      titleOf: (n) => this.#sources.titleOf(n),
      sources: () => this.#sources.count,
      open: (chip, button, how) => this.#open(chip, button, how),
    });
    body.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#close();
    });
  }

  begin(question) {
    this.#parts.question.textContent = question;
    this.#root.setAttribute("aria-label", `Answer to: ${question}`);
    this.#root.hidden = false;
    delete this.#root.dataset.answer;
    this.#clear();
    this.#say("Question sent.");
  }

  apply({ kind, data }) {
    switch (kind) {
      case "start": return this.#start(data);
      case "status": return this.#status.phase(data.phase);
      case "delta": return this.#delta(data.text);
      case "reasoning": return this.#reason(data.text);
      case "annotate": return this.#settle(data, this.#text);
      case "replace": return this.#settle(data, data.text);
      case "record": return this.#record(data);
      case "error": return this.fail(data);
      case "lost": return this.#status.lost(data.tries);
      case "back": return this.#status.back();
      default: return undefined;
    }
  }

  fail(error) {
    const words = errorWords(error);
    this.#prose.show(this.#text, { whole: true });
    this.#leave(error.code === "stopped" ? "stopped" : "error");
    this.#status.fail(words);
    this.#say(words.sentence(words.wait), { urgent: error.code !== "stopped" });
  }

  stopped() {
    this.fail({ code: "stopped" });
  }

  #clear() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#text = "";
    this.#chip = null;
    this.#settlement = null;
    this.#prose.clear();
    this.#sources.clear();
    const { notes, body, refusal, problems, replaced } = this.#parts;
    for (const part of [notes, refusal, problems, replaced]) part.hidden = true;
    body.hidden = false;
    body.ariaBusy = "true";
    notes.lastChild.textContent = "";
    CSS.highlights?.delete("cw-claim");
    delete this.#root.dataset.verdict;
    this.#root.dataset.state = "thinking";
    this.#status.wait(WAITING.looking);
  }

  /** Also the second `start` of a connection: begin again. */
  #start({ answer, sources = [], delivery }) {
    this.#clear();
    this.#root.dataset.answer = answer;
    this.#sources.found(sources);
    const held = delivery === "hold";
    this.#root.dataset.state = held ? "checking" : "thinking";
    this.#status.wait(held ? WAITING.held : WAITING.found(sources.length));
    this.#say(sayFound(sources.length));
  }

  #delta(text) {
    if (this.#text === "") {
      this.#say("Writing.");
      if (this.#root.dataset.state === "thinking") this.#root.dataset.state = "streaming";
    }
    if (this.#root.dataset.state === "streaming") this.#status.writing();
    this.#text += text;
    if (this.#frame !== 0) return;
    if (document.hidden) this.#draw();
    else this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#prose.show(this.#text);
  }

  #reason(text) {
    this.#parts.notes.hidden = false;
    this.#parts.notes.lastChild.append(text);
  }

  #settle(settlement, text) {
    const first = this.#text;
    this.#text = text;
    this.#settlement = settlement;
    const refused = settlement.verdict === "refused";
    this.#leave("settled");
    this.#root.dataset.verdict = settlement.verdict;
    if (refused) this.#refuse(text, settlement);
    else this.#prose.show(text, { marks: marksOf(settlement), whole: true });
    this.#sources.settle(settlement);
    this.#status.settle(verdictOf(settlement));
    this.#listProblems(settlement.problems);
    if (first !== "" && first !== text) this.#keepFirst(first, settlement);
    this.#announce(settlement);
  }

  /** No more text will come. */
  #leave(state) {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#parts.body.ariaBusy = "false";
    this.#root.dataset.state = state;
  }

  #refuse(text, settlement) {
    const { body, refusal } = this.#parts;
    const symbol = make("span", "symbol", verdictOf(settlement).symbol);
    const words = make("p", "refusal-text", drawn(text));
    symbol.ariaHidden = "true";
    words.dir = "auto";
    this.#prose.clear();
    body.hidden = true;
    refusal.hidden = false;
    refusal.replaceChildren(make("p", "refusal-title", symbol, "No answer from these sources"), words);
  }

  #announce(settlement) {
    const { sentence } = verdictOf(settlement);
    if (settlement.verdict === "refused") {
      this.#say(`No answer from these sources. ${this.#text} ${sentence}`);
      return;
    }
    const { paragraphs } = this.#prose;
    const { n } = tally(settlement);
    const size = `${paragraphs} ${paragraphs === 1 ? "paragraph" : "paragraphs"}, ${n} ${n === 1 ? "citation" : "citations"}`;
    this.#say(`Answer complete, ${size}. ${sentence}`);
  }

  /** The whole answer, when it ended while the line was down. */
  #record(record) {
    const first = this.#text;
    this.#start(record);
    const replaced = record.verdict === "corrected" || record.verdict === "refused";
    this.#text = replaced ? first : (record.text ?? first);
    if (record.state === "failed") this.fail(record.error);
    else this.#settle(record, record.text);
  }

  #listProblems(problems) {
    const el = this.#parts.problems;
    const standing = problems.map((problem, i) => ({ problem, i })).filter(({ problem }) => !problem.fixed);
    standing.sort((a, b) => (a.problem.start_u16 ?? Infinity) - (b.problem.start_u16 ?? Infinity));
    const items = standing.map(({ problem, i }) => this.#problemItem(problem, i));
    el.hidden = items.length === 0;
    el.open = false;
    el.replaceChildren(make("summary", "", showProblems(items.length)), make("ul", "", ...items));
  }

  #problemItem(problem, i) {
    const item = make("li", problem.severity, make("p", "", problemWords(problem, this.#sources.count)));
    item.id = `problem-${i}`;
    item.tabIndex = -1;
    if (!hasPlace(problem)) return item;
    item.append(make("p", "excerpt", excerpt(this.#text, problem)));
    if (this.#settlement.verdict === "refused") return item;
    item.append(makeButton("link", "Go to it", () => this.#goToText(problem)));
    return item;
  }

  /** The first text stays readable, with what was taken away struck out. */
  #keepFirst(first, settlement) {
    const el = this.#parts.replaced;
    const box = make("div", "body first");
    const old = new Prose(box, { titleOf: () => "", sources: () => 0, open: () => {} });
    old.show(first, { marks: removedMarks(first, settlement.problems), whole: true });
    for (const gone of box.querySelectorAll("del")) gone.prepend(make("span", "quiet", "removed: "));
    const fixed = settlement.problems.filter((p) => p.fixed);
    const why = fixed.map((p) => make("li", "", problemWords(p, this.#sources.count)));
    el.hidden = false;
    el.open = false;
    el.replaceChildren(
      make("summary", "", "Show what was replaced and why"),
      make("p", "", replacedReason(settlement)),
      make("ul", "", ...why),
      make("p", "meta", "Before"),
      box,
    );
  }

  #open(chip, button, how) {
    this.#close();
    this.#chip = button;
    button.dataset.open = "";
    if (chip.state !== "invalid") {
      this.#sources.open(chip.n, chip.citation, how === "press");
      return;
    }
    const item = this.#parts.problems.querySelector(`#problem-${chip.problem}`);
    if (how !== "press" || item === null) return;
    this.#parts.problems.open = true;
    item.focus();
  }

  #close() {
    this.#sources.close();
    delete this.#chip?.dataset.open;
  }

  /** To a place that cites a source, or back to the chip that opened it. */
  #goToChip(place) {
    if (place === null) {
      this.#chip?.focus();
      this.#close();
      return;
    }
    const citation = this.#settlement.citations[place];
    this.#chipOf(citation, citation.n)?.focus();
  }

  #chipOf({ start_u16, end_u16 }, n) {
    const node = this.#prose.nodeAt(start_u16, end_u16);
    return [...(node?.querySelectorAll?.("button") ?? [])].find((button) => button.dataset.n === String(n)) ?? null;
  }

  #goToText(problem) {
    const chip = this.#chipOf(problem, problem.n ?? "?");
    const range = this.#prose.range(problem.start_u16, problem.end_u16);
    if (chip !== null && isInvalid(problem)) chip.focus();
    else range?.startContainer.parentElement.scrollIntoView({ block: "nearest" });
    if (range !== null) CSS.highlights?.set("cw-claim", new Highlight(range));
  }
}

/** The words around a problem, so that a reader knows it without searching. */
function excerpt(text, { start_u16: start, end_u16: end }) {
  const before = text.slice(Math.max(0, start - AROUND), start);
  const after = text.slice(end, end + AROUND);
  const head = start > AROUND ? before.replace(/^\S*\s/, "… ") : before;
  const tail = text.length > end + AROUND ? after.replace(/\s\S*$/, " …") : after;
  return drawn(`${head}${text.slice(start, end)}${tail}`.replace(/\s+/g, " ").trim());
}
