// SPDX-License-Identifier: Apache-2.0
// verify: proves that two code objects of one version behave alike. The project's oracle.
//
// `compare` walks the product of both flow graphs from their entries: pairs of blocks are matched
// by bisimulation, effects are compared by value number in order, handlers, exception state and
// stack shape are part of the state of a pair. It numbers values itself, from the pops and pushes
// of the canonical ops, and shares no code with ir, structure, polish or print, or it would share
// their bugs.
//
//   identical    the instruction streams are equal except for metadata (lines, file name, pool
//                order, jump encoding, unreachable code)
//   equivalent   both graphs have the same observable effects in the same order on every path
//   unproven     anything else, with the first place where the proof stops
//
// Nested code objects are compared in pairs as they are met; the verdict is the worst of all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/graphs.h"
#include "object/code.h"
#include "object/facts.h"

namespace pellucid::verify {

enum class Status : uint8_t { Identical, Equivalent, Unproven };

// How the reason begins where all that is known to differ is the order of variables.
inline constexpr std::string_view kOtherOrder = "the order of variables";

enum class Tier : uint8_t { None, Recompiled, Relowered };

// Byte offsets in A and B between which the proof goes step by step: what holds there holds on
// every path.
using Meetings = std::vector<std::pair<uint32_t, uint32_t>>;

// One pair of code objects.
struct CodeVerdict {
  Status status = Status::Unproven;
  object::CodeId code;    // of a
  std::string path;       // "<module>/f/<lambda>"
  std::string reason;     // empty unless unproven
  uint32_t offset_a = 0;  // byte offsets of the first place of difference
  uint32_t offset_b = 0;
  Meetings meetings;  // with Options::meetings, of what is proven
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

// The differences to accept. Names and CO_NESTED only between the roots; qualified names in nested
// code may then lack the prefix that the root's lacks. Future flags and temporaries also in nested
// code.
struct Options {
  bool ignore_nested_flag = false;  // CO_NESTED, for a function outside its context
  bool ignore_qualname = false;
  bool ignore_future_flags = false;
  bool ignore_name = false;  // a name that is not an identifier was renamed
  // b's own locals (temporaries) may keep objects longer than a does, and a's may be missing.
  bool extra_locals = false;
  // b will run with a's opaque constants bound to globals of their names.
  bool bound_globals = false;
  // Assumptions about the root pair and the pairs that it names (object/facts.h). With facts, b may
  // keep no object longer than a does.
  object::Facts facts;
  // Compare what handles an interruption, too: the handlers of jumps back.
  bool strict = false;
  // Walk the graphs even where they are identical (for tests).
  bool thorough = false;
  // Also return where the graphs meet, which takes a walk even where they are identical.
  bool meetings = false;
};

Verdict compare(const object::Module& a, object::CodeId code_a, const object::Module& b,
                object::CodeId code_b, const Options& options = {});

// The relowered tier: A's graphs are those that the tree was made from, B is the lowered tree
// (lower/lower.h), whose graphs are freed one by one. Never `identical`, since the text was not
// compiled.
struct Lowered;
Verdict compare(flow::Graphs& a, object::CodeId code_a, Lowered& b, const Options& options = {});

}  // namespace pellucid::verify
