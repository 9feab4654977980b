// SPDX-License-Identifier: Apache-2.0
// node decompile.mjs FOLDER-OF-THE-PACKAGE < PATHS: a line of JSON a file, as `pellucid decompile --json`
// writes them, with the milliseconds that it took; the first line is about the start.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { join, resolve } from "node:path";

const before = performance.now();
const { load } = await import(pathToFileURL(join(resolve(process.argv[2]), "pellucid.mjs")));
const pellucid = await load();
console.log(JSON.stringify({ start: performance.now() - before, version: pellucid.version }));

let input = "";
for await (const piece of process.stdin) input += piece;
for (const file of input.split("\n").filter(Boolean)) {
  const bytes = await readFile(file);
  const begin = performance.now();
  let row;
  try {
    const made = await pellucid.decompile(bytes, { file });
    row = {
      python: made.python,
      source: made.text,
      verdict: made.verdict,
      reason: made.reason,
      diagnostics: made.diagnostics.map((each) => [
        each.name,
        each.offset,
        each.message,
        each.severity === "refused",
      ]),
      lines: made.lines,
      functions: made.functions.length,
    };
  } catch (error) {
    row = { error: `${error.reason}`, code: error.code };
  }
  console.log(JSON.stringify({ file, took: performance.now() - begin, ...row }));
}
