/**
 * The sources beside the answer: number, title, host and whole passage, used ones apart from the rest. Passages, titles and
 * urls are untrusted: they become text nodes, and only absolute http(s) urls without credentials become links.
 */

import { drawn, make, makeButton, makeLink, safeUrl } from "./dom.js";
import { evidenceHint, showSearched } from "./words.js";

export class Sources {
  #panel;
  #goBack;
  #rows = new Map();
  #opened = null;

  /** `goBack(i)` leads to the chip of the i-th citation, `goBack(null)` to the chip that opened a source last. */
  constructor(panel, goBack) {
    this.#panel = panel;
    this.#goBack = goBack;
    panel.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.#opened !== null) goBack(null);
    });
  }

  get count() {
    return this.#rows.size;
  }

  titleOf(n) {
    return this.#rows.get(n)?.title ?? "";
  }

  clear() {
    this.#rows.clear();
    this.#opened = null;
    this.#panel.replaceChildren();
    this.#panel.hidden = true;
  }

  /** Before settlement: one list. */
  found(sources) {
    this.clear();
    for (const source of sources) this.#rows.set(source.n, newRow(source));
    if (this.count === 0) return;
    this.#panel.hidden = false;
    this.#panel.append(title(`Found (${this.count})`), list([...this.#rows.values()]));
  }

  /** After settlement: cited ones first, with the way back to each place that cites them. */
  settle({ citations, verdict }) {
    if (this.count === 0) return;
    citations.forEach((citation, i) => this.#rows.get(citation.n)?.places.push(i));
    const rows = [...this.#rows.values()];
    const used = rows.filter((row) => row.places.length > 0);
    const rest = rows.filter((row) => row.places.length === 0);
    for (const row of used) this.#addWaysBack(row);
    if (verdict === "refused") {
      this.#panel.replaceChildren(folded(showSearched(this.count), rows, false));
      return;
    }
    this.#panel.replaceChildren();
    if (used.length > 0) this.#panel.append(title(`Used in the answer (${used.length})`), list(used));
    if (rest.length > 0) this.#panel.append(folded(`Found but not used (${rest.length})`, rest, rest.length <= 3));
  }

  /** Lights the passage of source `n`: the evidence window if there is one, else all of it. `go` also leads there. */
  open(n, citation, go) {
    this.close();
    const row = this.#rows.get(n);
    if (row === undefined) return;
    this.#opened = row;
    row.el.dataset.open = "";
    const mark = light(row, citation);
    row.hint.textContent = citation ? evidenceHint(citation) : "";
    const fold = row.el.closest("details");
    if (fold !== null) fold.open = true;
    const scrolls = this.#panel.scrollHeight > this.#panel.clientHeight + 1;
    if (scrolls) this.#scrollTo(row.el, mark);
    if (!go) return;
    if (!scrolls) row.el.scrollIntoView({ block: "nearest" });
    row.el.focus({ preventScroll: true });
  }

  close() {
    if (this.#opened === null) return;
    const { el, hint, passage, text } = this.#opened;
    delete el.dataset.open;
    hint.textContent = "";
    passage.replaceChildren(drawn(text));
    this.#opened = null;
  }

  /** Brings the row to the top of the panel, or the mark into its upper third when the row is longer than the panel. */
  #scrollTo(row, mark) {
    const panel = this.#panel.getBoundingClientRect();
    const at = row.getBoundingClientRect().top - panel.top;
    const markAt = mark.getBoundingClientRect().bottom - panel.top;
    const tooDeep = markAt - at > panel.height;
    this.#panel.scrollBy({ top: tooDeep ? markAt - panel.height / 3 : at - 8 });
  }

  #addWaysBack(row) {
    const times = row.places.length;
    row.meta.append(make("span", "", times === 1 ? "cited once" : `cited ${times} times`));
    row.places.forEach((place, i) => {
      const button = makeButton("back", `↩ ${i + 1}`, () => this.#goBack(place));
      button.ariaLabel = `Back to place ${i + 1} in the answer`;
      row.meta.append(button);
    });
  }
}

const title = (words) => make("h3", "", words);
const list = (rows) => make("ul", "", ...rows.map((row) => row.el));

function folded(words, rows, open) {
  const el = make("details", "", make("summary", "", words), list(rows));
  el.open = open;
  return el;
}

function newRow({ n, id, title: given, url: address, text = "" }) {
  const name = drawn(given || id);
  const url = safeUrl(address);
  const label = make("p", "source-title", make("span", "source-n", String(n)), make("bdi", "", name));
  const meta = make("p", "meta");
  const hint = make("p", "hint");
  const passage = make("p", "passage", drawn(text));
  const el = make("li", "source", label, meta, hint, passage);
  label.id = `source-${n}-title`;
  passage.dir = "auto";
  el.id = `source-${n}`;
  el.tabIndex = -1;
  el.setAttribute("aria-labelledby", label.id);
  if (url !== null) {
    meta.append(make("span", "", url.host));
    el.append(makeLink(url, "Open source ↗"));
  } else if (address) {
    meta.append(make("span", "", drawn(address)));
  }
  return { el, meta, hint, passage, text, title: name, places: [] };
}

/** Marks the citation's window in the passage; returns what to look at. */
function light({ passage, text }, citation) {
  const window = citation?.evidence;
  if (!window) {
    passage.replaceChildren(make("mark", "whole", drawn(text)));
    return passage;
  }
  const { start_u16: start, end_u16: end } = window;
  const mark = make("mark", "", drawn(text.slice(start, end)));
  passage.replaceChildren(drawn(text.slice(0, start)), mark, drawn(text.slice(end)));
  return mark;
}
