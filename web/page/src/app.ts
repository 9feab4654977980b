// SPDX-License-Identifier: Apache-2.0
// The page's one place of truth: what is open, what is shown, what is marked. Panes are told of
// changes, and change nothing themselves.
import type { Decompilation } from "../../npm/pellucid";
import { CallError, Client, LATER, NOW } from "./client.ts";
import { Links, NOTHING, type Linked } from "./link.ts";
import type { Module, Summary } from "./state.ts";
import type { Failure } from "./wire.ts";

/** A part of the page. Each method is called when what it is named for has changed. */
export interface Pane {
  /** The list of modules, or how far one of them is. */
  modules?(): void;
  /** The module that is shown. */
  module?(): void;
  /** The function that is looked at. */
  code?(): void;
  /** What is marked. `reveal`: scroll to it, but in the pane that it came from. */
  marks?(reveal: boolean, from: Pane | null): void;
  /** The tab that is in front. */
  view?(): void;
  /** Whether the decompiler is there, or works. */
  core?(): void;
}

export interface Given {
  name: string;
  bytes: Uint8Array;
}

export type View = "files" | "source" | "bytecode" | "graph" | "stages" | "hidden";

/** A module of an archive may take so long, in milliseconds; one that is looked at, longer. */
const BACKGROUND_LIMIT = 60_000;

export class App {
  readonly client: Client = new Client(() => this.coreChanged());
  panes: Pane[] = [];
  /** What was given: its names, and the bytes of the first. */
  given: Given[] = [];
  modules: Module[] = [];
  current: Module | null = null;
  result: Decompilation | null = null;
  lines: string[] = [];
  links: Links | null = null;
  /** The number of the code object that is looked at. */
  code = 0;
  hover: Linked = NOTHING;
  pin: Linked = NOTHING;
  /** The tab in front: of the right side, and of all on a narrow screen. */
  view: View = "bytecode";
  problem: { title: string; text: string } | null = null;
  /** What is done for a reader who waits, and since when. */
  busy: { what: string; since: number } | null = null;
  onProblem: () => void = () => {};
  private turn = 0;

  tell(what: keyof Pane, ...args: unknown[]): void {
    for (const pane of this.panes) (pane[what] as ((...a: unknown[]) => void) | undefined)?.apply(pane, args);
  }

  /** The decompiler is there, or never will be. */
  private coreChanged(): void {
    if (this.client.failure) this.complainOfStart();
    this.tell("core");
  }

  private complainOfStart(): void {
    this.complain("The decompiler cannot start", `${this.client.failure!.reason}. Reload the page, or use a current browser`);
  }

  complain(title: string, failure: Failure | string): void {
    const text = typeof failure === "string" ? failure : failure.reason;
    const at = typeof failure !== "string" && failure.offset > 0 && !text.includes("at byte");
    this.problem = { title, text: at ? `${text}, at byte 0x${(failure as Failure).offset.toString(16)}` : text };
    this.onProblem();
  }

  /** Opens files in place of what is open. Returns whether there is a module in them. */
  async open(given: Given[]): Promise<boolean> {
    this.close();
    const { turn } = this;
    this.given = given;
    let first: Module | undefined;
    this.setBusy(`Opening ${given.length === 1 ? given[0].name : `${given.length} files`}`);
    for (const file of given) {
      try {
        const opened = await this.client.open(file.bytes, file.name);
        if (turn !== this.turn) return false;
        const folder = given.length > 1 ? folderOf(file.name, opened.kind) : "";
        const before = this.modules.length;
        for (const member of opened.members) {
          this.modules.push({
            place: { input: opened.input, index: member.index },
            name: member.name, path: folder + member.path,
            progress: "waiting", summary: null, failure: null, milliseconds: 0,
          });
        }
        if (opened.kind === "program") first ??= scriptOf(this.modules.slice(before));
        if (!opened.members.length) this.complain(file.name, "holds no Python bytecode");
      } catch (error) {
        if (turn !== this.turn) return false;
        // No file is at fault then, and the problem has been told.
        if (this.client.failure) break;
        this.complain(file.name, failureOf(error));
      }
    }
    this.setBusy(null);
    if (!this.modules.length) this.given = [];
    this.tell("modules");
    if (this.modules.length) {
      await this.show(first ?? this.modules[0]);
      if (turn !== this.turn) return false;
      if (this.modules.length === 1 && !this.result) this.giveUp();
      else void this.work(turn);
    }
    return this.modules.length > 0;
  }

  /** Opens code that was found inside the module that is shown, below that module. */
  async add(bytes: Uint8Array, number: number): Promise<void> {
    const { turn, current } = this;
    const path = current!.path.replace(/(\.py)?$/, `.${number}.py`);
    let module = this.modules.find((each) => each.path === path);
    if (!module) {
      const { input } = await this.client.open(bytes, path);
      if (turn !== this.turn) return;
      module = { place: { input, index: 0 }, name: path, path, progress: "waiting", summary: null, failure: null, milliseconds: 0 };
      this.modules.splice(this.modules.indexOf(current!) + 1, 0, module);
      this.tell("modules");
    }
    await this.show(module);
  }

  /** The only module could not be read: says so, with nothing open. */
  private giveUp(): void {
    const { name, failure } = this.modules[0];
    this.close();
    if (failure && failure.code !== "cancelled" && !this.client.failure) this.complain(name, failure);
  }

