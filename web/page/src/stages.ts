// SPDX-License-Identifier: Apache-2.0
// What each stage of the work makes of the function in view, and what each step of it changed.
import type { Stage } from "../../npm/pellucid";
import { failureOf, type App, type Pane } from "./app.ts";
import { el, shown } from "./dom.ts";
import { List, type Row } from "./list.ts";
import { words } from "./state.ts";

export class StagesPane implements Pane {
  private readonly steps = el("div", { class: "steps", role: "tablist", "aria-label": "Stages" });
  private readonly about = el("p", { class: "about" });
  private readonly step = el("select", { "aria-label": "Step of this stage" });
  private readonly whole = el("button", { class: "toggle", "aria-pressed": "false" }, "whole module");
  private readonly scope = el("span", { class: "note" });
  readonly list: List<Row>;
  private stages: Stage[] = [];
  private chosen = "flow";
  private shownFor = "";

  constructor(private readonly app: App, private readonly section: HTMLElement) {
    this.list = new List<Row>("stages-list", { label: "Text of the stage", draw });
    this.step.addEventListener("change", () => this.choose(this.step.value));
    this.whole.addEventListener("click", () => {
      this.whole.setAttribute("aria-pressed", String(this.whole.ariaPressed !== "true"));
      this.view();
    });
    section.append(
      this.steps, this.about,
      el("span", { class: "tools" }, this.scope, el("span", { class: "grow" }), this.step, this.whole),
      this.list.element,
    );
  }

  module(): void {
    this.shownFor = "";
    this.list.show([]);
    this.view();
  }

  code(): void {
    this.view();
  }

  view(): void {
    const { app } = this;
    if (this.section.offsetParent === null || !app.result) return;
    const code = this.whole.ariaPressed === "true" || this.chosen === "module" ? null : app.code;
    const key = `${app.current!.place.input}/${app.current!.place.index}/${code}/${this.chosen}`;
    if (key === this.shownFor) return;
    this.shownFor = key;
    void this.fetch(key, code);
  }

  private async fetch(key: string, code: number | null): Promise<void> {
    const { app } = this;
    try {
      if (!this.stages.length) {
        this.stages = await app.client.call("stages", {});
        if (!this.stages.some((s) => s.name === this.chosen)) this.chosen = this.stages[0].name;
      }
      this.head(code);
      const dump = await app.client.call("dump", { ...app.current!.place, stage: this.chosen, code });
      if (this.shownFor !== key) return;
      const rows = dump.text.replace(/\n$/, "").split("\n").map((text) => ({ text }));
      const said = dump.diagnostics.map((d) => ({ text: `# ${d.name}: ${d.message}` }));
      this.list.show([...said, ...rows]);
    } catch (error) {
      if (this.shownFor !== key) return;
      this.list.show([]);
      this.list.element.dataset.empty = `${shown(words(failureOf(error)))}.`;
    }
  }

  private choose(name: string): void {
    this.chosen = name;
    this.view();
  }

  private head(code: number | null): void {
    const [main] = this.chosen.split(":");
    const tops = this.stages.filter((s) => !s.name.includes(":"));
    this.steps.replaceChildren(...tops.map((stage, i) => el("button", {
      class: "tab", role: "tab", "aria-selected": String(stage.name === main), title: stage.about,
      onclick: () => this.choose(stage.name),
    }, el("i", {}, String(i + 1)), stage.name)));
    const inner = this.stages.filter((s) => s.name.startsWith(`${main}:`));
    this.step.hidden = inner.length === 0;
    this.step.replaceChildren(
      el("option", { value: main }, "all steps"),
      ...inner.map((s) => el("option", { value: s.name, selected: s.name === this.chosen }, `after ${s.name.slice(main.length + 1)}`)));
    const about = this.stages.find((s) => s.name === this.chosen)?.about ?? "";
    this.about.textContent = about && `${about[0].toUpperCase()}${about.slice(1).replace(/\.$/, "")}.`;
    this.whole.disabled = this.chosen === "module";
    const f = this.app.links?.function(this.app.code);
    this.scope.textContent = code === null || !f ? "Whole module" : shown(f.name);
  }
}

const PART = /(#.*|;.*$)|('(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?)|(\b\d+\b)|(->|\.\.|>>)|(^\s*(?:code|block|line|attempt|module|stream|flow|raw|function)\b)|([^#'"\d\->.]+|.)/gy;

function draw(element: HTMLElement, row: Row): void {
  const code = el("code");
  for (const part of row.text.slice(0, 2000).matchAll(PART)) {
    const kind = ["comment", "string", "number", "mark", "word"][part.slice(1, 6).findIndex((p) => p !== undefined)];
    const text = shown(part[0]);
    code.append(kind ? el("span", { class: kind }, text) : text);
  }
  element.append(code);
}
