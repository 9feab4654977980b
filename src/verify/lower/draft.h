// SPDX-License-Identifier: Apache-2.0
// verify::lower: the blocks of a code object under construction -> its flow graph.
#pragma once

#include <cstdint>
#include <vector>

#include "flow/graph.h"
#include "verify/lower/features.h"

namespace pellucid::verify::lower {

using bytecode::Instr;
using bytecode::Op;
using flow::HandlerId;
using Label = flow::BlockId;

// The stack and the handlers where code is emitted.
struct Position {
  uint32_t depth = 0;
  uint32_t exceptions = 0;              // handled ones
  std::vector<HandlerId> regions = {};  // the protecting handlers, innermost last

  HandlerId handler() const { return regions.empty() ? HandlerId() : regions.back(); }
};

struct DraftBlock {
  static constexpr uint32_t kUnknown = 0xffffffffu;

  std::vector<Instr> instrs = {};
  flow::Exit exit = {};
  HandlerId handler = {};
  uint32_t depth = kUnknown;  // on entry
  uint32_t exceptions = 0;    // handled ones, on entry
  bool ended = false;
};

class Draft {
 public:
  Draft() { blocks_.reserve(kUsualBlocks); }

  // Adds a block, which is not placed yet.
  Label add();
  DraftBlock& operator[](Label block) { return blocks_[block.index()]; }
  // Places a block after all others, at this position if none is known. Returns its block.
  DraftBlock& place(Label block, const Position& here);
  // Records that control comes to a block from this position; `live`: unless that is unreachable.
  void enter(Label block, const Position& from, bool live);
  HandlerId add(const flow::Handler& handler);

  // Returns the graph of the blocks that are reached, optimised where that can be observed. The
  // draft is spent.
  flow::Graph finish(object::CodeId code, const Features& features);

 private:
  // The number of blocks that most code objects do not exceed.
  static constexpr size_t kUsualBlocks = 8;

  std::vector<DraftBlock> blocks_;
  std::vector<Label> order_;
  std::vector<flow::Handler> handlers_;
};

}  // namespace pellucid::verify::lower
