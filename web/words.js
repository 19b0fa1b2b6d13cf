/**
 * Every sentence that a reader sees, and the counting behind the verdict. Pure: data in, words out.
 * The words "verified", "true" and "trusted" never occur here.
 */

export const SMALL_PRINT =
  "Checked by code: range. Not checked: whether a source supports its sentence.";

/** Codes of a number that points to no source. */
const INVALID = new Set(["out_of_range", "unknown_source", "stale_marker"]);
/** Codes of a citation that may point to the wrong source. */
const WEAK = new Set(["miscite", "low_overlap"]);

export const isInvalid = (problem) => INVALID.has(problem.code);
export const isWeak = (problem) => WEAK.has(problem.code);

/** `one` or `more`, with `{k}` filled in. */
const many = (k, one, more) => (k === 1 ? one : more).replaceAll("{k}", k);

export const sayFound = (k) => many(k, "1 source found.", "{k} sources found.");

export const WAITING = {
  looking: "Looking for sources…",
  found: (k) => `${sayFound(k)} Waiting for the first words…`,
  long: "Still waiting for the model. You can stop at any time.",
  writing: "Writing… citations are checked at the end.",
  quiet: "The model has paused. Still connected.",
  held: "Writing and checking. Nothing is shown before it is checked.",
  retrying: "A check failed, so the model is asked once more.",
  lost: "Connection lost. Reconnecting, your place is kept…",
  still: "Still no connection.",
  back: "Connected again.",
  stopped: "Stopped by you. This text is incomplete and not checked.",
};

/** How many citations stand in a settled text: `n` in all, `valid` ones, `invalid` ones. */
export function tally({ citations, problems }) {
  const bad = problems.filter((p) => isInvalid(p) && !p.fixed).map((p) => `${p.start_u16} ${p.n ?? p.id}`);
  const invalid = new Set(bad).size;
  return { n: citations.length + invalid, valid: citations.length, invalid };
}

/** Symbol, tone and sentence of a verdict; `tone` names the colour, `checked` says whether the small print applies. */
export function verdictOf(settlement) {
  const kinds = {
    clean: { symbol: "✓", tone: "ok", sentence: rangeSentence(settlement) },
    annotated: { symbol: "▲", tone: "warn", sentence: annotatedSentence(settlement) },
    corrected: { symbol: "↻", tone: "warn", sentence: correctedSentence(settlement) },
    refused: { symbol: "■", tone: "muted", sentence: `${refusalReason(settlement.reason)} A person should look at this.` },
    unchecked: { symbol: "○", tone: "muted", sentence: "Not checked: this answer has no sources." },
  };
  const kind = kinds[settlement.verdict] ?? { symbol: "○", tone: "muted", sentence: settlement.verdict };
  return { ...kind, checked: settlement.verdict !== "unchecked" };
}

function rangeSentence(settlement) {
  const { n, valid, invalid } = tally(settlement);
  if (n === 0) return "No citation in this answer.";
  if (invalid === 0) return many(n, "The one citation is in range.", "All {k} citations in range.");
  const rest = many(invalid, "{k} points to no source.", "{k} point to no source.");
  return `${valid} of ${many(n, "{k} citation", "{k} citations")} in range, ${rest}`;
}

/** What else a verdict says, errors first: codes, words for one, words for more. */
const CLAUSES = [
  [["truncated"], "the answer was cut off", "the answer was cut off"],
  [
    ["quote_not_found", "quote_wrong_source", "quote_stitched"],
    "1 quote is not in its source",
    "{k} quotes are not in their source",
  ],
  [["uncited_sentence", "uncited_step"], "1 sentence has no citation", "{k} sentences have no citation"],
  [[...WEAK], "1 citation may name the wrong source", "{k} citations may name the wrong source"],
];

/** The range, then two clauses at most, then how many problems more. */
function annotatedSentence(settlement) {
  const others = settlement.problems.filter(
    (p) => !p.fixed && p.severity !== "info" && !isInvalid(p) && p.code !== "no_citations",
  );
  const said = CLAUSES.map(([codes, one, more]) => {
    const k = others.filter((p) => codes.includes(p.code)).length;
    return { k, words: many(k, one, more) };
  })
    .filter(({ k }) => k > 0)
    .slice(0, 2);
  const parts = said.map(({ words }) => words);
  const unsaid = others.length - said.reduce((sum, { k }) => sum + k, 0);
  if (unsaid > 0 && parts.length > 0) parts.push(`and ${unsaid} more`);
  if (unsaid > 0 && parts.length === 0) parts.push(many(unsaid, "1 problem was found", "{k} problems were found"));
  const rest = parts.join(", ");
  return rest === "" ? rangeSentence(settlement) : `${rangeSentence(settlement)} ${capital(rest)}.`;
}

