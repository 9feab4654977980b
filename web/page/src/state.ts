// SPDX-License-Identifier: Apache-2.0
// What the page knows: the modules of what was dropped, and what is said of a verdict.
import type { Decompilation, FunctionVerdict, Status } from "../../npm/pellucid";
import type { Failure, Place } from "./wire.ts";

export type Progress = "waiting" | "working" | "done" | "failed" | "cancelled";

/** What is kept of every module: its text and verdicts, but no links. */
export type Summary = Omit<Decompilation, "lines">;

export interface Module {
  place: Place;
  /** Its name in its file, for people. */
  name: string;
  /** Where its source goes in the tree and in the archive. */
  path: string;
  progress: Progress;
  summary: Summary | null;
  failure: Failure | null;
  milliseconds: number;
}

/** How a module or a function stands: a class, a sign and a word for it. */
export interface Standing {
  kind: "good" | "warn" | "bad" | "none" | "busy";
  sign: string;
  word: string;
}

const STANDINGS = {
  identical: { kind: "good", sign: "✓", word: "identical" },
  equivalent: { kind: "good", sign: "✓", word: "equivalent" },
  unproven: { kind: "warn", sign: "?", word: "not proven" },
  refused: { kind: "bad", sign: "✕", word: "not recovered" },
  unstructured: { kind: "warn", sign: "~", word: "no structure" },
  failed: { kind: "bad", sign: "✕", word: "cannot be read" },
  waiting: { kind: "none", sign: "·", word: "waiting" },
  working: { kind: "busy", sign: "◌", word: "at work" },
  cancelled: { kind: "none", sign: "–", word: "cancelled" },
  none: { kind: "none", sign: "·", word: "no verdict" },
} as const satisfies Record<string, Standing>;

const MEANINGS: Record<Status, string> = {
  identical: "compiles to the same instructions again",
  equivalent: "has the same effects in the same order on every path",
  unproven: "is not proven",
};

function ofStatus(status: Status | null): Standing {
  return STANDINGS[status ?? "none"];
}

export function standingOfModule(module: Module): Standing {
  if (module.progress !== "done") return STANDINGS[module.progress];
  const summary = module.summary!;
  if (summary.diagnostics.some((d) => d.severity === "refused")) return STANDINGS.refused;
  return ofStatus(summary.verdict);
}

export function standingOf(f: FunctionVerdict, summary: Summary): Standing {
  const found = summary.diagnostics.filter((d) => d.code === f.code);
  if (found.some((d) => d.severity === "refused")) return STANDINGS.refused;
  if (f.verdict === "unproven" || f.verdict === null) {
    if (found.length) return STANDINGS.unstructured;
  }
  return ofStatus(f.verdict);
}

/** A sentence about a function, and why it is unproven or was not recovered. */
export function sentenceOf(f: FunctionVerdict, summary: Summary): { text: string; why: string } {
  const found = summary.diagnostics.filter((d) => d.code === f.code);
  const why = [
    ...(f.reason ? [f.reason] : []),
    ...found.map((d) => `${d.message}${d.offset ? `, at byte 0x${d.offset.toString(16)}` : ""}`),
  ].join("; ");
  if (found.some((d) => d.severity === "refused")) return { text: "was not recovered in full", why };
  if (f.verdict === null) return { text: "has no separate verdict", why };
  return { text: MEANINGS[f.verdict], why };
}

/** How many code objects have a verdict, and how many of these are proven. */
export function proven(functions: FunctionVerdict[]): { proven: number; all: number } {
  const judged = functions.filter((f) => f.verdict !== null);
  return { proven: judged.filter((f) => f.verdict !== "unproven").length, all: judged.length };
}

/** A line about a failure. */
export function words(failure: Failure): string {
  const inFile = failure.offset > 0 && !failure.reason.includes("at byte");
  return inFile ? `${failure.reason}, at byte 0x${failure.offset.toString(16)}` : failure.reason;
}
