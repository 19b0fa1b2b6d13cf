/**
 * Turns the released text into paragraphs, list items, line breaks, bold words and citation chips. Text and source titles
 * are written as text nodes and nothing else; HTML and unknown syntax are shown as written.
 *
 * While text arrives it is append-only: a shown letter stays. What could still become syntax (a star, a line's first
 * characters, a half marker of a foreign server) is kept back until it cannot. Offsets are UTF-16 units of the whole text.
 */

import { drawn, make, makeButton } from "./dom.js";
import { chipName, explainInvalid, isInvalid, isWeak } from "./words.js";

/** Longest tail that is searched for something to keep back; the server's own limit on a marker. In UTF-16 units. */
const TAIL = 128;
const UNDECIDED = /(?:\[[\d ,;]*|\*{1,2}|(?:^|\n)[ \t]*(?:[-+*•]|\d{1,3}[.)]?|`{1,2})?[ \t]*)$/;
const ITEM = /^[ \t]*(?:[-+*•]|(\d{1,3})[.)])[ \t]+/;
const PENDING = /\[ ?\d{1,3} ?(?:[,;] ?\d{1,3} ?)*\]/g;
const INLINE = /\r?\n[ \t]*|\*\*|`[^`\n]+`/g;
/** The same while the closing backtick of the last code may still come: what looks like a marker in it is none. */
const INLINE_OPEN = /\r?\n[ \t]*|\*\*|`[^`\n]*(?:`|$)/g;
const LINE_END = /\r?\n/g;

/** How far `text` can be shown before the next piece is known. */
export function decidedEnd(text) {
  const tail = text.slice(-TAIL);
  const from = text.length - tail.length;
  const found = UNDECIDED.exec(from > 0 ? `.${tail}` : tail);
  if (found === null) return text.length;
  return from + found.index - (from > 0 ? 1 : 0) + (found[0].startsWith("\n") ? 1 : 0);
}

/** The blocks of `text` between `from` and `end`: paragraphs and list items, each with its place in the text. */
export function blocksOf(text, from, end) {
  const blocks = [];
  let open = null;
  let fenced = false;
  for (let at = from, stop; at < end; at = stop + 1) {
    stop = text.indexOf("\n", at);
    if (stop < 0 || stop > end) stop = end;
    const line = text.slice(at, stop);
    const fence = line.trimStart().startsWith("```");
    const item = fenced ? null : ITEM.exec(line);
    if (!fenced && line.trim() === "") {
      open = null;
    } else if (item !== null || open === null || (fence && !fenced)) {
      const kind = item === null ? "p" : item[1] === undefined ? "ul" : "ol";
      const number = Number(item?.[1] ?? 0);
      open = { kind, number, code: fence, start: at + (item?.[0].length ?? 0), from: at, end: stop };
      blocks.push(open);
    } else {
      open.end = stop;
    }
    if (fence) fenced = !fenced;
    if (fence && !fenced) open = null;
  }
  return blocks;
}

/**
 * The pieces of one block: `{kind: text|bold|break|cite|del, start, end}` in order, without gaps.
 * `marks`: places the server judged, or null while it has not, when plain markers become pending chips. `last`: this block
 * may still grow.
 */
export function piecesOf(text, block, marks, last) {
  const source = text.slice(block.start, block.end);
  const found = [];
  const syntax = block.code ? LINE_END : last ? INLINE_OPEN : INLINE;
  for (const match of source.matchAll(syntax)) {
    const kind = match[0].includes("\n") ? "break" : match[0] === "**" ? "star" : "code";
    found.push({ kind, start: match.index, end: match.index + match[0].length });
  }
  for (const mark of marks ?? (block.code ? [] : pendingMarks(source))) {
    const start = mark.start - (marks === null ? 0 : block.start);
    if (start >= 0 && start < source.length) found.push({ ...mark, start, end: start + mark.end - mark.start });
  }
  found.sort((a, b) => a.start - b.start || b.end - a.end);
  return joinPieces(source, block.start, dropOddStar(dropOverlaps(found, marks === null), last));
}

function pendingMarks(source) {
  return [...source.matchAll(PENDING)].map((match) => ({
    kind: "cite",
    start: match.index,
    end: match.index + match[0].length,
    chips: match[0].match(/\d+/g).map((digits) => ({ n: Number(digits), state: "pending" })),
  }));
}

/** Code wins over what is in it, but a place that the server judged wins over everything. */
function dropOverlaps(found, pending) {
  const kept = [];
  for (const piece of found) {
    const before = kept.at(-1);
    if (before === undefined || piece.start >= before.end) kept.push(piece);
    else if (!pending && piece.chips) kept.splice(-1, 1, piece);
  }
  return kept;
}

/** A block that ends without the closing stars gets its stars back; the last block may still get them. */
function dropOddStar(found, last) {
  const stars = found.filter((piece) => piece.kind === "star");
  return stars.length % 2 === 0 || last ? found : found.filter((piece) => piece !== stars.at(-1));
}

function joinPieces(source, base, found) {
  const pieces = [];
  let at = 0;
  let bold = false;
  const plain = (to) => {
    if (to > at) pieces.push({ kind: bold ? "bold" : "text", value: source.slice(at, to), start: base + at, end: base + to });
    at = to;
  };
  for (const piece of found) {
    if (piece.kind === "code") continue;
    plain(piece.start);
    if (piece.kind === "star") bold = !bold;
    else pieces.push({ ...piece, value: source.slice(piece.start, piece.end), start: base + piece.start, end: base + piece.end });
    at = piece.end;
  }
  plain(source.length);
  return pieces;
}

/** The places that a settlement judged, in text order: citations and invalid numbers, one mark per span. */
export function marksOf({ citations, problems }) {
  const spans = new Map();
  const chipsAt = ({ start_u16: start, end_u16: end }) => {
    const key = `${start} ${end}`;
    if (!spans.has(key)) spans.set(key, { kind: "cite", start, end, chips: [] });
    return spans.get(key).chips;
  };
  const weak = problems.filter(isWeak);
  for (const citation of citations) {
    const doubted = weak.some((p) => p.start_u16 === citation.start_u16 && (p.n ?? citation.n) === citation.n);
    chipsAt(citation).push({ n: citation.n, state: doubted ? "weak" : "valid", citation });
  }
  problems.forEach((problem, index) => {
    if (!isInvalid(problem) || problem.fixed || !hasPlace(problem)) return;
    const chips = chipsAt(problem);
    const n = problem.n ?? "?";
    if (!chips.some((chip) => chip.n === n)) chips.push({ n, state: "invalid", problem: index });
  });
  return [...spans.values()].sort((a, b) => a.start - b.start);
}

/** The numbers that a correction removed, as marks on the first text: the whole marker when nothing of it was left. */
export function removedMarks(first, problems) {
  const gone = problems.filter((p) => p.fixed && isInvalid(p) && hasPlace(p));
  const marks = gone.flatMap(({ n, start_u16: start, end_u16: end }) => {
    const numbers = [...first.slice(start, end).matchAll(/\d+/g)];
    const removed = gone.filter((p) => p.start_u16 === start).length;
    if (numbers.length <= removed) return [{ kind: "del", start, end }];
    return numbers
      .filter(([digits]) => Number(digits) === n)
      .map(({ 0: digits, index }) => ({ kind: "del", start: start + index, end: start + index + digits.length }));
  });
  return marks.sort((a, b) => a.start - b.start);
}

/** Not every problem is about a place in the text. */
export const hasPlace = (problem) => Number.isInteger(problem.start_u16);

/** Writes one text into one element, again and again as it grows. */
export class Prose {
  #box;
  #host;
  #blocks = [];

  /** `host`: `{titleOf(n), sources(), open(chip, button, how)}`, `how` being `press` or `focus`. */
  constructor(box, host) {
    this.#box = box;
    this.#host = host;
  }

  get paragraphs() {
    return this.#box.childElementCount;
  }

  clear() {
    this.#box.replaceChildren();
    this.#blocks = [];
  }

  /** Shows `text`: as far as it is decided while `marks` is null and it is not `whole`, else all of it. */
  show(text, { marks = null, whole = false } = {}) {
    const end = whole ? text.length : decidedEnd(text);
    const grown = marks === null && this.#blocks.length > 0;
    const first = grown ? this.#blocks.length - 1 : 0;
    const blocks = blocksOf(text, grown ? this.#blocks[first].from : 0, end);
    blocks.forEach((block, i) => {
      const pieces = piecesOf(text, block, marks, !whole && i === blocks.length - 1);
      this.#write(first + i, block, marks === null ? pieces : inWrittenOrder(pieces));
    });
    for (const gone of this.#blocks.splice(first + blocks.length)) removeBlock(gone);
  }

  /** The element of the marker at exactly this place, or null. */
  nodeAt(start, end) {
    const pieces = this.#blocks.flatMap((block) => block.pieces);
    return pieces.find((p) => p.kind === "cite" && p.start === start && p.end === end)?.node ?? null;
  }

  /** The shown text between two offsets as a Range, or null when it is not shown. */
  range(start, end) {
    const pieces = this.#blocks.flatMap((block) => block.pieces).filter((p) => p.end > start && p.start < end);
    if (pieces.length === 0) return null;
    const range = new Range();
    const from = pieces[0];
    const to = pieces.at(-1);
    if (from.kind === "text") range.setStart(from.node, Math.min(Math.max(0, start - from.start), from.node.length));
    else range.setStartBefore(from.node);
    if (to.kind === "text") range.setEnd(to.node, Math.min(end - to.start, to.node.length));
    else range.setEndAfter(to.node);
    return range;
  }

  #write(i, block, pieces) {
    let shown = this.#blocks[i];
    if (shown !== undefined && shown.kind !== block.kind) {
      for (const gone of this.#blocks.splice(i)) removeBlock(gone);
      shown = undefined;
    }
    if (shown === undefined) {
      shown = { el: this.#newBlock(block, this.#blocks[i - 1]), pieces: [] };
      this.#blocks[i] = shown;
    }
    Object.assign(shown, block, { pieces: this.#sync(shown.el, shown.pieces, pieces) });
  }

  #newBlock(block, before) {
    const el = document.createElement(block.kind === "p" ? "p" : "li");
    el.dir = "auto";
    if (block.code) el.className = "code";
    if (block.kind === "p") {
      this.#box.append(el);
    } else {
      const list = before?.kind === block.kind ? before.el.parentElement : document.createElement(block.kind);
      if (block.kind === "ol") el.value = block.number;
      list.append(el);
      if (list.parentElement === null) this.#box.append(list);
    }
    return el;
  }

  /** Keeps the nodes of the pieces that stayed or grew, replaces the rest; returns the pieces with their nodes. */
  #sync(el, old, pieces) {
    let kept = 0;
    while (kept < pieces.length && kept < old.length && this.#keep(old[kept], pieces[kept])) kept += 1;
    for (const gone of old.slice(kept)) gone.node.remove();
    for (const piece of pieces.slice(kept)) {
      piece.node = this.#nodeOf(piece);
      el.append(piece.node);
    }
    return pieces;
  }

  #keep(old, piece) {
    const same = old.kind === piece.kind && piece.value.startsWith(old.value);
    if (!same || (piece.kind === "cite" && !sameChips(old, piece))) return false;
    if (piece.value !== old.value && piece.kind === "break") return false;
    piece.node = old.node;
    if (piece.kind === "cite") this.#nameChips(piece);
    else if (piece.value !== old.value) {
      const text = old.node.firstChild ?? old.node;
      text.appendData(drawn(piece.value.slice(old.value.length)));
    }
    return true;
  }

  #nodeOf(piece) {
    if (piece.kind === "text") return document.createTextNode(drawn(piece.value));
    if (piece.kind === "break") return document.createElement("br");
    if (piece.kind === "cite") return this.#newCite(piece);
    return make(piece.kind === "bold" ? "strong" : "del", "", drawn(piece.value));
  }

  /** `[1, 3]` as one span of two buttons, whole before it is shown; the brackets are there for copying only. */
  #newCite(piece) {
    const cite = make("span", "cite");
    piece.chips.forEach((chip, i) => {
      cite.append(bracket(i === 0 ? "[" : ", "), makeButton("chip", `${chip.n}${locator(piece)}`, null));
    });
    cite.append(bracket("]"));
    piece.node = cite;
    this.#nameChips(piece);
    return cite;
  }

  #nameChips(piece) {
    [...piece.node.querySelectorAll("button")].forEach((button, i) => {
      const chip = piece.chips[i];
      button.className = `chip ${chip.state}`;
      button.dataset.n = chip.n;
      button.setAttribute("aria-label", chipName(chip, this.#host.titleOf(chip.n)));
      if (chip.state === "invalid") button.title = explainInvalid(chip.n, this.#host.sources());
      button.onclick = () => this.#host.open(chip, button, "press");
      button.onfocus = () => this.#host.open(chip, button, "focus");
    });
  }
}

function removeBlock({ el }) {
  const list = el.parentElement;
  el.remove();
  if (list !== null && list.matches("ul, ol") && list.childElementCount === 0) list.remove();
}

const sameChips = (a, b) => a.value === b.value && a.chips.map((c) => c.n).join() === b.chips.map((c) => c.n).join();

function bracket(text) {
  const el = make("span", "bracket", text);
  el.ariaHidden = "true";
  return el;
}

const LOCATOR = /\d\s*,?\s*((?:§|pp?\.|page|ch\.|sec\.|section|fig\.|table|line|para\.|vol\.)[^\]】］]{1,40})/i;

/** ` p. 6–7` of `[1, p. 6–7]`, only when the marker names one source. */
function locator({ chips, value }) {
  const found = chips.length === 1 ? LOCATOR.exec(value) : null;
  return found === null ? "" : ` ${drawn(found[1].trim())}`;
}

/** Chips in the order in which the marker names them; the server lists citations and problems apart. */
function inWrittenOrder(pieces) {
  for (const piece of pieces) {
    if (piece.kind !== "cite" || piece.chips.length < 2) continue;
    const written = (piece.value.match(/\d+/g) ?? []).map(Number);
    const place = (chip) => (written.includes(chip.n) ? written.indexOf(chip.n) : written.length);
    piece.chips.sort((a, b) => place(a) - place(b));
  }
  return pieces;
}
