// SPDX-License-Identifier: Apache-2.0
// The modules of what was dropped as a tree, each with how it stands, and how far the work is.
import type { App, Pane } from "./app.ts";
import { count, el, rowOfNames, shown } from "./dom.ts";
import { List, type Row } from "./list.ts";
import { proven, standingOfModule, type Module } from "./state.ts";

interface FolderRow extends Row { kind: "folder"; path: string; depth: number; modules: Module[]; open: boolean }
interface ModuleRow extends Row { kind: "module"; depth: number; module: Module }
type TreeRow = FolderRow | ModuleRow;

interface Node {
  folders: Map<string, Node>;
  modules: Module[];
  /** Those in its folders too. */
  all: Module[];
}

/** Up to so many modules, all folders are open at first. */
const FEW = 80;
/** What is in more folders than these is not shown. */
const DEEPEST = 200;

export class FilesPane implements Pane {
  readonly list: List<TreeRow>;
  private readonly sum = el("p", { class: "sum", role: "status" });
  private readonly bar = el("progress", { "aria-label": "Modules that are done", max: 1, value: 0 });
  private readonly cancel = el("button", { class: "toggle" }, "Cancel");
  private readonly only = el("button", { class: "toggle", "aria-pressed": "false", title: "Only modules of which something is not proven" }, "not proven");
  private readonly closed = new Set<string>();
  private known: Module[] = [];
  private frame = 0;

  constructor(private readonly app: App, section: HTMLElement) {
    this.list = new List<TreeRow>("files-list", {
      label: "Modules",
      draw: (element, row) => this.draw(element, row),
      onChoose: (i) => this.choose(this.list.rows[i]),
      empty: "Everything is proven.",
      height: rowOfNames,
    });
    this.only.addEventListener("click", () => {
      this.only.setAttribute("aria-pressed", String(this.only.ariaPressed !== "true"));
      this.refresh();
    });
    this.cancel.addEventListener("click", () => (app.waiting ? app.cancel() : app.resume()));
    section.querySelector("header")!.append(el("span", { class: "grow" }), this.only);
    section.append(this.list.element, el("div", { class: "work" }, this.bar, el("div", { class: "line" }, this.sum, this.cancel)));
  }

  modules(): void {
    // Many may change in one moment: one drawing for all.
    if (!this.frame) this.frame = requestAnimationFrame(() => this.refresh());
  }

  module(): void {
    this.openAround();
    this.modules();
  }

  private refresh(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const { modules } = this.app;
    document.documentElement.classList.toggle("many", modules.length > 1);
    const isNew = modules !== this.known && modules.length > 0;
    if (isNew) {
      this.known = modules;
      this.closed.clear();
      if (modules.length > FEW) for (const path of folders(modules)) this.closed.add(path);
      this.openAround();
    }
    const asked = this.only.ariaPressed === "true"
      ? modules.filter((m) => ["warn", "bad"].includes(standingOfModule(m).kind)) : modules;
    const active = this.list.active;
    const top = this.list.element.scrollTop;
    this.list.show(rowsOf(asked, this.closed));
    this.list.active = Math.min(active, this.list.rows.length - 1);
    this.list.element.scrollTop = top;
    const at = this.list.rows.findIndex((row) => row.kind === "module" && row.module === this.app.current);
    this.list.mark(at < 0 ? new Map() : new Map([[at, "pin"]]));
    if (isNew) this.list.activate(at);
    this.say();
  }

  private openAround(): void {
    const parts = this.app.current?.path.split("/") ?? [];
    for (let i = 1; i < parts.length; i++) this.closed.delete(`${parts.slice(0, i).join("/")}/`);
  }

  /** All modules, in the order of the tree. */
  inOrder(): Module[] {
    return rowsOf(this.app.modules, new Set()).flatMap((row) => (row.kind === "module" ? [row.module] : []));
  }

  /** Brings the module that is shown into view. */
  reveal(): void {
    this.openAround();
    this.refresh();
    const at = this.list.rows.findIndex((row) => row.kind === "module" && row.module === this.app.current);
    this.list.activate(at);
  }

