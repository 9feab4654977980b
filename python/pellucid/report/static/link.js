// @ts-check
// Which pieces of files belong together. Pieces are numbered by where they stand; an edge goes from
// what is nearer to the user's line to what was made of it.
'use strict';

const EXACT = 1, BY_NAME = 2, BY_LINE = 3;
const HOW = ['', 'exact', 'by name', 'by line'];

class Links {
  /** @param {Int32Array} spans first lines, then last lines @param {Int32Array} edges upper, lower, how: three parts */
  constructor(spans, edges) {
    this.count = spans.length >> 1;
    this.first = spans.subarray(0, this.count);
    this.last = spans.subarray(this.count);
    const n = edges.length / 3;
    this.upper = edges.subarray(0, n);
    this.lower = edges.subarray(n, 2 * n);
    this.how = edges.subarray(2 * n);
    this.down = this.index(this.upper);
    this.up = this.index(this.lower);
    this.marks = new Uint8Array(this.count);
    /** @type {number[]} */
    this.touched = [];
    this.file = new Int32Array(0);
    /** @type {string[]} */
    this.kind = [];
  }

  /** The edges of each piece: where they start in a list that is sorted by piece. @param {Int32Array} ends */
  index(ends) {
    const starts = new Int32Array(this.count + 1);
    for (const end of ends) starts[end + 1]++;
    for (let i = 0; i < this.count; i++) starts[i + 1] += starts[i];
    const next = starts.slice(), edges = new Int32Array(ends.length);
    ends.forEach((end, edge) => { edges[next[end]++] = edge; });
    return { starts, edges };
  }

  /** The piece that a line is in, or -1. @param {number} line counted through all files */
  at(line) {
    let low = 0, high = this.count - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (this.first[middle] <= line) low = middle + 1; else high = middle - 1;
    }
    return high >= 0 && this.last[high] >= line ? high : -1;
  }

  clear() {
    for (const span of this.touched) this.marks[span] = 0;
    this.touched = [];
  }

  /** Tells which file each piece is in, and what files are. @param {(line: number) => number} fileOf @param {string[]} kinds of files */
  place(fileOf, kinds) {
    this.file = Int32Array.from(this.first, fileOf);
    this.kind = Array.from(this.file, (file) => kinds[file]);
  }

  /**
   * Marks what belongs to a piece: all that it came from and all that came of it, and, for a node, what
   * came of the same line in other files. A path is as sure as its least sure edge. @param {number} start
   */
  mark(start) {
    this.clear();
    if (start < 0) return;
    this.set(start, EXACT);
    this.walk(start, EXACT, this.down, this.lower, null);
    /** @type {number[]} */
    const users = [];
    this.walk(start, EXACT, this.up, this.upper, (span) => { if (this.kind[span] === 'user') users.push(span); });
    if (this.kind[start] !== 'graph') return;
    const kept = this.touched.length;
    for (const user of users) this.walk(user, BY_LINE, this.down, this.lower, null);
    for (let i = kept; i < this.touched.length; i++) {
      if (this.file[this.touched[i]] === this.file[start]) this.marks[this.touched[i]] = 0;
    }
  }

  /** @param {number} span @param {number} how @returns {boolean} whether this says more than before */
  set(span, how) {
    const known = this.marks[span];
    if (known && known <= how) return false;
    if (!known) this.touched.push(span);
    this.marks[span] = how;
    return true;
  }

  /**
   * @param {number} start @param {number} strength @param {{starts: Int32Array, edges: Int32Array}} index
   * @param {Int32Array} ends @param {((span: number) => void) | null} seen
   */
  walk(start, strength, index, ends, seen) {
    /** @type {number[][]} */
    const todo = [[], [], [], []];
    todo[strength].push(start);
    const done = new Map([[start, strength]]);
    for (let how = strength; how <= BY_LINE; how++) {
      for (let span = todo[how].pop(); span !== undefined; span = todo[how].pop()) {
        // What is said of a whole statement, or of a value, is not said of all that they touch.
        if (span !== start && (this.kind[span] === 'guards' || this.kind[span] === 'transformed')) continue;
        for (let i = index.starts[span]; i < index.starts[span + 1]; i++) {
          const edge = index.edges[i], other = ends[edge];
          const reached = Math.max(how, this.how[edge] + 1);
          const known = done.get(other);
          if (known !== undefined && known <= reached) continue;
          done.set(other, reached);
          this.set(other, reached);
          if (seen && known === undefined) seen(other);
          todo[reached].push(other);
        }
      }
    }
  }
}
