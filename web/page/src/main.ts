// SPDX-License-Identifier: Apache-2.0
// The page starts here: it makes the parts, and joins them to the buttons, keys and the address.
import { App, type Given, type Pane, type View } from "./app.ts";
import { BytecodePane } from "./bytecode.ts";
import { fromBase64 } from "./client.ts";
import { byId, el, shown } from "./dom.ts";
import { EXAMPLE } from "./example.ts";
import { FilesPane } from "./files.ts";
import { GraphPane } from "./graph.ts";
import { HiddenPane } from "./hidden.ts";
import { anchorOf, fromAnchor, listen } from "./input.ts";
import { keys } from "./keys.ts";
import { OutlinePane } from "./outline.ts";
import { saveSource, saveZip } from "./save.ts";
import { Search } from "./search.ts";
import { SourcePane } from "./source.ts";
import { StagesPane } from "./stages.ts";
import { startTheme } from "./theme.ts";
import { proven } from "./state.ts";

const VIEWS: View[] = ["files", "source", "bytecode", "graph", "stages", "hidden"];
const root = document.documentElement;
const app = new App();

async function open(given: Given[], line = 0): Promise<void> {
  if (location.hash.includes("z=")) history.replaceState(null, "", location.pathname + location.search);
  root.classList.add("opened");
  if (!(await app.open(given)) && !app.given.length) root.classList.remove("opened");
  else if (line) app.goTo(line);
}

/** The head of the page, and what goes beyond one pane. */
class Frame implements Pane {
  private timer = 0;

  modules(): void {
    const { given } = app;
    const name = given.length === 1 ? given[0].name : given.length ? `${given.length} files` : "";
    byId("file").textContent = shown(name);
    document.title = name ? `${shown(name)} · pellucid` : "pellucid: Python bytecode back to source";
    byId<HTMLButtonElement>("zip").disabled = !app.modules.some((m) => m.summary);
    byId<HTMLButtonElement>("link").disabled = given.length !== 1;
  }

  module(): void {
    const { summary } = app;
    const facts = byId("facts");
    facts.replaceChildren();
    byId<HTMLButtonElement>("copy").disabled = byId<HTMLButtonElement>("save").disabled = !summary;
    if (!summary) return;
    const { proven: good, all } = proven(summary.functions);
    facts.append(el("li", {}, "Python ", el("b", {}, summary.python)));
    // Beside the name of an archive, the sums of one module would seem to be those of the whole.
    if (app.modules.length > 1) return;
    facts.append(
      el("li", { class: good === all ? "good" : "warn" }, el("b", {}, `${good} of ${all}`), " proven"),
      app.result ? el("li", {}, el("b", {}, time(app.current!.milliseconds))) : null as never,
    );
  }

  /** Says what is being done, once it takes longer than a moment. */
  core(): void {
    clearTimeout(this.timer);
    const box = byId("busy");
    if (!app.busy) {
      box.hidden = true;
      return;
    }
    const { what, since } = app.busy;
    const say = () => {
      const seconds = Math.floor((performance.now() - since) / 1000);
      const loading = app.client.isReady ? "" : "Loading the decompiler. ";
      byId("doing").textContent = `${loading}${shown(what)}${seconds >= 2 ? `, ${seconds} s` : ""}`;
      box.hidden = false;
      this.timer = setTimeout(say, 500);
    };
    this.timer = setTimeout(say, box.hidden ? 250 : 0);
  }

  view(): void {
    root.dataset.view = app.view;
    for (const tab of document.querySelectorAll<HTMLElement>("[role=tab][data-view]")) {
      tab.setAttribute("aria-selected", String(tab.dataset.view === app.view));
    }
    // On a wide screen the left side stays: the right side keeps its tab.
    if (app.view !== "files" && app.view !== "source") root.dataset.side = app.view;
    for (const tab of document.querySelectorAll<HTMLElement>("#side [role=tab]")) {
      tab.setAttribute("aria-selected", String(tab.dataset.view === root.dataset.side));
    }
  }
}

function time(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.max(1, Math.round(milliseconds))} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

