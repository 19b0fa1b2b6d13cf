/** The page in a real browser against the real gateway: `CITEWIRE=path/to/citewire node --test`. */

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { startBrowser, startGateway } from "./gateway.mjs";

const PRICE = "How much is the monthly pass?";
const TORN = /\[[\d,;\s]*$/;
const ALLOWED = new Set(["A", "ASIDE", "BDI", "BR", "BUTTON", "DEL", "DETAILS", "DIV", "H2", "H3", "I", "LI", "MARK", "OL", "P",
  "SPAN", "STRONG", "SUMMARY", "UL"]);
/** What the page itself asks for. */
const OWN_PATH = /^\/($|[a-z]+\.(js|css)$|v1\/)/;
const SETTLED = "#answer[data-state=settled]";

let browser;
let page;
let alarms;

before(async () => {
  browser = await startBrowser();
});
after(() => browser?.close());

beforeEach(async () => {
  page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  alarms = [];
  page.on("dialog", (dialog) => {
    alarms.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("pageerror", (error) => alarms.push(`error: ${error.message}`));
  page.on("console", (line) => /content security policy/i.test(line.text()) && alarms.push(line.text()));
  await page.addInitScript(recordShownText);
  await page.addInitScript(recordStream);
});
afterEach(async () => {
  await page.close();
  assert.deepEqual(alarms, []);
});

/** Runs in the page: every text that the answer's body ever had. */
function recordShownText() {
  window.shown = [];
  new MutationObserver(() => {
    const text = document.querySelector("#answer .body")?.textContent ?? "";
    if (text !== window.shown.at(-1)) window.shown.push(text);
  }).observe(document, { subtree: true, childList: true, characterData: true });
}

/** Runs in the page: keeps a copy of what came over the newest answer's first connection. */
function recordStream() {
  const real = window.fetch;
  window.fetch = async (url, init) => {
    const response = await real(url, init);
    if (init?.method === "POST") window.sent = response.clone().text().catch(() => "");
    return response;
  };
}

async function ask(gateway, question, { until = SETTLED } = {}) {
  await page.goto(gateway.base);
  await page.fill("#question", question);
  await page.press("#question", "Enter");
  await page.waitForSelector(until);
}

const bodyText = () => page.locator("#answer .reading > .body").textContent();
const sentence = () => page.locator(".status .sentence").textContent();
const borderOf = (chip) => chip.evaluate((el) => getComputedStyle(el).borderTopStyle);

/** No half marker was on the page at any moment. */
async function assertNothingTornShown() {
  const shown = await page.evaluate(() => window.shown);
  assert.ok(shown.filter((text) => text !== "").length >= 2, `the text did not grow: ${JSON.stringify(shown)}`);
  assert.deepEqual(shown.filter((text) => TORN.test(text)), []);
}

/** No half marker was in what the gateway had sent at any moment: the page keeps one back too, and must not hide that. */
async function assertNothingTornSent() {
  const stream = await page.evaluate(() => window.sent);
  const blocks = stream.split("\n\n").filter((block) => /^event: ?delta$/m.test(block));
  const pieces = blocks.map((block) => JSON.parse(/^data: ?(.*)$/m.exec(block)[1]).text);
  assert.ok(pieces.length > 0);
  const sent = pieces.map((_, i) => pieces.slice(0, i + 1).join(""));
  assert.deepEqual(sent.filter((text) => TORN.test(text)), []);
}

async function record(gateway) {
  const id = await page.locator("#answer").getAttribute("data-answer");
  const response = await fetch(`${gateway.base}/v1/answers/${id}`);
  assert.equal(response.status, 200);
  return response.json();
}

describe("with the built-in model", () => {
  let gateway;
  before(async () => {
    gateway = await startGateway();
  });
  after(() => gateway?.stop());

  it("answers with checked citations whose chips lead to the passage", async () => {
    await ask(gateway, PRICE);
    assert.match(await bodyText(), /25 dollars/);
    assert.match(await sentence(), /^(All \d+ citations|The one citation is) in range\./);
    await assertNothingTornSent();
    await assertNothingTornShown();
    const passages = [];
    for (const chip of await page.locator(".body .chip").all()) {
      assert.equal(await borderOf(chip), "solid");
      assert.match(await chip.getAttribute("aria-label"), /^Citation \d+/);
      await chip.click();
      const lit = page.locator(".source[data-open]");
      assert.equal(await lit.count(), 1);
      assert.ok((await lit.locator("mark").textContent()).length > 0);
      assert.ok(await lit.locator("mark").evaluate(isInView));
      passages.push(await lit.locator(".passage").textContent());
    }
    assert.ok(passages.some((text) => text.includes("25 dollars")), JSON.stringify(passages));
  });

  it("refuses without asking a model when no source is found", async () => {
    await ask(gateway, "What is the capital of France?");
    const box = page.locator(".refusal");
    assert.ok(await box.isVisible());
    assert.match(await box.textContent(), /No answer from these sources/);
    assert.match(await sentence(), /^No source was found, so no model was asked\./);
    assert.equal(await page.locator(".body .chip").count(), 0);
    assert.equal((await record(gateway)).model_calls, 0);
  });

  it("names its model and documents, and asks an example on one click", async () => {
    await page.goto(gateway.base);
    assert.match(await page.locator("#about").textContent(), /^Model: [^{]+ · Documents: [^{]+$/);
    await page.getByRole("button", { name: "Do I need a helmet?" }).click();
    await page.waitForSelector(SETTLED);
    assert.equal(await page.locator("#answer h2").textContent(), "Do I need a helmet?");
  });

  it("says in words that the gateway is busy and counts down", async () => {
    const error = { code: "rate_limited", message: "", param: null, type: "client_error", retryable: true, retry_after: 2 };
    await page.route("**/v1/answers", (route) => route.fulfill({ status: 429, json: { error } }));
    await ask(gateway, PRICE, { until: "#answer[data-state=error]" });
    assert.equal(await sentence(), "Busy. Try again in 2 s.");
    const again = page.getByRole("button", { name: "Try again" });
    assert.ok(await again.isDisabled());
    await page.unroute("**/v1/answers");
    await again.click();
    await page.waitForSelector(SETTLED);
  });

  it("shows hostile sources and problems as text", async () => {
    const evil = '<img src=x onerror="window.hit = 1">';
    const sources = [
      { n: 1, id: "a", title: evil, url: "javascript:window.hit=1", text: evil },
      { n: 2, id: "b", title: null, url: "https://user:pass@city.example/", text: "<script>window.hit = 1</script>" },
      { n: 3, id: "c", title: "Good", url: "https://city.example/a", text: "Good" },
    ];
    const events = [
      ["start", { answer: "ans_x", format: "prose", delivery: "stream", model: "m", prompt_version: "1", sources }],
      ["delta", { text: "Text." }],
      ["annotate", { verdict: "annotated", citations: [], used: [],
        problems: [{ code: "looks_like_citation", severity: "warning", message: evil, start_u16: 0, end_u16: 5 }] }],
      ["done", { finish_reason: "stop", model_calls: 1 }],
    ];
    const body = events.map(([kind, data], i) => `id: ${i + 1}\nevent: ${kind}\ndata: ${JSON.stringify(data)}\n\n`).join("");
    await page.route("**/v1/answers", (route) => route.fulfill({ status: 200, contentType: "text/event-stream", body }));
    await ask(gateway, evil);
    await assertOnlyText();
    assert.equal(await page.locator("#answer a").count(), 1);
    assert.equal(await page.locator("#answer a").getAttribute("href"), "https://city.example/a");
    assert.match(await page.locator("#answer .problems").textContent(), /<img src=x/);
  });

  it("reads the event stream however its bytes are cut", async () => {
    await page.goto(gateway.base);
    const stream = "\ufeff: ping\r\n\r\nid: 1\nevent: delta\ndata: {\"text\":\n" +
      "data:\"é🚲\"}\r\rdata\n\nid: 2\n\nevent:done\r\ndata: {}\r\n\r\ndata: cut off";
    const results = await page.evaluate(async (text) => {
      const { EventParser } = await import("/client.js");
      const bytes = new TextEncoder().encode(text);
      const cutBy = (size) => {
        const parser = new EventParser();
        const blocks = [];
        for (let at = 0; at < bytes.length; at += size) blocks.push(...parser.push(bytes.subarray(at, at + size)));
        return JSON.stringify(blocks);
      };
      return [...new Set([1, 2, 3, 5, 7, 1000].map(cutBy))];
    }, stream);
    assert.equal(results.length, 1, results.join("\n"));
    assert.deepEqual(JSON.parse(results[0]), [
      { kind: "delta", data: '{"text":\n"é🚲"}', id: "1" },
      { kind: "message", data: "", id: "1" },
      { kind: "done", data: "{}", id: "2" },
    ]);
  });
});

describe("with a scripted model", () => {
  const torn = {
    chunks: ["The pass costs 25 dol", "lars [", "1]. Rides last up to 45 minutes [", "9", "]."],
    gap_ms: 60,
  };
  let gateway;
  before(async () => {
    gateway = await startGateway({ script: torn });
  });
  after(() => gateway?.stop());

  it("never shows half a marker, and strikes the number that points to no source", async () => {
    await ask(gateway, PRICE);
    await assertNothingTornSent();
    await assertNothingTornShown();
    const [one, nine] = [page.locator('.chip[data-n="1"]'), page.locator('.chip[data-n="9"]')];
    assert.equal(await borderOf(one), "solid");
    assert.equal(await nine.getAttribute("aria-label"), "Citation 9, points to no source");
    assert.match(await nine.evaluate((el) => getComputedStyle(el).textDecorationLine), /line-through/);
    assert.match(await sentence(), /^1 of 2 citations in range, 1 points to no source\./);
    await nine.click();
    assert.match(await page.locator(".problems li:focus").textContent(), /Citation 9 points to no source\. There (is|are) \d+ source/);
    const copied = await page.evaluate(() => {
      getSelection().selectAllChildren(document.querySelector("#answer .body"));
      return String(getSelection());
    });
    assert.equal(copied.trim(), torn.chunks.join(""));
  });

  it("keeps the first text readable when an answer was corrected", async () => {
    await page.route("**/v1/answers", (route) => {
      route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), on_problem: "strip" }) });
    });
    await ask(gateway, PRICE);
    assert.equal(await bodyText(), "The pass costs 25 dollars [1]. Rides last up to 45 minutes.");
    assert.equal(await sentence(), "Corrected: 1 citation that pointed to no source was removed.");
    await page.getByText("Show what was replaced and why").click();
    assert.match(await page.locator(".replaced .first").textContent(), /45 minutes removed: \[9\]\.$/);
  });

  it("resumes after a cut connection without losing or doubling a word", async () => {
    await page.addInitScript(cutFirstStream);
    const resumed = page.waitForRequest((request) => request.url().endsWith("/events"));
    await ask(gateway, PRICE);
    assert.match((await resumed).headers()["last-event-id"], /^\d+$/);
    assert.equal(await bodyText(), torn.chunks.join(""));
    await assertNothingTornShown();
  });
});

