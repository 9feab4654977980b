// SPDX-License-Identifier: Apache-2.0
// Which lines of the text and which instructions belong together.
import type { Decompilation, FunctionVerdict, LineOrigin } from "../../npm/pellucid";

/** A set of statements: what is marked in every view. */
export type Linked = ReadonlySet<LineOrigin>;
export const NOTHING: Linked = new Set();

export class Links {
  private readonly byLine = new Map<number, LineOrigin[]>();
  private readonly byOffset = new Map<number, Map<number, LineOrigin>>();
  private readonly inner: (FunctionVerdict | null)[] = [];

  constructor(readonly result: Decompilation, lineCount: number) {
    for (const origin of result.lines) {
      for (let line = origin.line; line <= Math.min(origin.lastLine, lineCount); line++) {
        const there = this.byLine.get(line);
        if (there) there.push(origin);
        else this.byLine.set(line, [origin]);
      }
      let offsets = this.byOffset.get(origin.code);
      if (!offsets) this.byOffset.set(origin.code, (offsets = new Map()));
      for (const offset of origin.offsets) if (!offsets.has(offset)) offsets.set(offset, origin);
    }
    this.inner = new Array(lineCount + 1).fill(null);
    // Outer ones come first: each fills its lines, and inner ones write over it.
    const outerFirst = [...result.functions].sort(
      (a, b) => a.firstLine - b.firstLine || b.lastLine - a.lastLine || this.depth(a) - this.depth(b),
    );
    for (const f of outerFirst) {
      if (f.kind === "lambda" || f.kind === "comprehension") continue;
      for (let line = f.firstLine; line <= Math.min(f.lastLine, lineCount); line++) this.inner[line] = f;
    }
  }

  /** How many code objects are around one. */
  depth(f: FunctionVerdict): number {
    let depth = 0;
    for (let at: FunctionVerdict | undefined = f; at && at.parent !== null && depth < 200; depth++) {
      at = this.function(at.parent);
    }
    return depth;
  }

  function(code: number): FunctionVerdict | undefined {
    const guess = this.result.functions[code];
    return guess?.code === code ? guess : this.result.functions.find((f) => f.code === code);
  }

  /** The innermost function or class around a line. */
  functionAt(line: number): FunctionVerdict | null {
    return this.inner[line] ?? null;
  }

  /** The statements of a line: those that begin there, or else those that run on over it. */
  ofLine(line: number): Linked {
    const there = this.byLine.get(line) ?? [];
    const begun = there.filter((origin) => origin.line === line);
    return new Set(begun.length ? begun : there);
  }

  /** The statement of an instruction. */
  ofOffset(code: number, offset: number): Linked {
    const origin = this.byOffset.get(code)?.get(offset);
    return origin ? new Set([origin]) : NOTHING;
  }
}
