// SPDX-License-Identifier: Apache-2.0
// The page's side of the workers: calls wait in a queue. What a reader waits for has a worker of its
// own; the rest of an archive is done by a second one, and holds up nothing.
import { CallError, Seat, type Input, type Job, type Parts } from "./seat.ts";
import { through } from "./zip.ts";
import type { Calls, Failure, Method, Opened } from "./wire.ts";

export { CallError };

/** How urgent a call is: what a reader looks at, or the rest of an archive. */
export const NOW = 0;
export const LATER = 1;

export class Client {
  version = "";
  versions: string[] = [];
  /** Why there is no decompiler, once that is certain: every call fails with it. */
  failure: Failure | null = null;
  private readonly queue: Job[] = [];
  private nextId = 1;
  private inputs: Input[] = [];
  /** For calls of the rank NOW. */
  private readonly front: Seat;
  /** For calls of the rank LATER, from the first of them on; null: the front has to do them. */
  private back: Seat | null;
  private unpacked: Parts | null = null;

  constructor(private readonly onChange: () => void) {
    const common = { inputs: () => this.inputs, free: () => this.pump() };
    this.front = new Seat({
      ...common,
      ready: (about) => {
        this.version = about.version;
        this.versions = about.versions;
        this.onChange();
        this.pump();
      },
      broken: (failure) => this.broken(failure),
      lacks: () => {},
    });
    this.back = new Seat({
      ...common,
      ready: () => this.pump(),
      broken: () => this.leaveToFront(),
      lacks: () => this.leaveToFront(),
    });
  }

  /** Starts loading the decompiler. */
  start(): void {
    this.front.start(this.parts);
  }

  /** What workers are made of, unpacked once. */
  private get parts(): Parts {
    this.unpacked ??= {
      wasm: payload("core"),
      script: payload("worker").then((bytes) => {
        const blob = new Blob([bytes as BlobPart], { type: "text/javascript" });
        return URL.createObjectURL(blob);
      }),
    };
    return this.unpacked;
  }

  get isReady(): boolean {
    return this.front.ready;
  }

  /** Forgets all inputs and all calls. A worker that is kept frees what it holds of them. */
  reset(): void {
    const inputs = this.inputs;
    this.inputs = [];
    this.stop((job) => job.method !== "stages");
    for (const { input } of inputs) this.tell("close", { input });
  }

  async open(bytes: Uint8Array, name: string): Promise<Opened> {
    const input = { input: this.nextId++, bytes, name };
    const opened = await this.call("open", input, NOW);
    this.inputs.push(input);
    this.back?.tell("open", input);
    return opened;
  }

  /** Whether bytes are code that can be read, with a header or without one; nothing is kept of them. */
  async holdsCode(bytes: Uint8Array): Promise<boolean> {
    const input = this.nextId++;
    try {
      const { kind } = await this.call("open", { input, bytes, name: "" });
      if (kind !== "code") return false;
      await this.call("inspect", { input, index: 0 });
      return true;
    } catch {
      return false;
    } finally {
      this.front.tell("close", { input });
    }
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
      this.enqueue(job, (other) => other.rank > rank);
      this.pump();
    });
  }

  /** Puts a call before the first of a kind. */
  private enqueue(job: Job, which: (other: Job) => boolean): void {
    const at = this.queue.findIndex(which);
    this.queue.splice(at < 0 ? this.queue.length : at, 0, job);
  }

  /** A machine may have the memory for one worker alone: the front does what is left. */
  private leaveToFront(): void {
    const job = this.back?.leave();
    this.back = null;
    if (job) this.enqueue(job, (other) => other.rank >= job.rank);
    this.pump();
  }

  /** Ends the calls of a kind, those which run too. They fail with "cancelled". */
  stop(which: (job: { method: Method; args: object; rank: number }) => boolean): void {
    for (let i = this.queue.length - 1; i >= 0; i--) {
      if (which(this.queue[i])) this.queue.splice(i, 1)[0].reject(cancelled());
    }
    this.front.stop(which, cancelled);
    this.back?.stop(which, cancelled);
  }

  private tell(method: Method, args: object): void {
    this.front.tell(method, args);
    this.back?.tell(method, args);
  }

  /** There is no decompiler, and there will be none. */
  private broken(failure: Failure): void {
    this.failure = failure;
    for (const job of this.queue.splice(0)) job.reject(new CallError(failure));
    this.onChange();
  }

  /** Gives each worker that is free the first call that it may do. */
  private pump(): void {
    const isLater = (job: Job) => job.rank !== NOW && this.back !== null;
    if (this.back && !this.back.isStarted && this.queue.some(isLater)) this.back.start(this.parts);
    this.give(this.front, (job) => !isLater(job));
    if (this.back) this.give(this.back, isLater);
  }

  private give(seat: Seat, which: (job: Job) => boolean): void {
    if (!seat.isFree) return;
    const at = this.queue.findIndex(which);
    if (at >= 0) seat.run(this.queue.splice(at, 1)[0]);
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
