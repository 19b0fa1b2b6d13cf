/** Starts the real gateway and the real browser. A missing program throws, so its tests fail and are never skipped. */

import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const READY = /http:\/\/127\.0\.0\.1:\d+/;
const START_MS = 20_000;
const END_MS = 5_000;

/** A gateway on a free port: `{base, stop}`. With `script`, the script model plays that one line for every question. */
export async function startGateway({ script = null } = {}) {
  const program = process.env.CITEWIRE;
  if (!program) throw new Error("CITEWIRE is not set: it names the gateway program that these tests start");
  const folder = await mkdtemp(join(tmpdir(), "citewire-browser-"));
  const args = ["serve", "--listen", "127.0.0.1:0"];
  if (script !== null) {
    const file = join(folder, "script.jsonl");
    await writeFile(file, `${JSON.stringify(script)}\n`);
    args.push("--script", file);
  }
  const child = spawn(program, args, { env: ownEnvironment(), stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const stop = async () => {
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), END_MS);
    await ended;
    clearTimeout(late);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    return { base: await readyAddress(child), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What the reader's shell has set for another gateway or model must not leak into the test. */
function ownEnvironment() {
  const foreign = /^(CITEWIRE|OPENAI)_/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

function readyAddress(child) {
  return new Promise((resolve, reject) => {
    let said = "";
    const give = (why) => reject(new Error(`the gateway is not ready: ${why}; it said: ${said}`));
    const late = setTimeout(() => give(`no address within ${START_MS} ms`), START_MS);
    const hear = (bytes) => {
      said += bytes;
      const found = READY.exec(said);
      if (found === null) return;
      clearTimeout(late);
      resolve(found[0]);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("error", (error) => give(error.message));
    child.once("exit", (code) => give(`it ended with ${code}`));
  });
}

export function startBrowser() {
  const quiet = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"];
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", ...quiet] });
}
