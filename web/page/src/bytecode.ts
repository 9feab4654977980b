// SPDX-License-Identifier: Apache-2.0
// The disassembly of the module, as CPython's `dis` has it, linked with the source line by line.
import type { CodeListing, Disassembly, ExceptionRange, Instruction } from "../../npm/pellucid";
import { failureOf, type App, type Pane } from "./app.ts";
import { count, el, shown } from "./dom.ts";
import { NOTHING, type Linked } from "./link.ts";
import { List, type Row } from "./list.ts";
import { words } from "./state.ts";

type ByteRow = Row & (
  | { kind: "head"; code: CodeListing }
  | { kind: "instruction"; code: CodeListing; at: Instruction; line: number | null }
  | { kind: "range"; code: CodeListing; range: ExceptionRange }
  | { kind: "note" }
);

const hex = (n: number) => n.toString(16).padStart(4, "0");

export class BytecodePane implements Pane {
  readonly list: List<ByteRow>;
  listing: Disassembly | null = null;
  private wanted: unknown = null;
  private seen = true;
  /** code -> offset -> row, and code -> its first row. */
  private rows = new Map<number, Map<number, number>>();
  private heads = new Map<number, number>();

  constructor(private readonly app: App, private readonly section: HTMLElement) {
    this.list = new List<ByteRow>("bytecode-list", {
      label: "Bytecode",
      draw: (element, row) => draw(element, row),
      onHover: (i) => app.setHover(this.linkedAt(i), this),
      onChoose: (i) => this.choose(i),
    });
    section.append(this.list.element);
  }

  module(): void {
    this.listing = null;
    this.wanted = null;
    this.rows.clear();
    this.heads.clear();
    this.list.show([]);
    this.list.element.dataset.empty = "";
    if (this.app.result) void this.fetch();
  }

  /** Asks for the listing of the module, once. */
  async fetch(): Promise<void> {
    const result = this.app.result;
    if (!result || this.wanted === result) return;
    this.wanted = result;
    try {
      const listing = await this.app.client.call("dis", this.app.current!.place);
      if (this.app.result !== result) return;
      this.listing = listing;
      this.list.show(this.rowsOf(listing));
      this.marks(true, null);
    } catch (error) {
      if (this.app.result !== result) return;
      this.list.element.dataset.empty = `${words(failureOf(error))}.`;
    }
  }

  code(): void {
    // A function's line belongs to the code around it, which makes the function.
    const { code, pin } = this.app;
    const head = this.heads.get(code);
    if (head !== undefined && ![...pin].some((origin) => origin.code === code)) this.list.activate(head);
  }

  view(): void {
    // What is out of sight has no height: the place is found when it comes into view.
    const visible = this.section.offsetParent !== null;
    if (visible && !this.seen) this.marks(true, null);
    this.seen = visible;
  }

  marks(reveal: boolean, from: Pane | null): void {
    const marks = new Map<number, string>();
    let first = -1;
    let last = -1;
    const add = (linked: Linked, kind: string) => {
      for (const { code, offsets } of linked) {
        const rows = this.rows.get(code);
        for (const offset of offsets) {
          const row = rows?.get(offset);
          if (row === undefined) continue;
          marks.set(row, `${marks.get(row) ?? ""} ${kind}`);
          if (kind !== "pin") continue;
          if (first < 0 || row < first) first = row;
          last = Math.max(last, row);
        }
      }
    };
    add(this.app.hover, "near");
    add(this.app.pin, "pin");
    this.list.mark(marks);
    if (!reveal || from === this) return;
    if (first >= 0) this.list.activate(first, true, last);
    else if (this.heads.has(this.app.code)) this.list.reveal(this.heads.get(this.app.code)!);
  }

  /** Brings an instruction into view. */
  goTo(code: number, offset: number): void {
    const row = this.rows.get(code)?.get(offset);
    if (row !== undefined) this.list.activate(row);
  }

  private linkedAt(index: number): Linked {
    const row = this.list.rows[index];
    if (!row || row.kind !== "instruction" || !this.app.links) return NOTHING;
    return this.app.links.ofOffset(row.code.code, row.at.offset);
  }

  private choose(index: number): void {
    const row = this.list.rows[index];
    if (!row || row.kind === "note") return;
    if (row.kind === "range") return this.goTo(row.code.code, row.range.target);
    if (row.code.code !== this.app.code) this.app.look(row.code.code, false);
    if (row.kind === "head") {
      this.app.look(row.code.code, true);
    } else {
      this.app.setPin(this.linkedAt(index), this);
    }
  }

  private rowsOf(listing: Disassembly): ByteRow[] {
    const rows: ByteRow[] = [];
    for (const code of listing.codes) {
      if (rows.length) rows.push({ kind: "note", text: "" });
      this.heads.set(code.code, rows.length);
      rows.push({ kind: "head", code, text: code.name });
      if (code.error) rows.push({ kind: "note", text: code.error });
      const offsets = new Map<number, number>();
      this.rows.set(code.code, offsets);
      let line: number | null = null;
      for (const at of code.instructions) {
        const fresh = at.line !== line ? at.line : null;
        line = at.line ?? line;
        offsets.set(at.offset, rows.length);
        rows.push({ kind: "instruction", code, at, line: fresh, text: " ".repeat(46) + at.argrepr });
      }
      for (const range of code.exceptions) rows.push({ kind: "range", code, range, text: " ".repeat(60) });
    }
    return rows;
  }
}

function draw(element: HTMLElement, row: ByteRow): void {
  if (row.kind === "head") {
    element.classList.add("head");
    const n = row.code.instructions.length;
    element.append(
      el("b", {}, shown(row.code.name)),
      el("span", { class: "soft" }, `from line ${row.code.firstLine} · ${count(n, "instruction")}`),
    );
  } else if (row.kind === "note") {
    element.append(el("span", { class: "soft" }, shown(row.text)));
  } else if (row.kind === "range") {
    const { start, end, target, depth, lasti } = row.range;
    element.append(
      el("span", { class: "no" }),
      el("span", { class: "soft" }, `${hex(start)} to ${hex(end)}: exceptions lead to ${hex(target)}, depth ${depth}${lasti ? ", lasti" : ""}`),
    );
  } else {
    const { at } = row;
    if (row.line !== null) element.classList.add("fresh");
    element.append(
      el("span", { class: "no" }, row.line === null ? "" : String(row.line)),
      el("span", { class: "into" }, at.isTarget ? "›" : ""),
      el("span", { class: "offset" }, hex(at.offset)),
      el("span", { class: `op ${family(at.opname)}` }, at.opname),
      el("span", { class: "arg" }, at.arg === null ? "" : String(at.arg)),
      el("span", { class: "repr" }, at.argrepr && at.target === null ? shown(at.argrepr.slice(0, 2000)) : ""),
    );
    if (at.target !== null) element.lastElementChild!.append(el("span", { class: "soft" }, `→ ${hex(at.target)}`));
  }
}

/** A colour for what an instruction does to control: jumps, calls, ends. */
function family(name: string): string {
  if (/JUMP|FOR_ITER|SEND/.test(name)) return "word";
  if (/^(RETURN|RAISE|RERAISE)/.test(name)) return "string";
  if (/^CALL|PRECALL/.test(name)) return "call";
  return "";
}
