// SPDX-License-Identifier: Apache-2.0
// verify: do two code objects of one version mean the same? The oracle of the whole project.
//
// `compare` walks the product of both flow graphs from their entries: pairs of blocks are matched
// by bisimulation, effects are compared by value number in order, handlers, exception state and
// stack shape are part of the state of a pair. It numbers values itself, from the pops and pushes
// of the canonical ops, and shares no code with ir, structure, polish or print, or it would share
// their bugs.
//
//   identical    the instruction streams equal but for metadata (lines, file name, pool order,
//                jump encoding, unreachable code)
//   equivalent   both graphs have the same observable effects in the same order on every path
//   unproven     anything else, with the first place where the proof stops
//
// Nested code objects are compared in pairs as they are met; the verdict is the worst of all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flow/graphs.h"
#include "object/code.h"
#include "object/facts.h"

namespace pellucid::verify {

enum class Status : uint8_t { Identical, Equivalent, Unproven };

enum class Tier : uint8_t { None, Recompiled, Relowered };

// One pair of code objects.
struct CodeVerdict {
  Status status = Status::Unproven;
  object::CodeId code;    // of a
  std::string path;       // "<module>/f/<lambda>"
  std::string reason;     // empty unless unproven
  uint32_t offset_a = 0;  // byte offsets of the first place of difference
  uint32_t offset_b = 0;
};

struct Verdict {
  Status status = Status::Unproven;
  Tier tier = Tier::None;
  std::vector<CodeVerdict> codes;  // in the order they are met, the roots first

  const CodeVerdict* first_unproven() const {
    for (const CodeVerdict& code : codes) {
      if (code.status == Status::Unproven) return &code;
    }
    return nullptr;
  }
};

// What may differ. Names and CO_NESTED only between the roots; in nested code qualified names may
// then lack what the root's lacks. Future flags and temporaries may differ in nested code too.
struct Options {
  bool ignore_nested_flag = false;  // CO_NESTED, where a function left its context
  bool ignore_qualname = false;
  bool ignore_future_flags = false;
  bool ignore_name = false;  // a name that is no identifier was renamed
  // b's own locals (temporaries) may keep objects longer than a does, and a's may be missing.
  bool extra_locals = false;
  // b will run with a's opaque constants bound to globals of their names.
  bool bound_globals = false;
  // What is assumed of the root pair, and of those that it names (object/facts.h). With facts, b
  // may hold nothing longer than a.
  object::Facts facts;
  // Walk the graphs even where they are identical (for tests).
  bool thorough = false;
};

Verdict compare(const object::Module& a, object::CodeId code_a, const object::Module& b,
                object::CodeId code_b, const Options& options = {});

// The relowered tier: A's graphs are those that the tree was made from, B is the tree, lowered
// (lower/lower.h). It is never `identical`, since nobody has seen its text compiled.
struct Lowered;
Verdict compare(flow::Graphs& a, object::CodeId code_a, const Lowered& b,
                const Options& options = {});

}  // namespace pellucid::verify
