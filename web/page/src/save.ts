// SPDX-License-Identifier: Apache-2.0
// What a reader takes away: one source, or all of them with their verdicts as a zip archive.
import type { App } from "./app.ts";
import { el } from "./dom.ts";
import { standingOfModule } from "./state.ts";
import { makeZip, type ZipEntry } from "./zip.ts";

export function saveBlob(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

export function saveSource(app: App): void {
  if (!app.summary || !app.current) return;
  const name = app.current.path.slice(app.current.path.lastIndexOf("/") + 1);
  saveBlob(new Blob([app.summary.text], { type: "text/x-python" }), name);
}

/** Saves all sources, and `pellucid.json` with what is known of each module. */
export async function saveZip(app: App): Promise<void> {
  const encoder = new TextEncoder();
  const entries: ZipEntry[] = [];
  const taken = new Map([["pellucid.json", 1]]);
  const report = app.modules.map((module) => {
    const path = freePath(module.path, taken);
    if (module.summary) entries.push({ path, data: encoder.encode(module.summary.text) });
    return {
      module: module.name,
      source: module.summary ? path : null,
      standing: standingOfModule(module).word,
      python: module.summary?.python ?? null,
      verdict: module.summary?.verdict ?? null,
      error: module.failure?.reason ?? null,
      functions: (module.summary?.functions ?? []).map(({ name, path: place, firstLine, verdict, reason }) => (
        { name, path: place, firstLine, verdict, reason })),
      diagnostics: module.summary?.diagnostics ?? [],
      remarks: module.summary?.remarks ?? [],
    };
  });
  const about = { pellucid: app.client.version, files: app.given.map((g) => g.name), modules: report };
  entries.push({ path: "pellucid.json", data: encoder.encode(`${JSON.stringify(about, null, 1)}\n`) });
  const name = (app.given[0]?.name ?? "source").replace(/^.*\//, "").replace(/\.[^.]*$/, "");
  saveBlob(await makeZip(entries), `${name}-source.zip`);
}

/** More of a path is cut: with the name of a file of several in front, zip archives may hold no more. */
const LONGEST = 20_000;

/**
 * Returns a path that leads nowhere but into the archive, and that no other entry has. `taken` holds
 * the paths of the others, each with how many wanted it.
 */
export function freePath(path: string, taken: Map<string, number>): string {
  const parts = path.slice(-LONGEST).split(/[/\\]/).filter((part) => part && part !== "." && part !== "..");
  const plain = parts.join("/") || "module.py";
  let n = taken.get(plain) ?? 0;
  let free = plain;
  // From the last number on: equal paths would cost their number squared.
  while (taken.has(free)) free = plain.replace(/(\.py)?$/, (end) => `~${++n}${end}`);
  taken.set(plain, Math.max(n, 1));
  taken.set(free, Math.max(taken.get(free) ?? 0, 1));
  return free;
}
