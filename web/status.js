/**
 * The one line under the text that holds every message from `thinking` to the verdict, and its buttons. Buttons are made
 * once and hidden, never made again, so that the one in use keeps the focus.
 */

import { make, makeButton } from "./dom.js";
import { SMALL_PRINT, WAITING } from "./words.js";

/** How long the model may be silent before the line says so: before the first words, and between words. In ms. */
const FIRST_WORDS_MS = 8000;
const NEXT_WORDS_MS = 4000;
/** A short cut of the line is mended without a word. In ms. */
const LOST_AFTER_MS = 1000;
const BACK_FOR_MS = 2000;
/** Failed attempts after which the line offers to try at once. */
const STILL_LOST_TRIES = 4;

export class Status {
  el = make("div", "status");
  #symbol = make("span", "symbol");
  #sentence = make("p", "sentence");
  #small = make("p", "meta");
  #buttons;
  #say;
  #timer = 0;
  /** What the line says while nothing is wrong with it. */
  #waiting = "";
  /** Whether the line is `up`, down for a moment, or down and said to be so (`told`). */
  #line = "up";

  /** `actions` as `AnswerView` takes them; `say` for what the line says about the connection. */
  constructor({ stop, again, edit, key, reconnect }, say) {
    this.#say = say;
    this.#buttons = {
      stop: makeButton("", "Stop", stop),
      again: makeButton("primary", "Try again", again),
      ask: makeButton("primary", "Ask again", again),
      edit: makeButton("primary", "Edit question", edit),
      key: makeButton("primary", "Enter key", key),
      now: makeButton("primary", "Try now", reconnect),
    };
    this.#symbol.ariaHidden = "true";
    const dots = make("span", "dots", make("i"), make("i"), make("i"));
    const words = make("div", "words", this.#sentence, this.#small);
    this.el.append(this.#symbol, dots, words, make("div", "buttons", ...Object.values(this.#buttons)));
  }

  /** Nothing to read yet. */
  wait(sentence) {
    this.#hold(sentence);
    if (sentence !== WAITING.held) this.#later(FIRST_WORDS_MS, () => this.#show(WAITING.long));
  }

  /** Called for every piece of text. */
  writing() {
    this.#hold(WAITING.writing);
    this.#later(NEXT_WORDS_MS, () => this.#show(WAITING.quiet));
  }

  /** The model is done or asked again: its silence means nothing now. */
  phase(phase) {
    this.#hold(phase === "retrying" ? WAITING.retrying : this.#waiting);
  }

  lost(tries) {
    if (tries >= STILL_LOST_TRIES) {
      this.#tell(WAITING.still, ["now", "stop"]);
    } else if (this.#line === "up") {
      this.#line = "down";
      this.#later(LOST_AFTER_MS, () => this.#tell(WAITING.lost, ["stop"]));
    }
  }

  back() {
    const told = this.#line === "told";
    this.#hold(this.#waiting);
    if (!told) return;
    this.#show(WAITING.back);
    this.#say(WAITING.back);
    this.#later(BACK_FOR_MS, () => this.#show(this.#waiting));
  }

  /** `verdict` as `verdictOf` gives it. */
  settle(verdict) {
    this.#later(0, () => {});
    this.#show(verdict.sentence, { ...verdict, small: verdict.checked ? SMALL_PRINT : "", buttons: [] });
  }

  /** `words` as `errorWords` gives them. */
  fail(words, left = words.wait) {
    this.#show(words.sentence(left), { symbol: "✕", tone: words.tone, buttons: words.action === null ? [] : [words.action] });
    this.#buttons.again.disabled = left > 0;
    this.#later(1000, () => left > 0 && this.fail(words, left - 1));
  }

  #hold(sentence) {
    this.#line = "up";
    this.#waiting = sentence;
    this.#later(0, () => {});
    this.#show(sentence);
  }

  #tell(sentence, buttons) {
    this.#later(0, () => {});
    if (this.#line !== "told" || sentence === WAITING.still) this.#say(sentence);
    this.#line = "told";
    this.#show(sentence, { buttons });
  }

  /** One thing is due at a time: a new one takes the old one's place. */
  #later(ms, act) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, ms);
  }

  #show(sentence, { symbol = "", tone = "wait", small = "", buttons = ["stop"] } = {}) {
    write(this.#symbol, symbol);
    write(this.#sentence, sentence);
    write(this.#small, small);
    this.#small.hidden = small === "";
    this.el.dataset.tone = tone;
    for (const [name, el] of Object.entries(this.#buttons)) el.hidden = !buttons.includes(name);
  }
}

function write(el, words) {
  if (el.textContent !== words) el.textContent = words;
}
