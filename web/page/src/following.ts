// SPDX-License-Identifier: Apache-2.0
// Code in constants: `exec(marshal.loads(zlib.decompress(b"...")))`, without running any of it.
//
// As python/pellucid/following.py does for the commands. A browser has no bz2 and no lzma: what is
// packed by these is named, and not opened.

/** What a constant holds once its layers are taken off. */
export interface Hidden {
  /** The number of the code object that has the constant. */
  holder: number;
  /** From the outside in. */
  layers: string[];
  bytes: Uint8Array;
  is: "code" | "source" | "packed";
}

type Unpack = (data: Uint8Array) => Uint8Array | null | Promise<Uint8Array | null>;

const LEAST = 40; // bytes of a constant; no code is shorter
const LEAST_INSIDE = 16; // bytes of a layer, and of a part of a constant
const DEEPEST = 10; // levels of text in text
const MOST_LAYERS = 8;
const MOST_UNPACKED = 64 << 20; // bytes of one layer
const MOST_IN_ALL = 256 << 20; // bytes of all layers of one file
const MOST_TRIES = 1000; // layers that are tried of one constant
const MOST_FOUND = 1000; // of one file

/**
 * Finds the code in the constants of a module. `dump` is its stage "module"; `isCode` says whether
 * bytes are marshalled code.
 */
export async function hiddenIn(dump: string, isCode: (data: Uint8Array) => Promise<boolean>): Promise<Hidden[]> {
  const found: Hidden[] = [];
  const budget = { bytes: MOST_IN_ALL };
  const all = async (values: Value[]): Promise<Hidden[]> => {
    const made: Hidden[] = [];
    for (const run of runsOf(values)) {
      const inside = await inRun(run.map((each) => each[1]), isCode, budget);
      made.push(...inside.map((each) => ({ holder: run[0][0], ...each })));
    }
    return made;
  };
  const search = async (values: Value[], outer: string[], depth: number): Promise<void> => {
    for (const one of await all(values)) {
      if (found.length === MOST_FOUND) return;
      const { holder } = one;
      const layers = [...outer, ...one.layers];
      found.push({ ...one, layers });
      if (one.is !== "source" || depth === 1) continue;
      const within = literals(new TextDecoder().decode(one.bytes), /[\s+\\()]*/y);
      await search(within.map((each): Value => [holder, ...each]), [...layers, "text"], depth - 1);
    }
  };
  await search([...constants(dump)], [], DEEPEST);
  return found;
}

/** The number of a code object, a constant's bytes, and whether it is text. */
type Value = [number, Uint8Array, boolean];

