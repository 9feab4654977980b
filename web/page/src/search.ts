// SPDX-License-Identifier: Apache-2.0
// One box that finds modules, functions, lines of every text that is there, and instructions.
import type { App, View } from "./app.ts";
import type { BytecodePane } from "./bytecode.ts";
import { byId, el, shown } from "./dom.ts";
import { linesOf } from "./app.ts";

interface Hit {
  kind: string;
  text: string;
  where: string;
  go: () => void;
}

const MOST = 80;

export class Search {
  private readonly box = byId<HTMLInputElement>("search");
  private readonly found = byId("found");
  private hits: Hit[] = [];
  private active = 0;
  private timer = 0;

  constructor(private readonly app: App, private readonly bytecode: BytecodePane) {
    this.box.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.run(), 60);
    });
    this.box.addEventListener("focus", () => this.run());
    this.box.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("pointerdown", (event) => {
      if (!(event.target as Element).closest(".searching")) this.close();
    });
  }

  focus(): void {
    this.box.focus();
    this.box.select();
  }

  private close(): void {
    this.found.hidden = true;
    this.box.setAttribute("aria-expanded", "false");
    this.box.removeAttribute("aria-activedescendant");
  }

  private run(): void {
    const query = this.box.value.trim().toLowerCase();
    this.hits = query ? this.find(query) : [];
    this.active = 0;
    if (!query) return this.close();
    this.found.hidden = false;
    this.box.setAttribute("aria-expanded", "true");
    this.draw(query);
  }

  private find(query: string): Hit[] {
    const { app } = this;
    const hits: Hit[] = [];
    const has = (text: string) => hits.length < MOST && text.toLowerCase().includes(query);
    if (app.modules.length > 1) {
      for (const module of app.modules) {
        if (has(module.path)) hits.push({ kind: "module", text: module.path, where: "", go: () => void app.show(module) });
      }
    }
    for (const module of this.ordered()) {
      for (const f of module.summary?.functions ?? []) {
        if (f.kind === "module" || !has(f.name)) continue;
        const where = app.modules.length > 1 ? `${module.path}:${f.firstLine}` : `line ${f.firstLine}`;
        hits.push({ kind: f.kind, text: f.name, where, go: () => void app.show(module, f.firstLine) });
      }
    }
    for (const module of this.ordered()) {
      // Most texts hold nothing: look at lines only where the whole has it.
      if (hits.length >= MOST || !module.summary?.text.toLowerCase().includes(query)) continue;
      linesOf(module.summary.text).forEach((text, i) => {
        if (!has(text)) return;
        const where = app.modules.length > 1 ? `${module.path}:${i + 1}` : `line ${i + 1}`;
        hits.push({ kind: "line", text: text.trim(), where, go: () => void app.show(module, i + 1) });
      });
    }
    for (const code of this.bytecode.listing?.codes ?? []) {
      for (const at of code.instructions) {
        const text = `${at.opname} ${at.argrepr}`.trim();
        if (!has(text)) continue;
        hits.push({ kind: "bytecode", text, where: `${code.name} ${at.offset.toString(16).padStart(4, "0")}`, go: () => this.byte(code.code, at.offset) });
      }
    }
    return hits;
  }

  /** The module that is shown, then the others. */
  private ordered() {
    const { current, modules } = this.app;
    return current ? [current, ...modules.filter((m) => m !== current)] : modules;
  }

  private byte(code: number, offset: number): void {
    const { app } = this;
    app.setView("bytecode");
    app.setPin(app.links?.ofOffset(code, offset) ?? new Set(), null);
    this.bytecode.goTo(code, offset);
  }

  private draw(query: string): void {
    this.found.replaceChildren(...this.hits.map((hit, i) => {
      const text = hit.text.slice(0, 300);
      const at = text.toLowerCase().indexOf(query);
      const code = at < 0 ? el("code", {}, shown(text)) : el("code", {},
        shown(text.slice(0, at)), el("mark", {}, shown(text.slice(at, at + query.length))), shown(text.slice(at + query.length)));
      return el("div", {
        class: `result${i === this.active ? " active" : ""}`, role: "option", id: `hit-${i}`,
        "aria-selected": i === this.active, onclick: () => this.choose(i),
      }, el("span", { class: "kind" }, hit.kind), code, el("span", { class: "where" }, shown(hit.where)));
    }));
    if (!this.hits.length) this.found.append(el("p", { class: "note" }, "Nothing found."));
    else if (this.hits.length === MOST) this.found.append(el("p", { class: "note" }, `The first ${MOST} are shown.`));
    this.box.setAttribute("aria-activedescendant", this.hits.length ? `hit-${this.active}` : "");
    document.getElementById(`hit-${this.active}`)?.scrollIntoView({ block: "nearest" });
  }

  private choose(index: number): void {
    const hit = this.hits[index];
    if (!hit) return;
    this.close();
    this.box.blur();
    const view: View = "source";
    if (this.app.view === "files") this.app.setView(view);
    hit.go();
  }

  private key(event: KeyboardEvent): void {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step && this.hits.length) {
      this.active = (this.active + step + this.hits.length) % this.hits.length;
      this.draw(this.box.value.trim().toLowerCase());
    } else if (event.key === "Enter") {
      clearTimeout(this.timer);
      this.run();
      this.choose(this.active);
    } else if (event.key === "Escape") {
      this.close();
      this.box.blur();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