/** Runs in the page: the first answer's stream breaks after its first delta. */
function cutFirstStream() {
  const real = window.fetch;
  let whole = false;
  window.fetch = async (url, init) => {
    const response = await real(url, init);
    if (whole || init?.method !== "POST") return response;
    whole = true;
    let seen = "";
    const cut = new TransformStream({
      transform(bytes, out) {
        if (/event: ?delta/.test(seen)) out.error(new TypeError("network error"));
        else out.enqueue(bytes);
        seen += new TextDecoder().decode(bytes);
      },
    });
    return new Response(response.body.pipeThrough(cut), { status: response.status, headers: response.headers });
  };
}

describe("with a slow scripted model", () => {
  let gateway;
  before(async () => {
    gateway = await startGateway({ script: { chunks: ["The pass costs 25 dollars", " [1].", " More.", " More."], gap_ms: 2000 } });
  });
  after(() => gateway?.stop());

  it("stops when asked to, and keeps the text", async () => {
    await ask(gateway, PRICE, { until: "#answer[data-state=streaming]" });
    const deleted = page.waitForRequest((request) => request.method() === "DELETE");
    await page.getByRole("button", { name: "Stop" }).click();
    assert.equal((await (await deleted).response()).status(), 204);
    assert.equal(await sentence(), "Stopped by you. This text is incomplete and not checked.");
    assert.match(await bodyText(), /^The pass costs 25 dollars/);
    assert.equal((await record(gateway)).error.code, "stopped");
  });
});

