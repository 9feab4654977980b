// SPDX-License-Identifier: Apache-2.0
// The worker: loads the decompiler, keeps the inputs, and answers one call after the other.
import { load, PellucidError } from "../../npm/pellucid.js";
import type { Archive, Pellucid } from "../../npm/pellucid";
import type { Answer, Calls, Failure, Place, Request } from "./wire.ts";

const archives = new Map<number, Archive>();
let core: Pellucid;
let last: { place: Place; bytes: Uint8Array; name: string } | null = null;

function send(answer: Answer): void {
  self.postMessage(answer);
}

function failureOf(error: unknown): Failure {
  if (error instanceof PellucidError) {
    return { reason: error.reason, offset: error.offset, code: error.code };
  }
  return { reason: error instanceof Error ? error.message : String(error), offset: -1, code: "crash" };
}

/** Returns the bytes of a module; those of the last one are kept. */
async function member(place: Place): Promise<{ bytes: Uint8Array; name: string }> {
  if (last && last.place.input === place.input && last.place.index === place.index) return last;
  const archive = archives.get(place.input);
  if (!archive) throw new Error("the file is no longer open");
  const bytes = await archive.read(place.index);
  last = { place, bytes, name: archive.members[place.index].name };
  return last;
}

const methods: { [M in keyof Calls]: (args: Parameters<Calls[M]>[0]) => Promise<ReturnType<Calls[M]>> } = {
  async open({ input, bytes, name }) {
    const archive = await core.open(bytes, name);
    archives.set(input, archive);
    const members = archive.members.map(({ index, name, path }) => ({ index, name, path }));
    return { input, kind: archive.kind, members };
  },
  async close({ input }) {
    archives.get(input)?.close();
    archives.delete(input);
    if (last?.place.input === input) last = null;
  },
  async read(place) {
    return (await member(place)).bytes;
  },
  async decompile(args) {
    const { bytes, name } = await member(args);
    return core.decompile(bytes, { file: name, verify: args.verify });
  },
  async dis(args) {
    const { bytes, name } = await member(args);
    return core.dis(bytes, { file: name });
  },
  async graph(args) {
    const { bytes, name } = await member(args);
    return core.graph(bytes, args.code, { file: name });
  },
  async dump(args) {
    const { bytes, name } = await member(args);
    return core.dump(bytes, args.stage, args.code, { file: name });
  },
  async inspect(args) {
    const { bytes, name } = await member(args);
    return core.inspect(bytes, { file: name });
  },
  async stages() {
    return core.stages();
  },
};

async function answer({ id, method, args }: Request): Promise<void> {
  try {
    send({ id, result: await methods[method](args as never) });
  } catch (error) {
    send({ id, failure: failureOf(error) });
  }
}

async function begin(wasm: Uint8Array): Promise<void> {
  try {
    core = await load({ wasm });
    send({ ready: { version: core.version, versions: [...core.versions] } });
  } catch (error) {
    send({ broken: failureOf(error) });
  }
}

// One after the other: a call finds what the one before it opened.
let tail: Promise<void> = Promise.resolve();
self.addEventListener("message", ({ data }: MessageEvent) => {
  tail = tail.then(() => (data.wasm ? begin(data.wasm) : answer(data as Request)));
});
