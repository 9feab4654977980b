// SPDX-License-Identifier: Apache-2.0
// Draft: blocks as the interpreter of a block stack or of an exception table finds them, in any
// order, with superfluous empty and split ones. assemble() makes the Graph of it.
//
//   draft_from_block_stack       3.8-3.10   (block_stack.cpp)
//   draft_from_exception_table   3.11+      (exception_table.cpp)
//
// Private to flow.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "bytecode/op_facts.h"
#include "flow/graph.h"

namespace pellucid::flow {

struct DraftBlock {
  uint32_t at = 0;     // index in the stream where it starts
  uint32_t rank = 1;   // order among the blocks that start there; then by creation
  uint32_t first = 0;  // into Draft::instrs
  uint32_t count = 0;
  Exit exit;  // next: indices of Draft::blocks
  HandlerId handler;
  uint32_t depth = 0;
  uint32_t exc_depth = 0;
  BlockId then;  // the block whose instructions follow, once they are joined
};

// What one look at a stream tells of the steps that have something to do.
struct Survey {
  std::array<bool, 256> ops{};  // by Op: whether there is one
  bool jumps = false;           // some instruction has a target
  bool jumps_back = false;      // some jump leads back, or to itself

  bool has(Op op) const { return ops[static_cast<size_t>(op)]; }
};

struct Draft {
  object::CodeId code;
  std::span<const Instr> stream;    // its instructions
  std::vector<Instr> instrs;        // of the blocks
  std::vector<DraftBlock> blocks;   // the first one is the entry
  std::vector<Handler> handlers;    // entry: an index of `blocks`
  std::vector<uint32_t> loop_ends;  // of every instruction, as Block::loop_end; empty: no loops
  bool wraps_stop_iteration = false;
  bool marks_ends = false;
  bool marks_empty_bodies = false;
  bool has_subroutines = false;        // finally bodies that are called (3.8)
  std::optional<uint32_t> unrestored;  // as Graph::unrestored
  std::optional<uint32_t> parted;      // as Graph::parted

  std::span<const Instr> body(const DraftBlock& block) const {
    return {instrs.data() + block.first, block.count};
  }
};

Result<Draft> draft_from_block_stack(const object::Module& module, const bytecode::Stream& stream,
                                     bool keep_ends = false);
Result<Draft> draft_from_exception_table(const object::Module& module,
                                         const bytecode::Stream& stream, const Survey& survey);

// Returns the graph of code of 3.11+ that is one straight line, as most code is, without a draft;
// nothing if it is not, or may be invalid.
std::optional<Graph> graph_of_straight_line(const bytecode::Stream& stream, const Survey& survey);

// Threads jumps over empty blocks, joins straight lines, drops unreachable blocks, and numbers the
// rest in the order of the bytecode.
Graph assemble(Draft draft);

// The effect of a control instruction. Ops that transfer no control have none.
struct Control {
  ExitKind kind = ExitKind::Goto;
  uint8_t jump = 0;    // which of Exit::next its target is; the other one follows it
  int jump_depth = 0;  // change of the stack depth at the jump
  int fall_depth = 0;  // and at the fall-through
  bool jumps = false;
  bool falls = false;
};
std::optional<Control> control_of(const Instr& instr);

// No stack is deeper than this, so that no depth overflows.
inline constexpr uint32_t kMaxDepth = 1u << 28;

// By Op: whether all that an instruction does to a stack is to pop and to push a fixed number of
// slots. It transfers no control, looks at no other slot, and handles no exception. So do nearly
// all.
inline constexpr std::array<bool, 256> kIsSimple = [] {
  std::array<bool, 256> is_simple{};
  for (size_t i = 0; i < std::size(bytecode::kOpFacts); ++i) {
    const auto op = static_cast<Op>(i);
    const bytecode::OpFacts& facts = bytecode::kOpFacts[i];
    is_simple[i] = !bytecode::varies(facts.pops) && !bytecode::varies(facts.pushes) &&
                   facts.role != bytecode::Role::Control && facts.looks == bytecode::Looks::Pops &&
                   op != Op::PushExcInfo && op != Op::PopExcept;
  }
  return is_simple;
}();
inline bool is_simple(const Instr& instr) { return kIsSimple[static_cast<size_t>(instr.op)]; }

// Changes the depth of a stack as a simple instruction does. Returns false, with the depth as it
// was, if the stack underflows or is too high.
inline bool run_simple(const Instr& instr, uint32_t& depth) {
  const bytecode::OpFacts& facts = bytecode::facts_of(instr.op);
  if (depth < facts.pops || depth - facts.pops + facts.pushes > kMaxDepth) return false;
  depth = depth - facts.pops + facts.pushes;
  return true;
}

// reach_of() of an instruction that looks deeper.
uint32_t deep_reach_of(const Instr& instr, uint32_t pops);

// Returns the number of slots that the instruction looks at, including those that it pops.
uint32_t reach_of(const Instr& instr);
// The same of an instruction that is known to pop so many.
inline uint32_t reach_of(const Instr& instr, uint32_t pops) {
  const bool is_deep = bytecode::facts_of(instr.op).looks != bytecode::Looks::Pops;
  return is_deep ? deep_reach_of(instr, pops) : pops;
}

// A chain of facts about stack positions, interned: equal chains have equal ids, 0 is the empty
// one. `shape` is the same for chains that differ in their levels only.
class Chains {
 public:
  struct Link {
    uint32_t parent = 0;
    uint32_t kind = 0;
    uint32_t value = 0;
    uint32_t level = 0;
    uint32_t shape = 0;
    uint32_t length = 0;
  };

  Chains();
  uint32_t push(uint32_t chain, uint32_t kind, uint32_t value, uint32_t level);
  const Link& operator[](uint32_t chain) const { return links_[chain]; }
  // Drops the links from the top whose level is `level` or higher.
  uint32_t cut(uint32_t chain, uint32_t level) const;

 private:
  struct Key {
    uint32_t parent, kind, value, level;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };

  std::vector<Link> links_;
  std::unordered_map<Key, uint32_t, Hash> ids_, shapes_;
};

}  // namespace pellucid::flow
