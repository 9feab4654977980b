// SPDX-License-Identifier: Apache-2.0
// verify::lower: the blocks of a code object under construction -> its flow graph.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/append.h"
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

  uint32_t first = 0;  // into the instructions of the draft
  uint32_t count = 0;
  flow::Exit exit = {};
  HandlerId handler = {};
  uint32_t depth = kUnknown;  // on entry
  uint32_t exceptions = 0;    // handled ones, on entry
  bool ended = false;
  bool is_rough = false;    // its stores may have to be settled (draft.cpp)
  bool is_reached = false;  // from the entry; known at the end
};

// Returns the constant tuple of these constants.
using TupleOf = std::function<object::ConstId(std::span<const object::ConstId>)>;

class Draft {
 public:
  Draft() {
    blocks_.reserve(kUsualBlocks);
    order_.reserve(kUsualBlocks);
    instrs_.reserve(kUsualInstrs);
  }

  // Adds a block, which is not placed yet.
  Label add();
  DraftBlock& operator[](Label block) { return blocks_[block.index()]; }
  // Places a block after all others, at this position if none is known. Returns its block.
  DraftBlock& place(Label block, const Position& here);
  // Appends an instruction to the block that was placed last, or to the one that is reopened.
  void append(Label block, const Instr& instr) {
    DraftBlock& to = blocks_[block.index()];
    if (instr.op == Op::Swap || instr.op == Op::StoreFast) note_store(to, instr);
    ++to.count;
    append_to(instrs_, instr);
  }
  // Returns the instructions of the block that was placed last.
  std::span<const Instr> code_of(Label block) { return code_of(blocks_[block.index()]); }
  // Takes back the last ones of them.
  void drop(Label block, uint32_t count) {
    blocks_[block.index()].count -= count;
    instrs_.resize(instrs_.size() - count);
  }
  // Opens a block again that has no instruction yet; resume() appends to the one placed last.
  void reopen(Label block);
  void resume(Label last, Label reopened);
  // Records that control comes to a block from this position; `live`: unless that is unreachable.
  void enter(Label block, const Position& from, bool live);
  HandlerId add(const flow::Handler& handler);

  // Returns the graph of the blocks that are reached, optimised where that can be observed. The
  // draft is spent.
  flow::Graph finish(object::CodeId code, const Features& features, const object::Module& module,
                     const TupleOf& tuple_of);

 private:
  // The numbers that most code objects do not exceed.
  static constexpr size_t kUsualBlocks = 8;
  static constexpr size_t kUsualInstrs = 64;

  std::span<Instr> code_of(const DraftBlock& block) {
    return std::span(instrs_).subspan(block.first, block.count);
  }
  void note_store(DraftBlock& block, const Instr& instr);
  bool tests_operand(const DraftBlock& block);
  void lose_tests();
  void thread_tests();
  void fold_in_copies(const object::Module& module, const TupleOf& tuple_of);
  void find_reached();
  void copy_code(const DraftBlock& block, const Features& features, flow::Graph& graph);

  std::vector<Instr> instrs_;
  std::vector<DraftBlock> blocks_;
  std::vector<Label> order_;
  std::vector<flow::Handler> handlers_;
};

}  // namespace pellucid::verify::lower
