// SPDX-License-Identifier: Apache-2.0
// One worker and the call that it runs. A call that takes too long, or is cancelled while it runs,
// costs the worker; a new one takes its place and opens the same inputs again.
import type { Answer, Failure, Method } from "./wire.ts";

/** A call that failed: what a person is told. */
export class CallError extends Error {
  constructor(readonly failure: Failure) {
    super(failure.reason);
  }
}

export interface Job {
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

export interface Input {
  input: number;
  bytes: Uint8Array;
  name: string;
}

/** What workers are made of. */
export interface Parts {
  /** Its bytes: a compiled module cannot go to the worker of a page from a file. */
  wasm: Promise<Uint8Array>;
  /** The address of the worker's text. */
  script: Promise<string>;
}

/** What a seat tells. */
export interface Ears {
  /** The worker is there, and has what `inputs` returns. */
  ready(about: { version: string; versions: string[] }): void;
  inputs(): Input[];
  /** There is no worker, and there will be none. */
  broken(failure: Failure): void;
  /** The worker could not open one of the inputs that it was handed, which another one has open. */
  lacks(): void;
  /** There is nothing to do. */
  free(): void;
}

/** How often a worker may die on its own, without a call to blame, before its seat is given up. */
const MOST_DEATHS = 3;

export class Seat {
  private parts: Parts | null = null;
  private worker: Worker | null = null;
  private isReady = false;
  private running: Job | null = null;
  private timer = 0;
  /** Deaths on its own since the last call that was answered. */
  private deaths = 0;

  constructor(private readonly ears: Ears) {}

  /** Starts a worker. */
  start(parts: Parts): void {
    this.parts = parts;
    void this.spawn();
  }

  get isStarted(): boolean {
    return this.parts !== null;
  }

  get ready(): boolean {
    return this.isReady;
  }

  get isFree(): boolean {
    return this.isReady && this.running === null;
  }

  /** Tells the worker something that has no answer; one that is not there yet hears it at its start. */
  tell(method: Method, args: object): void {
    if (this.isReady) this.worker?.postMessage({ id: 0, method, args });
  }

  /** Runs a call; the seat is free. */
  run(job: Job): void {
    this.running = job;
    const seconds = job.limit / 1000;
    this.timer = setTimeout(() => {
      const reason = `stopped after ${seconds} seconds`;
      this.replace(new CallError({ reason, offset: -1, code: "limit" }));
    }, job.limit);
    this.worker!.postMessage({ id: job.id, method: job.method, args: job.args });
  }

  /** Ends the call that runs, if it is of a kind. */
  stop(which: (job: Job) => boolean, error: () => Error): void {
    if (this.running && which(this.running)) this.replace(error());
  }

  /** Ends the worker for good. Returns the call that it ran. */
  leave(): Job | null {
    const job = this.running;
    this.drop();
    return job;
  }

  private replace(error: Error): void {
    const job = this.running;
    this.drop();
    job?.reject(error);
    void this.spawn();
  }

  private drop(): void {
    this.running = null;
    clearTimeout(this.timer);
    this.worker?.terminate();
    this.worker = null;
    this.isReady = false;
  }

  private async spawn(): Promise<void> {
    let worker: Worker;
    try {
      const [wasm, script] = await Promise.all([this.parts!.wasm, this.parts!.script]);
      if (this.worker) return;
      worker = new Worker(script);
      this.worker = worker;
      worker.postMessage({ wasm });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.fail({ reason, offset: -1, code: "crash" });
      return;
    }
    worker.addEventListener("message", (event: MessageEvent<Answer>) => {
      if (worker === this.worker) this.hear(event.data);
    });
    worker.addEventListener("error", (event) => {
      if (worker !== this.worker) return;
      event.preventDefault();
      const silent = this.isReady ? "the worker stopped" : "the browser does not start its worker";
      const failure = { reason: event.message || silent, offset: -1, code: "crash" };
      if (!this.isReady || (!this.running && ++this.deaths === MOST_DEATHS)) this.fail(failure);
      else this.replace(new CallError(failure));
    });
  }

  private hear(answer: Answer): void {
    if ("ready" in answer) {
      // What was open stays open: a new worker gets it before anything else.
      for (const input of this.ears.inputs()) this.worker!.postMessage({ id: 0, method: "open", args: input });
      this.isReady = true;
      this.ears.ready(answer.ready);
    } else if ("broken" in answer) {
      this.fail(answer.broken);
    } else if (this.running && answer.id === this.running.id) {
      const job = this.running;
      this.running = null;
      this.deaths = 0;
      clearTimeout(this.timer);
      if ("failure" in answer) job.reject(new CallError(answer.failure));
      else job.resolve(answer.result);
      this.ears.free();
    } else if (answer.id === 0 && "failure" in answer) {
      this.ears.lacks();
    }
  }

  private fail(failure: Failure): void {
    this.drop();
    this.ears.broken(failure);
  }
}