const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);

function correctedSentence({ reason, problems }) {
  if (reason !== "strip") {
    return "Corrected: the first answer failed a check and the model was asked once more.";
  }
  const k = problems.filter((p) => p.fixed).length;
  return many(
    k,
    "Corrected: {k} citation that pointed to no source was removed.",
    "Corrected: {k} citations that pointed to no source were removed.",
  );
}

function refusalReason(reason) {
  const words = {
    no_sources: "No source was found, so no model was asked.",
    retry_failed: "Two answers failed the checks.",
    check_failed: "The answer failed a check.",
  };
  return words[reason] ?? "The sources do not answer this.";
}

/** Why the first text was taken away, for the disclosure. */
export function replacedReason({ verdict, reason }) {
  if (reason === "strip") return "The first text cited a number that points to no source. Only that number was removed.";
  if (verdict === "refused") return `${refusalReason(reason)} This is the text that was shown first.`;
  return "The first answer failed a check, so the model was asked once more. This is the text that was shown first.";
}

/** `9` of 6 sources: what is wrong with a struck chip. */
export function explainInvalid(label, sources) {
  return `Citation ${label} points to no source. ${many(sources, "There is 1 source.", "There are {k} sources.")}`;
}

/** What a problem says: in our words when its number points nowhere, else in the server's. */
export function problemWords(problem, sources) {
  if (isInvalid(problem)) return explainInvalid(problem.n ?? "?", sources);
  return capital(problem.message ?? problem.code);
}

export const showProblems = (k) => many(k, "Show 1 problem", "Show {k} problems");
export const showSearched = (k) => many(k, "Show the 1 source that was searched", "Show the {k} sources that were searched");

/** The accessible name of a chip. */
export function chipName({ n, state }, title) {
  if (state === "invalid") return `Citation ${n}, points to no source`;
  const tail = { pending: ", not checked yet", weak: ", may be the wrong source" }[state] ?? "";
  return `Citation ${n}${title ? `, ${title}` : ""}${tail}`;
}

/** How well a source fits its sentence, as a hint. */
export function evidenceHint({ evidence, overlap }) {
  if (!evidence) return "No single sentence stands out; this is the passage.";
  return typeof overlap === "number"
    ? `Word overlap with this source: ${Math.round(overlap * 100)} %. A hint, not proof.`
    : "";
}

/** When nobody said how long a busy server will be busy, in seconds. */
const BUSY_FOR_S = 5;
const BUSY = new Set(["rate_limited", "model_rate_limited", "too_many_answers"]);

/** Sentence, tone and offered action (`again`, `ask`, `edit`, `key` or none) of an error. `wait`: seconds to count down. */
export function errorWords({ code, message, retryable, retry_after }) {
  if (BUSY.has(code)) {
    const sentence = (s) => (s > 0 ? `Busy. Try again in ${s} s.` : "Busy. Try again now.");
    return { sentence, tone: "bad", action: "again", wait: retry_after ?? BUSY_FOR_S };
  }
  const fixed = {
    model_unreachable: ["The model did not answer."],
    model_timeout: ["The model did not answer."],
    model_truncated: ["The model stopped in the middle. This text is incomplete and not checked."],
    answer_too_long: ["Stopped at the length limit. Not checked."],
    retriever_failed: ["The document search did not answer."],
    retriever_timeout: ["The document search did not answer."],
    shutting_down: ["The server is restarting."],
    unauthorized: ["This gateway needs a key.", "key"],
    invalid_request: [`Not accepted: ${message}`, "edit"],
    not_found: ["This answer is no longer kept.", "ask"],
    stopped: [WAITING.stopped, "ask"],
    no_connection: [WAITING.still],
  };
  const [sentence, action] = fixed[code] ?? [`Something went wrong in citewire (${code}).`];
  const tone = code === "stopped" ? "muted" : "bad";
  return { sentence: () => sentence, tone, action: action ?? (retryable ? "again" : null), wait: 0 };
}