const LITERAL = /b?(?:"""(?:[^\\]|\\[^])*?"""|'''(?:[^\\]|\\[^])*?'''|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")/g;
const NUMBERS = /[[(]\s*(\d{1,3}(?:\s*,\s*\d{1,3}){15,})\s*,?\s*[\])]/g;

/** The strings, bytes and lists of numbers in a text; what only `joins` is between is one. */
function literals(text: string, joins: RegExp | null): [Uint8Array, boolean][] {
  const all: { at: number; end: number; bytes: Uint8Array; isText: boolean }[] = [];
  for (const match of text.matchAll(LITERAL)) {
    const literal = match[0], isText = !literal.startsWith("b"), quote = /^b?("""|'''|.)/.exec(literal)![1];
    const bytes = bytesOf(literal.slice(quote.length + (isText ? 0 : 1), -quote.length));
    if (!bytes) continue;
    const last = all[all.length - 1], end = match.index + literal.length;
    if (joins && last) joins.lastIndex = last.end;
    if (joins && last?.isText === isText && joins.exec(text)?.[0].length === match.index - last.end) {
      last.bytes = concatenated([last.bytes, bytes]);
      last.end = end;
    } else {
      all.push({ at: match.index, end, bytes, isText });
    }
  }
  for (const match of text.matchAll(NUMBERS)) {
    const numbers = match[1].split(",").map(Number);
    const known = { at: match.index, end: match.index, isText: false };
    if (numbers.every((each) => each < 256)) all.push({ ...known, bytes: Uint8Array.from(numbers) });
  }
  all.sort((a, b) => a.at - b.at);
  return all.filter(({ bytes }) => bytes.length).map(({ bytes, isText }) => [bytes, isText]);
}

/** The constants of a dump. */
function* constants(dump: string): Generator<Value> {
  let holder = 0;
  for (const line of dump.split("\n")) {
    const head = /^code (\d+) /.exec(line);
    if (head) holder = Number(head[1]);
    if (!line.startsWith("  const ")) continue;
    for (const each of literals(line, null)) yield [holder, ...each];
  }
}

/** Parts that follow each other in one code object; the last may be short. */
function runsOf(values: Value[]): Value[][] {
  const runs: Value[][] = [];
  let isOpen = false;
  for (const value of values) {
    const run = runs[runs.length - 1], isShort = value[1].length < LEAST_INSIDE;
    if (isOpen && run[0][0] === value[0] && run[0][2] === value[2]) run.push(value);
    else if (!isShort) runs.push([value]);
    isOpen = !isShort;
  }
  return runs;
}

function concatenated(parts: Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

const NAMED: Record<string, string> = { n: "\n", r: "\r", t: "\t" };

/** The bytes of a literal without its quotes; null: it is text that no bytes are. */
function bytesOf(literal: string): Uint8Array | null {
  const text = literal.replace(/\\(?:x(..)|u(....)|U(........)|(.))/g, (_, x, u, wide, one) =>
    one ? NAMED[one] ?? one : String.fromCodePoint(Math.min(0x10ffff, parseInt(x ?? u ?? wide, 16))));
  return /^[\0-\xff]*$/.test(text) ? fromLatin1(text) : null;
}

type Found = Omit<Hidden, "holder">;
type Layered = { layers: string[]; bytes: Uint8Array };
type IsCode = (data: Uint8Array) => Promise<boolean>;

/** What constants hold: each, or all of them joined, or from some place in one on. */
async function inRun(run: Uint8Array[], isCode: IsCode, budget: { bytes: number }): Promise<Found[]> {
  const tried: Layered[] = [], found: Found[] = [];
  const add = async (bytes: Uint8Array, into: Layered[]): Promise<void> => {
    const one = bytes.length < LEAST ? null : await unwrapped(bytes, isCode, budget, into);
    if (one) found.push(one);
  };
  for (const bytes of run) await add(bytes, tried);
  for (const end of [run.length, run.length - 1]) {
    if (!found.length && end > 1) await add(concatenated(run.slice(0, end)), []);
  }
  for (const { layers, bytes } of found.length ? [] : tried) {
    if (TURNED.includes(layers[layers.length - 1])) continue;
    for (const at of startsIn(bytes)) {
      const inner = bytes.subarray(at);
      if (await isCode(inner)) return [{ layers: [...layers, `at byte ${at}`], bytes: inner, is: "code" }];
    }
  }
  return found;
}

async function unwrapped(
  start: Uint8Array, isCode: IsCode, budget: { bytes: number }, tried: Layered[],
): Promise<Found | null> {
  const todo: Layered[] = [{ layers: [], bytes: start }];
  let packed: Found | null = null;
  let tries = MOST_TRIES;
  for (const { layers, bytes } of todo) { // grows as it goes
    tried.push({ layers, bytes });
    const looksLikeCode = bytes[0] === 0xe3 || bytes[0] === 0x63 || (bytes[2] === 13 && bytes[3] === 10);
    if (looksLikeCode && await isCode(bytes)) return { layers, bytes, is: "code" };
    if (layers.some((name) => !TURNED.includes(name)) && isSource(bytes)) return { layers, bytes, is: "source" };
    const method = methodOf(bytes);
    if (method) packed ??= { layers: [...layers, method], bytes, is: "packed" };
    if (layers.length === MOST_LAYERS) continue;
    for (const [name, unpack] of Object.entries(LAYERS)) {
      if (tries-- === 0 || budget.bytes <= 0) return packed;
      if (TURNED.includes(name) && layers.slice(-2).includes(name)) continue;
      const inner = await unpack(bytes);
      if (!inner || inner.length < LEAST_INSIDE) continue;
      budget.bytes -= inner.length;
      todo.push({ layers: [...layers, name], bytes: inner });
    }
  }
  return packed;
}

/** Layers that turn a text into another one. */
const TURNED = ["reversed", "rot13"];
const MOST_STARTS = 16;

/** Where marshalled code may begin: its first three numbers are small. */
function startsIn(data: Uint8Array): number[] {
  const starts: number[] = [];
  for (let at = 1; at + 24 < data.length && starts.length < MOST_STARTS; at++) {
    if ((data[at] & 0x7f) !== 0x63) continue;
    if ([2, 3, 4, 6, 7, 8, 10, 11, 12].every((i) => data[at + i] === 0)) starts.push(at);
  }
  return starts;
}

/** How data is packed that a browser cannot unpack. */
function methodOf(data: Uint8Array): string {
  const start = latin1(data.subarray(0, 6));
  return start.startsWith("BZh") && /\d/.test(start[3]) ? "bz2" : start === "\xfd7zXZ\0" ? "lzma" : "";
}

function isSource(data: Uint8Array): boolean {
  if (!/\b(import|def|class|exec|eval|print|lambda|return)\b/.test(latin1(data.subarray(0, 65536)))) return false;
  try {
    return !/[\0-\x08\x0b\x0e-\x1f\x7f-\x9f]/.test(new TextDecoder("utf-8", { fatal: true }).decode(data).slice(0, 65536));
  } catch {
    return false;
  }
}

// --- Layers ---------------------------------------------------------------------------------------

function latin1(data: Uint8Array): string {
  let text = "";
  for (let i = 0; i < data.length; i += 8192) text += String.fromCharCode(...data.subarray(i, i + 8192));
  return text;
}

function fromLatin1(text: string): Uint8Array {
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

/** Takes digits of some letters apart, once it is certain that there are no others. */
function digits(letters: RegExp, decode: (text: string) => Uint8Array | null): Unpack {
  return (data) => {
    if (!letters.test(latin1(data.subarray(0, 4096)))) return null;
    const text = latin1(data).replace(/[ \t\r\n]/g, "");
    return letters.test(text) ? decode(text) : null;
  };
}

function base64(text: string): Uint8Array | null {
  try {
    return fromLatin1(atob(text.replace(/=+$/, "")));
  } catch {
    return null;
  }
}

function base16(text: string): Uint8Array | null {
  if (text.length % 2) return null;
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => parseInt(text.slice(2 * i, 2 * i + 2), 16));
}

function base32(text: string): Uint8Array | null {
  if (text.length % 8) return null;
  const plain = text.replace(/=+$/, ""), out = new Uint8Array(Math.floor(plain.length * 5 / 8));
  let bits = 0, held = 0, at = 0;
  for (const c of plain) {
    bits = ((bits << 5) | "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c)) & 0xfff;
    held += 5;
    if (held >= 8) out[at++] = (bits >> (held -= 8)) & 255;
  }
  return out;
}

/** Base 85 of digits from 0 to 84: five of them are four bytes, and the last group may be short. */
function base85(values: number[]): Uint8Array | null {
  const missing = (5 - values.length % 5) % 5, all = [...values, ...new Array(missing).fill(84)];
  const out = new Uint8Array(all.length / 5 * 4), view = new DataView(out.buffer);
  for (let i = 0; i < all.length; i += 5) {
    const value = all.slice(i, i + 5).reduce((sum, digit) => sum * 85 + digit, 0);
    if (value > 0xffffffff) return null;
    view.setUint32(i / 5 * 4, value);
  }
  return out.subarray(0, out.length - missing);
}

const DIGITS_85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

async function inflated(data: Uint8Array, format: CompressionFormat): Promise<Uint8Array | null> {
  const reader = new Blob([data as BlobPart]).stream().pipeThrough(new DecompressionStream(format)).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
      size += value!.length;
      if (size > MOST_UNPACKED) return await reader.cancel(), null;
      parts.push(value!);
    }
  } catch {
    return null;
  }
  return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
}

const LAYERS: Record<string, Unpack> = {
  zlib: (data) => (data.length >= 6 && (data[0] & 15) === 8 && (data[0] * 256 + data[1]) % 31 === 0 ? inflated(data, "deflate") : null),
  gzip: (data) => (data[0] === 0x1f && data[1] === 0x8b ? inflated(data, "gzip") : null),
  base16: digits(/^[0-9a-fA-F\s]*$/, base16),
  base32: digits(/^[A-Z2-7\s]*=*\s*$/, base32),
  base64: digits(/^[\w+/\s]*=*\s*$/, base64),
  base64url: digits(/^[\w\s-]*=*\s*$/, (text) => (/[_-]/.test(text) ? base64(text.replace(/-/g, "+").replace(/_/g, "/")) : null)),
  base85: digits(/^[\w!#$%&()*+;<=>?@^`{|}~\s-]*$/, (text) => base85(Array.from(text, (c) => DIGITS_85.indexOf(c)))),
  ascii85: digits(/^[!-uz~<>\s]*$/, (text) => ascii85(text.replace(/^<~|~>$/g, ""))),
  reversed: (data) => data.slice().reverse(),
  xor: unkeyed,
  deflate: (data) => inflated(data, "deflate-raw"),
  rot13: (data) => (/^[\0-\x7f]*$/.test(latin1(data.subarray(0, 4096))) ? data.map(rotated) : null),
};

function rotated(c: number): number {
  const letter = c | 0x20;
  if (letter < 0x61 || letter > 0x7a) return c;
  return c + (letter < 0x6e ? 13 : -13);
}

/** Removes a repeated key from marshalled code, which begins with three numbers of 0. */
function unkeyed(data: Uint8Array): Uint8Array | null {
  const zeros = data.subarray(1, 13);
  for (let size = 1; size <= 8 && data.length >= LEAST; size++) {
    if (zeros.subarray(size).some((byte, i) => byte !== zeros[i])) continue;
    if (zeros.every((byte) => byte === 0)) return null;
    const plain = data.map((byte, i) => byte ^ zeros[(i + size - 1) % size]);
    if ((plain[0] & 0x7f) === 0x63) return plain;
  }
  return null;
}

function ascii85(text: string): Uint8Array | null {
  if (text.includes("~")) return null;
  return base85(Array.from(text.replace(/z/g, "!!!!!"), (c) => c.charCodeAt(0) - 33));
}