  private say(): void {
    const { modules, waiting } = this.app;
    const done = modules.filter((m) => m.progress === "done");
    const good = done.filter((m) => standingOfModule(m).kind === "good").length;
    const failed = modules.filter((m) => m.progress === "failed").length;
    const stopped = modules.filter((m) => m.progress === "cancelled").length;
    this.bar.max = modules.length || 1;
    this.bar.value = modules.length - waiting - stopped;
    this.bar.hidden = waiting === 0;
    this.cancel.hidden = waiting === 0 && stopped === 0;
    this.cancel.textContent = waiting ? "Cancel" : "Resume";
    this.sum.textContent = waiting
      ? `${(modules.length - waiting).toLocaleString("en")} of ${count(modules.length, "module")}`
      : [`${good} of ${count(modules.length, "module")} proven`,
        ...(failed ? [`${failed} unreadable`] : []), ...(stopped ? [`${stopped} left`] : [])].join(", ");
  }

  private choose(row: TreeRow | undefined): void {
    if (!row) return;
    if (row.kind === "module") {
      void this.app.show(row.module);
      if (this.app.view === "files") this.app.setView("source");
      return;
    }
    if (!this.closed.delete(row.path)) this.closed.add(row.path);
    this.refresh();
  }

  private draw(element: HTMLElement, row: TreeRow): void {
    element.style.paddingLeft = `${8 + row.depth * 14}px`;
    if (row.kind === "folder") {
      element.classList.add("folder");
      const good = row.modules.filter((m) => standingOfModule(m).kind === "good").length;
      element.setAttribute("aria-expanded", String(row.open));
      element.append(
        el("span", { class: "fold" }, row.open ? "▾" : "▸"),
        el("span", { class: "name" }, shown(row.text)),
        el("span", { class: "soft" }, `${good}/${row.modules.length}`),
      );
      return;
    }
    const { kind, sign, word } = standingOfModule(row.module);
    const summary = row.module.summary;
    const all = summary ? proven(summary.functions) : null;
    element.title = shown(`${row.module.name}: ${row.module.failure?.reason ?? word}`);
    element.append(
      el("b", { class: `sign ${kind}`, "aria-label": word }, sign),
      el("span", { class: "name" }, shown(row.text)),
      all && kind !== "good" ? el("span", { class: "soft" }, `${all.proven}/${all.all}`) : "",
    );
  }
}

/** Returns the folders inside the outermost ones. */
function folders(modules: Module[]): Set<string> {
  const found = new Set<string>();
  for (const { path } of modules) {
    const parts = path.split("/");
    for (let i = 2; i < Math.min(parts.length, DEEPEST + 2); i++) found.add(`${parts.slice(0, i).join("/")}/`);
  }
  return found;
}

function treeOf(modules: Module[]): Node {
  const make = (): Node => ({ folders: new Map(), modules: [], all: [] });
  const root = make();
  for (const module of modules) {
    let node = root;
    for (const part of module.path.split("/").slice(0, -1)) {
      let next = node.folders.get(part);
      if (!next) node.folders.set(part, (next = make()));
      next.all.push(module);
      node = next;
    }
    node.modules.push(module);
  }
  return root;
}

/** Returns the rows of the tree: folders first, each list by name. */
export function rowsOf(modules: Module[], closed: Set<string>): TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (node: Node, depth: number, before: string) => {
    for (const [name, folder] of [...node.folders].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const path = `${before}${name}/`;
      const open = !closed.has(path);
      rows.push({ kind: "folder", path, depth, text: name, modules: folder.all, open });
      if (open && depth < DEEPEST) add(folder, depth + 1, path);
    }
    const named = node.modules.map((module) => ({ module, text: module.path.slice(module.path.lastIndexOf("/") + 1) }));
    for (const { module, text } of named.sort((a, b) => (a.text < b.text ? -1 : 1))) {
      rows.push({ kind: "module", depth, module, text });
    }
  };
  add(treeOf(modules), 0, "");
  return rows;
}
