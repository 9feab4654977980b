// SPDX-License-Identifier: Apache-2.0
// The parts of the page that need no browser: `npm test`.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const src = join(dirname(fileURLToPath(import.meta.url)), "../src");

async function load(name) {
  const made = await build({ entryPoints: [join(src, name)], bundle: true, write: false, format: "esm" });
  return import(`data:text/javascript;base64,${Buffer.from(made.outputFiles[0].text).toString("base64")}`);
}

/** Numbers that look random and are the same in every run. */
function* numbers(seed) {
  for (let x = seed; ; yield x / 2 ** 31) x = (x * 1103515245 + 12345) % 2 ** 31;
}

test("no two blocks of a graph overlap, and all edges but those of loops go down", async () => {
  const { layOut } = await load("layout.ts");
  for (let seed = 1; seed <= 60; seed++) {
    const next = numbers(seed);
    const random = () => next.next().value;
    const n = 1 + Math.floor(random() * 40);
    const boxes = Array.from({ length: n }, () => ({ width: 40 + random() * 200, height: 20 + random() * 150 }));
    const edges = Array.from({ length: n * 2 }, () => (
      { from: Math.floor(random() * n), to: Math.floor(random() * n) }));
    const placed = layOut(boxes, edges);
    assert.deepEqual(placed, layOut(boxes, edges));
    placed.boxes.forEach((a, i) => {
      assert.ok(a.x - boxes[i].width / 2 >= -0.01 && a.x + boxes[i].width / 2 <= placed.width);
      for (let j = 0; j < i; j++) {
        const b = placed.boxes[j];
        const aside = Math.abs(a.x - b.x) >= (boxes[i].width + boxes[j].width) / 2 - 0.01;
        const over = a.y + boxes[i].height <= b.y || b.y + boxes[j].height <= a.y;
        assert.ok(aside || over, `seed ${seed}: ${i} and ${j}`);
      }
    });
    placed.edges.forEach(({ points, back }) => {
      assert.ok(points.length >= 2);
      if (!back) assert.ok(points[0][1] < points[points.length - 1][1], `seed ${seed}`);
    });
  }
});

test("a chain of a thousand blocks is laid out in less than a second", async () => {
  const { layOut } = await load("layout.ts");
  const boxes = Array.from({ length: 1000 }, () => ({ width: 100, height: 60 }));
  const edges = boxes.slice(1).flatMap((_, i) => [{ from: i, to: i + 1 }, { from: i, to: Math.min(999, i + 3) }]);
  const start = performance.now();
  layOut(boxes, edges);
  assert.ok(performance.now() - start < 1000);
});

test("tokens are the whole line, and strings end where they end", async () => {
  const { tokens, openStrings } = await load("python.ts");
  const lines = [
    "def f(x, *, y: int = 0x1f) -> None:  # why", '    """Several', "    lines # of text", '    """', "    return f'{x!r}' + b\"\\\"\" @ 1.5e-3j",
    "@decorated.name", "match x:", "match = 1", "    case [a, *_] if a:", "type X = int", "type(x)", "é = 'unclosed", "x = '''a", "b''' + c",
  ];
  const opens = openStrings(lines);
  const kinds = lines.map((line, i) => {
    const found = tokens(line, opens[i]).tokens;
    assert.equal(found.reduce((sum, [, length]) => sum + length, 0), line.length, line);
    let at = 0;
    return found.map(([kind, length]) => [kind, line.slice(at, (at += length))]).filter(([kind]) => kind);
  });
  assert.deepEqual(kinds[0], [["word", "def"], ["name", "f"], ["number", "0x1f"], ["word", "None"], ["comment", "# why"]]);
  assert.deepEqual(kinds[2], [["string", "    lines # of text"]]);
  assert.deepEqual(kinds[4], [["word", "return"], ["string", "f'{x!r}'"], ["string", 'b"\\""'], ["number", "1.5e-3j"]]);
  assert.deepEqual(kinds[5], [["call", "@decorated.name"]]);
  assert.deepEqual(kinds[6][0], ["word", "match"]);
  assert.deepEqual(kinds[7], [["number", "1"]]);
  assert.deepEqual(kinds[10], [["call", "type"]]);
  assert.deepEqual(kinds[13], [["string", "b'''"]]);
});

test("what a reader would not see is escaped", async () => {
  const { shown } = await load("dom.ts");
  assert.equal(shown("plain é 名 \t"), "plain é 名 \t");
  assert.equal(shown("a\u202eb\u200bc\x1b"), "a\\u202eb\\u200bc\\x1b");
  assert.equal(shown("\ud800"), "\\ud800");
});

test("bytes are read from hexadecimal digits and base64", async () => {
  const { bytesOf } = await load("input.ts");
  const bytes = Uint8Array.from({ length: 40 }, (_, i) => i * 6);
  assert.deepEqual(bytesOf(Buffer.from(bytes).toString("hex")), bytes);
  assert.deepEqual(bytesOf(Buffer.from(bytes).toString("base64")), bytes);
  assert.equal(bytesOf("too short"), null);
  assert.equal(bytesOf("neither nor, this is a sentence"), null);
});

test("an address holds a file, and a damaged one is an error", async () => {
  const { anchorOf, fromAnchor } = await load("input.ts");
  const bytes = new TextEncoder().encode("print('hello')\n".repeat(20));
  const anchor = await anchorOf({ name: "a&b=c #.pyc", bytes }, 7, "graph");
  const found = await fromAnchor(`#${anchor}`);
  assert.deepEqual(found, { given: { name: "a&b=c #.pyc", bytes }, line: 7, view: "graph" });
  assert.equal(await fromAnchor("#elsewhere"), null);
  await assert.rejects(fromAnchor(`#${anchor.slice(0, -5)}`));
});
