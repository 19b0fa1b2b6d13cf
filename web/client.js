/**
 * Turns a question into the events of its answer, over as many connections as it takes. Knows nothing of the page and
 * loads outside a browser too.
 *
 * An event is `{kind, data, id}`. Kinds of the wire: start, status, delta, reasoning, tool, annotate, replace, error, done.
 * Kinds of our own, about the line: `lost {tries}` before each wait, `back {}` when a connection stands again, and
 * `record {…}`, the whole answer, when it ended while nobody was listening.
 */

/** Waits between attempts in ms; the last one repeats. Each is varied, so that a restarted server is not met by a crowd. */
const BACK_OFF_MS = [500, 1000, 2000, 4000, 8000];
const JITTER = 0.2;
/** The server sends a comment every 10 s. Three missed ones: the line is dead, although nobody closed it. In ms. */
const SILENCE_MS = 30_000;

/** What went wrong, in the words of the wire's error object; `retry_after` is in seconds or null. */
export class AnswerError extends Error {
  constructor({ code, message = "", retryable = false, retry_after = null }) {
    super(message);
    this.code = code;
    this.retryable = retryable;
    this.retry_after = retry_after;
  }
}

/**
 * Bytes, cut anywhere, to the blocks of an event stream, by the rules of the HTML standard (section 9.2.6).
 * `retry` is not read: the back-off is our own.
 */
export class EventParser {
  #utf8 = new TextDecoder();
  #afterCr = false;
  #line = "";
  #data = [];
  #kind = "";
  #id = "";

  /** The blocks that these bytes complete. */
  push(bytes) {
    let text = this.#utf8.decode(bytes, { stream: true });
    if (text === "") return [];
    const cutLineEnd = this.#afterCr && text.startsWith("\n");
    this.#afterCr = text.endsWith("\r");
    if (cutLineEnd) text = text.slice(1);
    const lines = text.split(/\r\n|\r|\n/);
    lines[0] = this.#line + lines[0];
    this.#line = lines.pop();
    return lines.map((line) => this.#read(line)).filter((block) => block !== null);
  }

  #read(line) {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#kind = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }

  #dispatch() {
    const block = this.#data.length === 0 ? null : { kind: this.#kind || "message", data: this.#data.join("\n"), id: this.#id };
    this.#data = [];
    this.#kind = "";
    return block;
  }
}

