// @ts-check
// The data of the page: chunks are gzipped JSON or numbers, in base64, and opened when first asked.
'use strict';

/** @typedef {{name: string, kind: string, content: number, size: number, key: string, stage: string, base: number}} DumpedFile */
/** @typedef {{key: string, file: number, verdict: string, reason: string, swapped: boolean, parent: string, graphs: number[], recompiled: string[], operations: number}} Version */

/** @param {string} text @returns {Uint8Array} */
function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Inflates gzip where the browser cannot (RFC 1951). @param {Uint8Array} data @returns {Uint8Array} */
function inflateSlowly(data) {
  let at = 10, bits = 0, held = 0, size = 0;
  const length = new DataView(data.buffer, data.byteOffset).getUint32(data.length - 4, true);
  const out = new Uint8Array(length);
  const take = (/** @type {number} */ n) => {
    while (held < n) { bits |= data[at++] << held; held += 8; }
    const value = bits & ((1 << n) - 1);
    bits >>>= n; held -= n;
    return value;
  };
  const tree = (/** @type {number[]} */ lengths) => {
    const counts = new Uint16Array(16), starts = new Uint16Array(16);
    for (const n of lengths) counts[n]++;
    counts[0] = 0;
    for (let i = 1; i < 16; i++) starts[i] = starts[i - 1] + counts[i - 1];
    const symbols = new Uint16Array(lengths.length);
    lengths.forEach((n, i) => { if (n) symbols[starts[n]++] = i; });
    return { counts, symbols };
  };
  const read = (/** @type {{counts: Uint16Array, symbols: Uint16Array}} */ t) => {
    let code = 0, first = 0, index = 0;
    for (let n = 1; n < 16; n++) {
      code |= take(1);
      const count = t.counts[n];
      if (code - count < first) return t.symbols[index + code - first];
      index += count; first = (first + count) << 1; code <<= 1;
    }
    throw new Error('bad data');
  };
  const BASES = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
  const EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
  const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
  for (let last = 0; !last;) {
    last = take(1);
    const type = take(2);
    if (type === 0) {
      const n = data[at] | (data[at + 1] << 8);
      out.set(data.subarray(at + 4, at + 4 + n), size);
      bits = held = 0; at += 4 + n; size += n;
      continue;
    }
    let literals, distances;
    if (type === 1) {
      literals = tree(Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8)));
      distances = tree(new Array(30).fill(5));
    } else {
      const nl = take(5) + 257, nd = take(5) + 1, nc = take(4) + 4;
      const codes = new Array(19).fill(0);
      for (let i = 0; i < nc; i++) codes[ORDER[i]] = take(3);
      const t = tree(codes);
      /** @type {number[]} */
      const lengths = [];
      while (lengths.length < nl + nd) {
        const s = read(t);
        if (s < 16) lengths.push(s);
        else {
          const value = s === 16 ? lengths[lengths.length - 1] : 0;
          for (let n = s === 16 ? 3 + take(2) : s === 17 ? 3 + take(3) : 11 + take(7); n--;) lengths.push(value);
        }
      }
      literals = tree(lengths.slice(0, nl)); distances = tree(lengths.slice(nl));
    }
    for (let s = read(literals); s !== 256; s = read(literals)) {
      if (s < 256) { out[size++] = s; continue; }
      const n = BASES[s - 257] + take(EXTRA[s - 257]);
      const d = read(distances);
      const back = d < 2 ? d + 1 : (1 << ((d >> 1) - 1)) * (2 + (d & 1)) + 1 + take((d >> 1) - 1);
      for (let i = 0; i < n; i++, size++) out[size] = out[size - back];
    }
  }
  return out;
}

