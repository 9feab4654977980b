// SPDX-License-Identifier: Apache-2.0
// The source, with a verdict at each function, and what the verdict of the function in view means.
import type { FunctionVerdict } from "../../npm/pellucid";
import type { App, Pane } from "./app.ts";
import { count, el, shown } from "./dom.ts";
import { List, type Row } from "./list.ts";
import { openStrings, tokens } from "./python.ts";
import { proven, sentenceOf, standingOf, words } from "./state.ts";

/** The commands have CPython compile the text; here is none. */
const WHY_NOT_IDENTICAL = "The command may say “identical”: it has CPython compile the text, and this page compiles it itself.";

/** Longer lines are cut where they are drawn. */
const LONGEST = 2000;

export class SourcePane implements Pane {
  readonly list: List<Row>;
  private readonly verdict = el("p", { class: "verdict", role: "status" });
  private readonly title = el("span", { class: "title" });
  private open: string[] = [];
  private seen = true;
  private badges = new Map<number, FunctionVerdict>();

  constructor(private readonly app: App, section: HTMLElement) {
    this.list = new List<Row>("source-list", {
      label: "Source",
      draw: (element, row, index) => this.draw(element, row.text, index + 1),
      onHover: (i) => app.setHover(i < 0 || !app.links ? new Set() : app.links.ofLine(i + 1), this),
      onChoose: (i) => this.choose(i + 1),
    });
    section.querySelector("header")!.append(this.title);
    section.append(this.verdict, this.list.element);
    app.onLine = (line) => this.list.activate(line - 1);
  }

  module(): void {
    const { app } = this;
    const failure = app.current?.failure;
    const refused = failure && app.current!.progress !== "working";
    this.title.textContent = app.current ? shown(app.current.path) : "";
    this.list.element.dataset.empty = refused
      ? `${shown(app.current!.name)}\n${failure.code === "cancelled" ? "was cancelled" : shown(words(failure))}.`
      : app.current ? "" : "";
    this.list.element.classList.toggle("failed", Boolean(refused));
    this.open = openStrings(app.lines);
    this.badges = new Map();
    for (const f of app.summary?.functions ?? []) {
      if (f.kind === "function" || f.kind === "class") this.badges.set(this.headOf(f), f);
    }
    this.list.show(app.lines.map((text) => ({ text })));
    this.say();
  }

  code(): void {
    this.say();
  }

  marks(reveal: boolean, from: Pane | null): void {
    const marks = new Map<number, string>();
    const add = (set: Iterable<{ line: number; lastLine: number }>, kind: string) => {
      for (const { line, lastLine } of set) {
        for (let at = line; at <= lastLine; at++) marks.set(at - 1, `${marks.get(at - 1) ?? ""} ${kind}`);
      }
    };
    add(this.app.hover, "near");
    add(this.app.pin, "pin");
    this.list.mark(marks);
    const first = this.app.pin.values().next().value;
    if (reveal && from !== this && first) this.list.activate(first.line - 1);
  }

  view(): void {
    const visible = this.list.element.offsetParent !== null;
    if (visible && !this.seen) this.marks(true, null);
    this.seen = visible;
  }

  /** The line with `def` or `class`: decorators come before it. */
  private headOf(f: FunctionVerdict): number {
    for (let line = f.firstLine; line <= Math.min(f.lastLine, f.firstLine + 200); line++) {
      if (/^\s*(async\s+def|def|class)\b/.test(this.app.lines[line - 1] ?? "")) return line;
    }
    return f.firstLine;
  }

  private choose(line: number): void {
    const { app } = this;
    if (!app.links) return;
    const f = app.links.functionAt(line);
    if (f && f.code !== app.code) app.look(f.code, false);
    app.setPin(app.links.ofLine(line), this);
  }

  private draw(element: HTMLElement, text: string, line: number): void {
    const { app } = this;
    element.append(el("span", { class: "no" }, String(line)));
    const f = app.links?.functionAt(line);
    const standing = f && app.summary ? standingOf(f, app.summary) : null;
    element.append(el("i", { class: `gutter ${standing?.kind ?? "none"}` }));
    const code = el("code");
    paint(code, text.slice(0, LONGEST), this.open[line - 1] ?? "");
    element.append(code);
    if (text.length > LONGEST) {
      element.append(el("span", { class: "badge warn" }, `${count(text.length - LONGEST, "more character")}`));
    }
    const head = this.badges.get(line);
    if (head && app.summary) {
      const { kind, sign, word } = standingOf(head, app.summary);
      const { text: says, why } = sentenceOf(head, app.summary);
      const title = shown(`${head.name} ${says}${why ? `: ${why}` : ""}`);
      element.append(el("span", { class: `badge ${kind}`, title }, `${sign} ${word}`));
    }
  }

  /** Writes the line under the title: what is proven of the function in view. */
  private say(): void {
    const { app } = this;
    const summary = app.summary;
    const f = app.links?.function(app.code);
    this.verdict.replaceChildren();
    this.verdict.hidden = !summary || !f;
    if (!summary || !f) return;
    const { kind, sign } = standingOf(f, summary);
    const { text, why } = sentenceOf(f, summary);
    const name = f.kind === "module" ? "The module’s own code" : el("code", {}, shown(f.name));
    this.verdict.append(el("b", { class: kind }, sign), " ", name, ` ${text}${why ? `: ${shown(why)}` : ""}.`);
    if (f.offset !== null) {
      this.verdict.append(" ", el("button", {
        class: "link",
        onclick: () => app.setPin(app.links!.ofOffset(f.code, f.offset!), null),
      }, "Show where"));
    }
    if (f.verdict === "equivalent") this.verdict.append(" ", el("span", { class: "soft" }, WHY_NOT_IDENTICAL));
    if (f.kind === "module") {
      const { proven: good, all } = proven(summary.functions);
      const rest = good === all ? `All ${count(all, "code object")} proven.` : `${good} of ${count(all, "code object")} proven.`;
      if (all > 1) this.verdict.append(" ", el("span", { class: "soft" }, rest));
    }
  }
}

/** Appends a line of Python in colours. */
export function paint(code: HTMLElement, text: string, open: string): void {
  let at = 0;
  for (const [kind, length] of tokens(text, open).tokens) {
    const part = shown(text.slice(at, at + length));
    code.append(kind ? el("span", { class: kind }, part) : part);
    at += length;
  }
}