async function copyLink(): Promise<void> {
  const line = app.pin.values().next().value?.line ?? 0;
  const { given } = app;
  const anchor = given.length === 1 ? await anchorOf(given[0], line, app.view) : null;
  if (app.given !== given) return;
  if (!anchor) return say("This file is too large for a link: packed, it has to be at most 48 kB.");
  history.replaceState(null, "", `#${anchor}`);
  await copy(location.href, "The link holds the file itself, and is copied.", "the link is in the address bar");
}

async function copy(text: string, said: string, instead: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(said);
  } catch {
    say(`The browser does not let the page copy: ${instead}.`);
  }
}

function say(text: string): void {
  const box = byId("status");
  box.textContent = text;
  box.classList.add("on");
  setTimeout(() => box.classList.remove("on"), 4000);
}

function problem(): void {
  const box = byId("problem");
  box.hidden = !app.problem;
  const line = app.problem ? [el("b", {}, shown(app.problem.title)), `: ${shown(app.problem.text)}.`] : [];
  byId("trouble").replaceChildren(...line);
}

function closeFile(): void {
  app.close();
  root.classList.remove("opened", "many");
  history.replaceState(null, "", location.pathname + location.search);
}

/** Opens the file in the address, if there is one. */
async function followAddress(): Promise<void> {
  const { hash } = location;
  const { given } = app;
  try {
    const found = await fromAnchor(hash);
    // What a reader opens in the meantime stays.
    if (!found || app.given !== given) return;
    root.classList.add("opened");
    if (VIEWS.includes(found.view as View)) app.setView(found.view as View);
    if (await app.open([found.given])) {
      if (found.line) app.goTo(found.line);
      history.replaceState(null, "", hash);
    } else if (!app.given.length) {
      root.classList.remove("opened");
    }
  } catch (error) {
    app.complain("The link", (error as Error).message);
  }
}

function start(): void {
  const section = (id: string) => byId(id);
  const source = new SourcePane(app, section("source"));
  const bytecode = new BytecodePane(app, section("bytecode"));
  const outline = new OutlinePane(app, section("outline"));
  const files = new FilesPane(app, section("files"));
  const graph = new GraphPane(app, section("graph"));
  const frame = new Frame();
  app.panes = [frame, files, outline, source, bytecode, graph,
    new StagesPane(app, section("stages")), new HiddenPane(app, section("hidden"))];
  app.onProblem = problem;
  const search = new Search(app, bytecode);
  const theme = startTheme();
  const act: Record<string, () => void> = {
    open: () => byId("choose").click(),
    "open-first": () => byId("choose").click(),
    example: () => void open([{ name: EXAMPLE.name, bytes: fromBase64(EXAMPLE.base64) }]),
    zip: () => void saveZip(app).catch((error: Error) => app.complain("The archive of all sources", error.message)),
    save: () => saveSource(app),
    copy: () => void copy(app.summary?.text ?? "", "The source is copied.", "save the source instead"),
    link: () => void copyLink(),
    theme,
    keys: () => byId<HTMLDialogElement>("help").showModal(),
    shut: () => byId<HTMLDialogElement>("help").close(),
    dismiss: () => { app.problem = null; problem(); },
    cancel: () => app.cancel(),
    home: closeFile,
  };
  for (const button of document.querySelectorAll<HTMLElement>("[data-do]")) {
    button.addEventListener("click", () => act[button.dataset.do!]());
  }
  for (const tab of document.querySelectorAll<HTMLElement>("[role=tab][data-view]")) {
    tab.addEventListener("click", () => app.setView(tab.dataset.view as View));
  }
  keys(app, { act, search, outline, files, views: VIEWS });
  listen(app, (given) => void open(given));
  addEventListener("hashchange", () => void followAddress());
  app.setView("bytecode");
  if (matchMedia("(max-width: 800px)").matches) {
    app.setView("source");
    byId<HTMLInputElement>("search").placeholder = "Search"; // there is no key, nor room for its name
  }
  frame.modules();
  app.client.start();
  root.classList.add("ready");
  void followAddress();
}

start();