/** The events of one response; `heard` is called for every piece of bytes, comments too. */
export async function* readEvents(response, heard = () => {}) {
  const parser = new EventParser();
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      heard();
      for (const block of parser.push(value)) yield { ...block, data: parseData(block.data) };
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parseData(data) {
  try {
    return JSON.parse(data);
  } catch {
    throw new AnswerError({ code: "invalid_event", message: "an event of the stream is not JSON" });
  }
}

/** One answer from question to end. Read `events()` once; `stop()`, `reconnect()` and `close()` work at any time. */
export class Answer {
  /** Known from the response head on. */
  id = null;
  #request;
  #endpoint;
  #headers;
  #lastId = "";
  #line = null;
  #closed = false;
  #wake = () => {};

  /** `headers`: an object, or a function (async too) that makes one for each request. */
  constructor(request, { endpoint = "", headers = {} } = {}) {
    this.#request = request;
    this.#endpoint = endpoint;
    this.#headers = headers;
  }

  /** All events up to `done`, `error` or `record`. Throws `AnswerError` when there is no stream to read. */
  async *events() {
    let response = await this.#ask();
    for (let tries = 0; ; ) {
      try {
        for await (const event of this.#events(response)) {
          tries = 0;
          yield event;
          if (event.kind === "done" || event.kind === "error") return;
        }
      } catch (error) {
        if (error instanceof AnswerError) throw error;
      }
      for (response = null; response === null; tries += 1) {
        if (this.#closed) return;
        yield { kind: "lost", data: { tries }, id: "" };
        await this.#pause(tries);
        if (this.#closed) return;
        const found = await this.#resume();
        if (found?.kind === "record") {
          yield found;
          return;
        }
        response = found;
      }
      yield { kind: "back", data: {}, id: "" };
    }
  }

  /** Asks the server to end the answer, then stops listening. */
  stop() {
    if (this.id !== null) {
      this.#fetch(this.#url(), { method: "DELETE", keepalive: true }, new AbortController()).catch(() => {});
    }
    this.close();
  }

  /** Ends the present wait at once. */
  reconnect() {
    this.#wake();
  }

  /** Stops listening; the server keeps the answer for a while. */
  close() {
    this.#closed = true;
    this.#line?.abort();
    this.#wake();
  }

  async #ask() {
    const init = {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify(this.#request),
    };
    const response = await this.#fetch(`${this.#endpoint}/v1/answers`, init).catch(() => {
      throw new AnswerError({ code: "no_connection", message: "the gateway cannot be reached", retryable: true });
    });
    if (!response.ok) throw await failureOf(response);
    this.id = response.headers.get("location")?.split("/").pop() ?? null;
    return response;
  }

  /** A response to read on, a `record` event when the answer is over, or null when there is no connection yet. */
  async #resume() {
    if (this.id === null) throw new AnswerError({ code: "no_connection", retryable: true });
    const silence = setTimeout(() => this.#line?.abort(), SILENCE_MS);
    try {
      const place = this.#lastId === "" ? {} : { "last-event-id": this.#lastId };
      const response = await this.#fetch(`${this.#url()}/events`, { headers: { accept: "text/event-stream", ...place } });
      if (response.status === 200) return response;
      if (response.status !== 204) return await refused(response);
      const record = await this.#fetch(this.#url(), { headers: { accept: "application/json" } });
      if (!record.ok) return await refused(record);
      const data = await record.json();
      return data.state === "running" ? null : { kind: "record", data, id: "" };
    } catch (error) {
      if (error instanceof AnswerError) throw error;
      return null;
    } finally {
      clearTimeout(silence);
    }
  }

  async *#events(response) {
    const line = this.#line;
    let silence;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => line.abort(), SILENCE_MS);
    };
    heard();
    try {
      for await (const event of readEvents(response, heard)) {
        if (event.id !== "") this.#lastId = event.id;
        if (event.kind === "start") this.id = event.data.answer;
        yield event;
      }
    } finally {
      clearTimeout(silence);
    }
  }

  async #fetch(url, init, line = (this.#line = new AbortController())) {
    if (this.#closed) line.abort();
    const own = typeof this.#headers === "function" ? await this.#headers() : this.#headers;
    return fetch(url, { ...init, headers: { ...own, ...init.headers }, signal: line.signal });
  }

  #url() {
    return `${this.#endpoint}/v1/answers/${encodeURIComponent(this.id)}`;
  }

  /** Waits its turn, or less: the network or the reader may be back before. */
  #pause(tries) {
    const base = BACK_OFF_MS[Math.min(tries, BACK_OFF_MS.length - 1)];
    const { promise, resolve } = deferred();
    const onShow = () => document.hidden || resolve();
    const timer = setTimeout(resolve, base * (1 + JITTER * (2 * Math.random() - 1)));
    this.#wake = resolve;
    globalThis.addEventListener?.("online", resolve);
    globalThis.document?.addEventListener("visibilitychange", onShow);
    return promise.finally(() => {
      clearTimeout(timer);
      globalThis.removeEventListener?.("online", resolve);
      globalThis.document?.removeEventListener("visibilitychange", onShow);
    });
  }
}

function deferred() {
  let resolve;
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}

/** A refusal to resume: passed on when it is final, null when the same request may succeed later. */
async function refused(response) {
  const failure = await failureOf(response);
  if (!failure.retryable) throw failure;
  return null;
}

async function failureOf(response) {
  const body = await response.json().catch(() => null);
  const failure = body?.error ?? { code: `http_${response.status}`, retryable: response.status >= 500 };
  const header = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  return new AnswerError({ ...failure, retry_after: failure.retry_after ?? (Number.isNaN(header) ? null : header) });
}
