// SPDX-License-Identifier: Apache-2.0
// Builds the page: one HTML file that holds everything, for a server as for a folder.
//
//   node build.mjs PACKAGE OUT.html
//
// PACKAGE is the folder of the npm package, built: pellucid.mjs, core.mjs, pellucid.wasm.
//
// The script and the style are in the page, and its policy names them by their hashes: nothing else
// may run, and nothing may be fetched. The decompiler and its worker are packed text at the end, so
// that the page is drawn before they have arrived.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [from, out] = process.argv.slice(2);
if (!out) {
  console.error("usage: node build.mjs PACKAGE OUT.html");
  process.exit(2);
}

// The sources import the types of the npm package; what runs is the package that was built.
const joined = {
  name: "joined",
  setup({ onResolve }) {
    onResolve({ filter: /npm\/pellucid\.js$/ }, () => ({ path: resolve(from, "pellucid.mjs") }));
  },
};

async function bundle(entry) {
  const made = await build({
    entryPoints: [join(here, "src", entry)],
    bundle: true, write: false, minify: true, format: "iife", target: "es2022",
    legalComments: "none", logLevel: "warning", charset: "utf8", plugins: [joined],
    define: { "import.meta.url": '"file:///"', "process": "undefined" },
  });
  return made.outputFiles[0].text;
}

const style = (await build({
  entryPoints: [join(here, "src/page.css")], write: false, minify: true, charset: "utf8",
})).outputFiles[0].text.trim();
const script = (await bundle("main.ts")).trim();
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const packed = (data) => gzipSync(data, { level: 9 }).toString("base64");
const parts = {
  policy: [
    "default-src 'none'",
    `script-src ${hash(script)} 'wasm-unsafe-eval'`,
    `style-src ${hash(style)}`,
    "worker-src blob:", "base-uri 'none'", "form-action 'none'",
  ].join("; "),
  style,
  script,
  worker: packed(await bundle("worker.ts")),
  core: packed(readFileSync(join(from, "pellucid.wasm"))),
};
const page = readFileSync(join(here, "index.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, page);
const kb = (text) => `${(text.length / 1000).toFixed(0)} kB`;
console.log(`${out}: ${kb(page)} (script ${kb(script)}, style ${kb(style)}, worker ${kb(parts.worker)}, core ${kb(parts.core)})`);
