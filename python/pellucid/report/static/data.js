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

/** @param {string} id @returns {Promise<Uint8Array>} */
async function chunk(id) {
  const element = document.getElementById(id);
  const data = fromBase64(element ? (element.textContent || '').trim() : '');
  if (typeof DecompressionStream === 'undefined') throw new Error('this browser is from before 2023');
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
