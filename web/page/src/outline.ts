// SPDX-License-Identifier: Apache-2.0
// The functions of the module that is shown, each with its verdict.
import type { FunctionVerdict } from "../../npm/pellucid";
import type { App, Pane } from "./app.ts";
import { el, rowOfNames, shown } from "./dom.ts";
import { List, type Row } from "./list.ts";
import { proven, sentenceOf, standingOf } from "./state.ts";

interface FunctionRow extends Row {
  f: FunctionVerdict;
  depth: number;
}

export class OutlinePane implements Pane {
  readonly list: List<FunctionRow>;
  private readonly sum = el("span", { class: "note" });

  constructor(private readonly app: App, section: HTMLElement) {
    this.list = new List<FunctionRow>("outline-list", {
      label: "Functions",
      draw: (element, row) => this.draw(element, row),
      height: rowOfNames,
      onChoose: (i) => {
        app.look(this.list.rows[i].f.code, true);
        if (app.view === "files") app.setView("source");
      },
    });
    section.querySelector("header")!.append(el("span", { class: "grow" }), this.sum);
    section.append(this.list.element);
  }

  module(): void {
    const { links, summary } = this.app;
    const rows = links && summary
      ? summary.functions.map((f) => ({ f, depth: links.depth(f), text: nameOf(f) })) : [];
    this.list.show(rows);
    const { proven: good, all } = proven(summary?.functions ?? []);
    this.sum.textContent = all ? `${good}/${all} proven` : "";
    this.code();
  }

  code(): void {
    const at = this.list.rows.findIndex((row) => row.f.code === this.app.code);
    this.list.mark(at < 0 ? new Map() : new Map([[at, "pin"]]));
    this.list.activate(at);
  }

  /** Goes to the next function (1) or the one before (-1); with `open`, of those not proven. */
  step(by: 1 | -1, open: boolean): void {
    const { rows } = this.list;
    const now = rows.findIndex((row) => row.f.code === this.app.code);
    for (let at = now + by; at >= 0 && at < rows.length; at += by) {
      if (open && !["warn", "bad"].includes(standingOf(rows[at].f, this.app.summary!).kind)) continue;
      return this.app.look(rows[at].f.code, true);
    }
  }

  private draw(element: HTMLElement, row: FunctionRow): void {
    const summary = this.app.summary;
    if (!summary) return;
    const { kind, sign, word } = standingOf(row.f, summary);
    const { text, why } = sentenceOf(row.f, summary);
    element.style.paddingLeft = `${8 + Math.min(row.depth, 12) * 14}px`;
    element.title = shown(`${row.f.name} ${text}${why ? `: ${why}` : ""}`);
    element.append(
      el("b", { class: `sign ${kind}`, "aria-label": word }, sign),
      el("span", { class: `name ${row.f.kind}` }, shown(row.text)),
      el("span", { class: "soft" }, String(row.f.firstLine)),
    );
  }
}

/** The last part of a qualified name: the tree shows the others. */
function nameOf(f: FunctionVerdict): string {
  const name = f.kind === "module" ? "module" : f.path.slice(f.path.lastIndexOf("/") + 1) || f.name;
  return f.kind === "class" ? `class ${name}` : name;
}