describe("with a hostile scripted model", () => {
  const text = '<img src=x onerror="window.hit = 1"><script>window.hit = 1</script> **<b onclick="window.hit = 1">bold</b>** [1].\n\n' +
    '- <svg onload="window.hit = 1">\n- [a link](javascript:window.hit=1)\n\n<iframe srcdoc="<script>parent.hit = 1</script>"> \u202eevil';
  let gateway;
  before(async () => {
    gateway = await startGateway({ script: { chunks: [...text.matchAll(/[^]{1,7}/gu)].map(String), gap_ms: 1 } });
  });
  after(() => gateway?.stop());

  it("shows markup as text: no element, no request, no dialog", async () => {
    const foreign = [];
    page.on("request", (request) => {
      const { origin, pathname } = new URL(request.url());
      if (origin !== gateway.base || !OWN_PATH.test(pathname)) foreign.push(request.url());
    });
    await ask(gateway, PRICE);
    await assertOnlyText();
    const shown = await bodyText();
    for (const part of ['<img src=x onerror="window.hit = 1">', "<script>window.hit = 1</script>", '<b onclick="window.hit = 1">bold</b>',
      '<svg onload="window.hit = 1">', "[a link](javascript:window.hit=1)", "<iframe srcdoc="]) {
      assert.ok(shown.includes(part), `${part} is not shown as written`);
    }
    assert.ok(!shown.includes("\u202e"));
    assert.deepEqual(foreign, []);
  });
});

/** Only elements that the page makes itself, none with a handler attribute, and nothing ran. */
async function assertOnlyText() {
  const found = await page.evaluate(() => {
    const all = [...document.querySelectorAll("#answer *")];
    return { tags: all.map((el) => el.tagName), names: all.flatMap((el) => el.getAttributeNames()), hit: window.hit ?? null };
  });
  assert.deepEqual(found.tags.filter((tag) => !ALLOWED.has(tag)), []);
  assert.deepEqual(found.names.filter((name) => name.startsWith("on") || name === "style"), []);
  assert.equal(found.hit, null);
}

/** Runs in the page. */
function isInView(el) {
  const { top, bottom } = el.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}
