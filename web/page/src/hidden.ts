// SPDX-License-Identifier: Apache-2.0
// What a file holds that its text does not show.
import type { CodeReport, Finding, Inspection } from "../../npm/pellucid";
import { failureOf, type App, type Pane } from "./app.ts";
import { bytes, count, el, shown } from "./dom.ts";
import { hiddenIn, type Hidden } from "./following.ts";
import { words } from "./state.ts";

/** More entries of a section wait for a click. */
const MANY = 200;

export class HiddenPane implements Pane {
  private readonly body = el("div", { class: "body", tabindex: 0, role: "region", "aria-label": "What the text does not show" });
  private shownFor: unknown = null;

  constructor(private readonly app: App, private readonly section: HTMLElement) {
    section.append(this.body);
  }

  module(): void {
    this.shownFor = null;
    this.body.replaceChildren();
    this.view();
  }

  view(): void {
    const { app } = this;
    if (this.section.offsetParent === null || !app.result || this.shownFor === app.result) return;
    this.shownFor = app.result;
    void this.fetch();
  }

  private async fetch(): Promise<void> {
    const { app } = this;
    const result = app.result, { place } = app.current!;
    try {
      const report = await app.client.call("inspect", place);
      const { text } = await app.client.call("dump", { ...place, stage: "module", code: null });
      const hidden = await hiddenIn(text, (data) => app.client.holdsCode(data));
      if (app.result === result) this.draw(report, hidden);
    } catch (error) {
      if (app.result === result) this.body.replaceChildren(el("p", { class: "note" }, `${shown(words(failureOf(error)))}.`));
    }
  }

  private draw(report: Inspection, hidden: Hidden[]): void {
    const result = this.app.result!;
    this.body.replaceChildren(
      ...section("Hidden in constants", hidden.map((each, i) => this.hiddenItem(each, i + 1, report))),
      ...section("Not recovered as a person would write it", result.diagnostics.map((d) =>
        item(d.name, `${d.message}, at byte 0x${d.offset.toString(16)}`, () => this.app.look(d.code, true)))),
      ...section("Names that no source can write", result.renamed.map((r) =>
        item(r.given, `stands for ${r.original}`))),
      ...section("How the file was read", [...report.notes, ...(report.doubt ? [report.doubt] : [])].map((text) => item("", text))),
      ...section("In the file", unusual(report.findings).map((f) => item("", found(f)))),
      ...report.codes.filter((code) => unusual(code.findings).length).flatMap((code) => section(
        code.path, unusual(code.findings).map((f) => item(found(f), "", () => this.app.look(code.code, true))), true)),
    );
    if (!this.body.childElementCount) {
      this.body.append(el("p", { class: "fine" }, "✓ The text shows everything that the file holds, except what every compiler leaves behind."));
    }
    const verdicts = new Map(result.functions.map((f) => [f.code, f.verdict ?? ""]));
    this.body.append(header(report), common(report), codes(report.codes, verdicts, (code) => this.app.look(code, true)));
  }

  private hiddenItem(hidden: Hidden, number: number, report: Inspection): HTMLElement {
    const { app } = this, { layers, is } = hidden;
    const holder = report.codes.find((code) => code.code === hidden.holder)?.path ?? "";
    const text = `in a constant of ${holder}: ${layers.join(", ") || "marshal"}`;
    if (is === "packed") return item("packed data", `${text}; the page cannot unpack it, \`pellucid inspect\` can`);
    const size = `${is} of ${bytes(hidden.bytes.length)}`;
    if (is === "code") return item(`Open the ${size}`, text, () => void app.add(hidden.bytes, number));
    const source = el("pre", { tabindex: 0 }, shown(new TextDecoder().decode(hidden.bytes.subarray(0, 100_000))));
    return el("li", {}, el("details", {}, el("summary", {}, `${size} ${shown(text)}`), source));
  }
}

const unusual = (findings: Finding[]) => findings.filter((f) => !f.isCommon);
const found = (f: Finding) => (f.offset ? `${f.text}, at byte 0x${f.offset.toString(16)}` : f.text);

function item(what: string, text: string, go?: () => void): HTMLElement {
  const name = shown(what);
  const head = !what ? null : go ? el("button", { class: "link", onclick: go }, name) : el("b", {}, name);
  return el("li", {}, head, head ? " " : null, el("span", {}, shown(text)));
}

function section(title: string, items: HTMLElement[], isCode = false): HTMLElement[] {
  if (!items.length) return [];
  const list = el("ul", {}, ...items.slice(0, MANY));
  if (items.length > MANY) {
    const rest = () => items.slice(MANY).forEach((each) => list.append(each));
    const more = el("button", { class: "link", onclick: rest }, `${items.length - MANY} more`);
    more.addEventListener("click", () => more.remove());
    return [el("h3", {}, isCode ? el("code", {}, shown(title)) : title), list, more];
  }
  return [el("h3", {}, isCode ? el("code", {}, shown(title)) : title), list];
}

function header(report: Inspection): HTMLElement {
  const { magic, magicWords, flags, date, size } = report.header;
  const row = (name: string, text: string) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, shown(text)));
  const hasHeader = report.start > 0, hasDate = report.start >= 16;
  const hash = (BigInt(date) | (BigInt(size) << 32n)).toString(16).padStart(16, "0");
  return el("details", { open: true }, el("summary", {}, "Header"), el("table", {},
    row("Python", report.python),
    ...(hasHeader ? [
      row("Magic number", magicWords || `0x${magic.toString(16)}`),
      row("Flags", `0x${flags.toString(16)}`),
    ] : [row("Header", "none: the file starts with the code")]),
    ...(hasDate && flags & 1 ? [row("Hash of the source", hash)] : []),
    ...(!hasDate || flags & 1 ? [] : [
      row("Date of the source", date ? new Date(date * 1000).toISOString().replace(".000", "") : "none"),
      row("Size of the source", bytes(size)),
    ]),
    row("Code", `bytes 0x${report.start.toString(16)} to 0x${report.end.toString(16)}`),
    ...(report.subject ? [row("Subject", report.subject)] : [])));
}

function common(report: Inspection): HTMLElement | string {
  const all = [...report.findings, ...report.codes.flatMap((code) => code.findings)].filter((f) => f.isCommon);
  if (!all.length) return "";
  return el("details", {}, el("summary", {}, `Leftovers of the compiler (${all.length.toLocaleString("en")})`),
    el("ul", {}, ...all.slice(0, MANY).map((f) => item(f.kind, found(f)))));
}

function codes(reports: CodeReport[], verdicts: Map<number, string>, look: (code: number) => void): HTMLElement {
  const head = ["code object", "line", "flags", "bytes", "constants", "names", "verdict"];
  return el("details", {}, el("summary", {}, `${reports.length === 1 ? "" : "All "}${count(reports.length, "code object")}`), el("table", {},
    el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name))),
    ...reports.slice(0, 1000).map((code) => el("tr", {},
      el("td", {}, el("button", { class: "link", onclick: () => look(code.code) }, shown(code.path))),
      ...[code.firstLine, `0x${code.flags.toString(16)}`, code.bytecodeSize, code.constantCount, code.nameCount]
        .map((n) => el("td", { class: "figure" }, String(n))),
      el("td", {}, verdicts.get(code.code) ?? "not shown by the source")))));
}
