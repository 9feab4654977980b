// SPDX-License-Identifier: Apache-2.0
// The keys of the page. Those inside a list are the list's own (list.ts).
import type { App, View } from "./app.ts";
import type { FilesPane } from "./files.ts";
import type { OutlinePane } from "./outline.ts";
import type { Search } from "./search.ts";
import { NOTHING } from "./link.ts";

interface Parts {
  act: Record<string, () => void>;
  search: Search;
  outline: OutlinePane;
  files: FilesPane;
  views: View[];
}

export function keys(app: App, parts: Parts): void {
  const { act, search, outline, files, views } = parts;
  const step = (by: number) => {
    const modules = files.inOrder();
    const next = modules[modules.indexOf(app.current!) + by];
    if (next) void app.show(next).then(() => files.reveal());
  };
  const go = (view: View) => {
    app.setView(view);
    const focus: Partial<Record<View, string>> = {
      files: document.documentElement.classList.contains("many") ? "files-list" : "outline-list",
      source: "source-list", bytecode: "bytecode-list", stages: "stages-list",
    };
    const inside = focus[view] ?? "";
    (document.getElementById(inside) ?? document.querySelector<HTMLElement>(`#${view} [tabindex="0"]`))?.focus();
  };
  const table: Record<string, () => void> = {
    "/": () => search.focus(),
    j: () => outline.step(1, false),
    k: () => outline.step(-1, false),
    n: () => outline.step(1, true),
    p: () => outline.step(-1, true),
    "]": () => step(1),
    "[": () => step(-1),
    o: act.open,
    s: act.save,
    z: act.zip,
    y: act.copy,
    l: act.link,
    t: act.theme,
    "?": act.keys,
    Escape: () => app.setPin(NOTHING, null, false),
  };
  views.forEach((view, i) => (table[String(i + 1)] = () => go(view)));
  addEventListener("keydown", (event) => {
    const target = event.target as Element;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      return search.focus();
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.closest("input, select, textarea, dialog[open]")) return;
    const found = table[event.key];
    if (!found || (!app.modules.length && !"ot?".includes(event.key))) return;
    event.preventDefault();
    found();
  });
  for (const list of document.querySelectorAll<HTMLElement>("[role=tablist]")) list.addEventListener("keydown", tabs);
}

/** The arrows go from tab to tab. */
function tabs(event: KeyboardEvent): void {
  const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (!by) return;
  const all = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>("[role=tab]")];
  const next = all[(all.indexOf(event.target as HTMLElement) + by + all.length) % all.length];
  next?.focus();
  next?.click();
  event.preventDefault();
}
