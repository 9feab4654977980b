// SPDX-License-Identifier: Apache-2.0
// The page's side of the worker: calls wait in a queue, those that a reader waits for first. A call
// that takes too long, or is cancelled while it runs, costs the worker; a new one takes its place
// and opens the same inputs again.
import { through } from "./zip.ts";
import type { Answer, Calls, Failure, Method, Opened } from "./wire.ts";

/** A call that failed: what a person is told. */
export class CallError extends Error {
  constructor(readonly failure: Failure) {
    super(failure.reason);
  }
}

interface Job {
  id: number;
  method: Method;
  args: object;
  /** Lower ones first. */
  rank: number;
  /** In milliseconds. */
  limit: number;
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

interface Input {
  input: number;
  bytes: Uint8Array;
  name: string;
}

/** How urgent a call is: what a reader looks at, or the rest of an archive. */
export const NOW = 0;
export const LATER = 1;

export class Client {
  version = "";
  versions: string[] = [];
  /** Why there is no decompiler, once that is certain: every call fails with it. */
  failure: Failure | null = null;
  private worker: Worker | null = null;
  private ready = false;
  private readonly queue: Job[] = [];
  private running: Job | null = null;
  private timer = 0;
  private nextId = 1;
  private inputs: Input[] = [];
  /** Its bytes: a compiled module cannot go to the worker of a page from a file. */
  private wasm: Promise<Uint8Array> | null = null;
  private script: Promise<string> | null = null;

  constructor(private readonly onChange: () => void) {}

  /** Starts loading the decompiler. */
  start(): void {
    this.wasm ??= payload("core");
    this.script ??= payload("worker").then((bytes) => {
      const blob = new Blob([bytes as BlobPart], { type: "text/javascript" });
      return URL.createObjectURL(blob);
    });
    void this.spawn();
  }

  get isReady(): boolean {
    return this.ready;
  }

  /** Forgets all inputs and all calls. A worker that is kept frees what it holds of them. */
  reset(): void {
    const inputs = this.inputs;
    this.inputs = [];
    this.stop((job) => job.method !== "stages");
    if (!this.ready) return;
    for (const { input } of inputs) this.worker?.postMessage({ id: 0, method: "close", args: { input } });
  }

  async open(bytes: Uint8Array, name: string): Promise<Opened> {
    const input = { input: this.nextId++, bytes, name };
    const opened = await this.call("open", input, NOW);
    this.inputs.push(input);
    return opened;
  }

  call<M extends Method>(
    method: M,
    args: Parameters<Calls[M]>[0],
    rank = NOW,
    limit = 300_000,
  ): Promise<ReturnType<Calls[M]>> {
    if (this.failure) return Promise.reject(new CallError(this.failure));
    return new Promise((resolve, reject) => {
      const id = this.nextId++;
      const job: Job = { id, method, args, rank, limit, resolve: resolve as never, reject };
      const at = this.queue.findIndex((other) => other.rank > rank);
      this.queue.splice(at < 0 ? this.queue.length : at, 0, job);
      this.pump();
    });
  }

  /** Ends the calls of a kind, that which runs too. They fail with "cancelled". */
  stop(which: (job: { method: Method; args: object; rank: number }) => boolean): void {
    for (let i = this.queue.length - 1; i >= 0; i--) {
      if (which(this.queue[i])) this.queue.splice(i, 1)[0].reject(cancelled());
    }
    if (this.running && which(this.running)) this.replace(cancelled());
  }

  private replace(error: Error): void {
    const job = this.running;
    this.running = null;
    clearTimeout(this.timer);
    this.worker?.terminate();
    this.worker = null;
    this.ready = false;
    job?.reject(error);
    void this.spawn();
  }

  private async spawn(): Promise<void> {
    let worker: Worker;
    try {
      const [wasm, script] = await Promise.all([this.wasm!, this.script!]);
      if (this.worker) return;
      worker = new Worker(script);
      this.worker = worker;
      worker.postMessage({ wasm });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.broken({ reason, offset: -1, code: "crash" });
      return;
    }
    worker.addEventListener("message", (event: MessageEvent<Answer>) => {
      if (worker === this.worker) this.hear(event.data);
    });
    worker.addEventListener("error", (event) => {
      if (worker !== this.worker) return;
      event.preventDefault();
      const silent = this.ready ? "the worker stopped" : "the browser does not start its worker";
      const failure = { reason: event.message || silent, offset: -1, code: "crash" };
      if (this.ready) this.replace(new CallError(failure));
      else this.broken(failure);
    });
  }

  private hear(answer: Answer): void {
    if ("ready" in answer) {
      this.version = answer.ready.version;
      this.versions = answer.ready.versions;
      // What was open stays open: a new worker gets it before anything else.
      for (const input of this.inputs) this.worker!.postMessage({ id: 0, method: "open", args: input });
      this.ready = true;
      this.onChange();
      this.pump();
    } else if ("broken" in answer) {
      this.broken(answer.broken);
    } else if (this.running && answer.id === this.running.id) {
      const job = this.running;
      this.running = null;
      clearTimeout(this.timer);
      if ("failure" in answer) job.reject(new CallError(answer.failure));
      else job.resolve(answer.result);
      this.pump();
    }
  }

  /** There is no decompiler, and there will be none. */
  private broken(failure: Failure): void {
    this.failure = failure;
    this.worker?.terminate();
    this.worker = null;
    for (const job of this.queue.splice(0)) job.reject(new CallError(failure));
    this.onChange();
  }

  private pump(): void {
    if (!this.ready || this.running || !this.worker) return;
    const job = this.queue.shift();
    if (!job) return;
    this.running = job;
    const seconds = job.limit / 1000;
    this.timer = setTimeout(() => {
      const reason = `stopped after ${seconds} seconds`;
      this.replace(new CallError({ reason, offset: -1, code: "limit" }));
    }, job.limit);
    this.worker.postMessage({ id: job.id, method: job.method, args: job.args });
  }
}

function cancelled(): CallError {
  return new CallError({ reason: "cancelled", offset: -1, code: "cancelled" });
}

/** Unpacks one of the two blocks at the end of the page, once they are there. */
async function payload(id: string): Promise<Uint8Array> {
  if (document.readyState === "loading") {
    await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
  }
  const block = document.getElementById(id);
  if (!block) throw new Error(`the page lacks its part “${id}”`);
  if (typeof DecompressionStream === "undefined") throw new Error("this browser lacks DecompressionStream");
  const bytes = fromBase64(block.textContent ?? "");
  return through(bytes, new DecompressionStream("gzip"));
}

/** Reads base64, with "-" and "_" for "+" and "/" or not. Throws where it is none. */
export function fromBase64(text: string): Uint8Array {
  const plain = atob(text.replace(/\s+/g, "").replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = new Uint8Array(plain.length);
  for (let i = 0; i < plain.length; i++) bytes[i] = plain.charCodeAt(i);
  return bytes;
}

/** Writes base64 with "-" and "_", without "=". */
export function toBase64Url(bytes: Uint8Array): string {
  let plain = "";
  for (let i = 0; i < bytes.length; i += 8192) {
    plain += String.fromCharCode(...bytes.subarray(i, i + 8192));
  }
  return btoa(plain).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
