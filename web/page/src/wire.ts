// SPDX-License-Identifier: Apache-2.0
// What the page and its worker say to each other. All of it is plain data.
import type {
  ArchiveKind, Decompilation, Disassembly, Dump, Graph, Inspection, Member, Stage,
} from "../../npm/pellucid";

/** A module of an input that the worker holds: the input's number, and its place there. */
export interface Place {
  input: number;
  index: number;
}

export interface Opened {
  input: number;
  kind: ArchiveKind;
  members: Member[];
}

/** The calls, their arguments and what they return. */
export interface Calls {
  open(args: { input: number; bytes: Uint8Array; name: string }): Opened;
  /** Frees what is held of an input. */
  close(args: { input: number }): void;
  read(args: Place): Uint8Array;
  decompile(args: Place & { verify: boolean }): Decompilation;
  dis(args: Place): Disassembly;
  graph(args: Place & { code: number }): Graph;
  dump(args: Place & { stage: string; code: number | null }): Dump;
  inspect(args: Place): Inspection;
  stages(args: object): Stage[];
}

export type Method = keyof Calls;

export interface Request {
  id: number;
  method: Method;
  args: Parameters<Calls[Method]>[0];
}

export interface Failure {
  /** What is wrong, a sentence without its full stop. */
  reason: string;
  /** The byte in the file, if there is one. */
  offset: number;
  code: string;
}

export type Answer =
  | { id: number; result: unknown }
  | { id: number; failure: Failure }
  | { ready: { version: string; versions: string[] } }
  | { broken: Failure };