  close(): void {
    this.turn++;
    this.client.reset();
    this.given = [];
    this.modules = [];
    this.problem = null;
    if (this.client.failure) this.complainOfStart();
    else this.onProblem();
    this.setBusy(null);
    this.leave(null);
    this.tell("modules");
  }

  private leave(next: Module | null): void {
    this.current = next;
    this.result = null;
    this.links = null;
    this.lines = [];
    this.code = 0;
    this.hover = this.pin = NOTHING;
    this.tell("module");
  }

  /** Shows a module; decompiles it first where its links are not at hand. */
  async show(module: Module, line = 0): Promise<void> {
    if (this.current === module && this.result) {
      if (line) this.goTo(line);
      return;
    }
    this.leave(module);
    if (module.summary) {
      this.lines = linesOf(module.summary.text);
      this.tell("module");
    }
    this.setBusy(`Decompiling and proving ${module.path}`);
    const result = await this.decompile(module, NOW);
    if (this.current !== module) return;
    this.setBusy(null);
    if (result) {
      this.result = result;
      this.lines = linesOf(result.text);
      this.links = new Links(result, this.lines.length);
      this.code = result.functions[0]?.code ?? 0;
    }
    this.tell("module");
    if (line) this.goTo(line);
  }

  private async decompile(module: Module, rank: number): Promise<Decompilation | null> {
    module.progress = "working";
    this.tell("modules");
    const start = performance.now();
    // What the reader asked for meanwhile is there: the same, from the other worker.
    const isOvertaken = () => rank === LATER && module.progress === "done";
    try {
      const limit = rank === NOW ? undefined : BACKGROUND_LIMIT;
      const args = { ...module.place, verify: true };
      const result = await this.client.call("decompile", args, rank, limit);
      if (isOvertaken()) return null;
      module.milliseconds = performance.now() - start;
      const { lines: _, ...summary } = result;
      module.summary = summary;
      module.progress = "done";
      module.failure = null;
      return result;
    } catch (error) {
      if (isOvertaken()) return null;
      module.milliseconds = performance.now() - start;
      const failure = failureOf(error);
      module.progress = failure.code === "cancelled" ? "cancelled" : "failed";
      module.failure = failure;
      return null;
    } finally {
      this.tell("modules");
    }
  }

  /** Decompiles the other modules, one after the other. */
  private async work(turn: number): Promise<void> {
    for (const module of this.modules) {
      if (turn !== this.turn) return;
      if (module.progress === "waiting") await this.decompile(module, LATER);
    }
  }

  /** Ends what is being done: what the reader waits for, or else the rest of the archive. */
  cancel(): void {
    const waiting = this.busy !== null;
    const opening = waiting && this.modules.length === 0;
    if (!waiting) {
      for (const module of this.modules) if (module.progress === "waiting") module.progress = "cancelled";
    }
    this.client.stop((job) => (waiting ? job.rank === NOW : job.rank === LATER));
    this.setBusy(null);
    if (opening) this.close();
    else this.tell("modules");
  }

  /** Takes up what was cancelled. */
  resume(): void {
    for (const module of this.modules) if (module.progress === "cancelled") module.progress = "waiting";
    this.tell("modules");
    void this.work(this.turn);
  }

  get waiting(): number {
    return this.modules.filter((m) => m.progress === "waiting" || m.progress === "working").length;
  }

  private setBusy(what: string | null): void {
    this.busy = what ? { what, since: performance.now() } : null;
    this.tell("core");
  }

  // --- What is marked ---------------------------------------------------------------------------

  setHover(linked: Linked, from: Pane): void {
    if (this.hover.size === 0 && linked.size === 0) return;
    this.hover = linked;
    this.tell("marks", false, from);
  }

  setPin(linked: Linked, from: Pane | null, reveal = true): void {
    this.pin = linked;
    const first = linked.values().next().value;
    if (first && first.code !== this.code) this.look(first.code, false);
    this.tell("marks", reveal, from);
  }

  /** Looks at a function: its graph, its stages. With `go`, its lines come into view. */
  look(code: number, go: boolean): void {
    this.code = code;
    const f = this.links?.function(code);
    if (go && f) this.markLine(f.firstLine);
    this.tell("code");
  }

  /** Brings a line of the text into view, and marks it. */
  goTo(line: number): void {
    const f = this.links?.functionAt(line);
    if (f && f.code !== this.code) this.look(f.code, false);
    this.markLine(line);
  }

  private markLine(line: number): void {
    this.pin = this.links?.ofLine(line) ?? NOTHING;
    this.tell("marks", true, null);
    this.onLine(line);
  }
  onLine: (line: number) => void = () => {};

  setView(view: View): void {
    this.view = view;
    this.tell("view");
  }

  /** The summary of the module that is shown. */
  get summary(): Summary | null {
    return this.result ?? this.current?.summary ?? null;
  }
}

/** Where the modules of one of several files go: an archive is a folder, a module stays in its own. */
function folderOf(name: string, kind: string): string {
  return kind === "code" ? name.slice(0, name.lastIndexOf("/") + 1) : `${name}/`;
}

/** The script of a program: PyInstaller puts it after what starts it, and before all archives. */
function scriptOf(modules: Module[]): Module | undefined {
  return modules.filter((module) => !module.name.includes("/")).pop();
}

export function failureOf(error: unknown): Failure {
  if (error instanceof CallError) return error.failure;
  return { reason: error instanceof Error ? error.message : String(error), offset: -1, code: "crash" };
}

export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}