/** @param {string} id @returns {Promise<Uint8Array>} */
async function chunk(id) {
  const element = document.getElementById(id);
  const data = fromBase64(element ? (element.textContent || '').trim() : '');
  if (typeof DecompressionStream === 'undefined') return inflateSlowly(data);
  const stream = new Blob([/** @type {any} */ (data)]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @param {string} id @returns {Promise<any>} */
async function jsonChunk(id) {
  return JSON.parse(new TextDecoder().decode(await chunk(id)));
}

/** Numbers, each as the distance from the one before. @param {Uint8Array} bytes @returns {Int32Array} */
function numbers(bytes) {
  const found = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
  for (let i = 1; i < found.length; i++) found[i] += found[i - 1];
  return found;
}

/** One capture, with its files, links and whatever the panes show. */
class Capture {
  /** @param {any} values @param {string[]} lines @param {Int32Array[]} contents @param {Links} links */
  constructor(values, lines, contents, links) {
    /** @type {DumpedFile[]} */
    this.files = values.files.map((/** @type {any[]} */ f) => (
      { name: f[0], kind: f[1], content: f[2], size: f[3], key: f[4], stage: f[5], base: f[6] }));
    this.lines = lines;
    this.contents = contents;
    this.links = links;
    /** @type {{functions: any[], kernels: any[], findings: any[], rest: any, graphs: any, users: any[], bars: any[]}} */
    const { functions, kernels, findings, rest, graphs, users, bars } = values;
    Object.assign(this, { functions, kernels, findings, rest, graphs, users, bars });
    /** @type {Map<string, number>} */
    this.number = new Map(this.files.map((f, i) => [f.name, i]));
    this.bases = this.files.map((f) => f.base);
    links.place((line) => this.fileOf(line), this.files.map((f) => f.kind));
  }

  /** @param {number} file @param {number} line from 0 @returns {string} */
  text(file, line) {
    const f = this.files[file];
    if (!f || f.content < 0) return '';
    const number = this.contents[f.content][line];
    return number === undefined ? '' : this.lines[number];
  }

  /** The number that is written beside a line. @param {number} file @param {number} line */
  shown(file, line) {
    const user = this.users[file];
    return user && user.numbers ? user.numbers[line] : line + (user ? user.first : 1);
  }

  /** @param {number} file @param {number} shown @returns {number} the line from 0, or -1 */
  lineOf(file, shown) {
    const user = this.users[file];
    if (user && user.numbers) return user.numbers.indexOf(shown);
    const line = shown - (user ? user.first : 1);
    return line >= 0 && line < this.files[file].size ? line : -1;
  }

  /** @param {string} key @returns {{fn: any, version: Version} | null} */
  version(key) {
    for (const fn of this.functions) {
      for (const version of fn.versions) if (version.key === key) return { fn, version };
    }
    return null;
  }

  /** The file of a line that is counted through. @param {number} global */
  fileOf(global) {
    let low = 0, high = this.bases.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.bases[middle] <= global) low = middle; else high = middle - 1;
    }
    while (low > 0 && this.files[low].size === 0) low--;
    return low;
  }
}

/** @type {Promise<{lines: string[], contents: Int32Array[]}> | null} */
let pool = null;

/** @returns {Promise<{lines: string[], contents: Int32Array[]}>} */
function openPool() {
  pool = pool || (async () => {
    const [lines, sizes, flat] = await Promise.all([jsonChunk('c-lines'), jsonChunk('c-sizes'), chunk('c-contents')]);
    const all = numbers(flat);
    let at = 0;
    const contents = sizes.map((/** @type {number} */ n) => all.subarray(at, (at += n)));
    return { lines, contents };
  })();
  return pool;
}

/** @param {number} index @returns {Promise<Capture>} */
async function openCapture(index) {
  const [shared, values, spans, edges] = await Promise.all([
    openPool(), jsonChunk(`c-view-${index}`), chunk(`c-spans-${index}`), chunk(`c-edges-${index}`)]);
  return new Capture(values, shared.lines, shared.contents, new Links(numbers(spans), numbers(edges)));
}
