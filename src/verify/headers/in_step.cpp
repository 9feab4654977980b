// SPDX-License-Identifier: Apache-2.0
#include "verify/headers/in_step.h"

#include <algorithm>

#include "bytecode/op_facts.h"
#include "verify/headers/metadata.h"
#include "verify/headers/operands.h"

namespace pellucid::verify {

using flow::Block;
using flow::BlockId;
using flow::Exit;
using flow::ExitKind;
using flow::Graph;
using flow::Handler;
using flow::Instr;

namespace {

constexpr uint32_t kNone = 0xffffffffu;
// Instructions compared, per instruction of both graphs, and pairs kept of one place, before all is
// left to the walk.
constexpr uint64_t kStepsPerInstruction = 8;
constexpr size_t kMostPairs = 64;

// Returns a number for each place, exits included.
uint32_t position(const Graph& graph, BlockId block, uint32_t at) {
  return graph[block].first + block.value + at;
}

}  // namespace

bool InStep::run(const Graph& a, const Graph& b, CodePairs& pairs) {
  if (a.wraps_stop_iteration != b.wraps_stop_iteration) return false;
  a_ = &a;
  b_ = &b;
  is_block_of_names_ = stores_metadata(values_, a.code);
  const size_t size_a = a.instrs.size() + a.blocks.size();
  steps_left_ = kStepsPerInstruction * (size_a + b.instrs.size() + b.blocks.size());
  partners_.assign(size_a, kNone);
  handlers_.assign(a.handlers.size(), kNone);
  todo_.clear();
  more_.clear();
  codes_.clear();
  meet(BlockId(0u), BlockId(0u));
  while (!todo_.empty()) {
    const Pair next = todo_.back();
    todo_.pop_back();
    if (!follow(next.first, next.second)) return false;
  }
  std::sort(codes_.begin(), codes_.end());
  for (const auto& [at, codes] : codes_) pairs.push_back(codes);
  return true;
}

void InStep::meet(BlockId in_a, BlockId in_b) { todo_.push_back({{in_a, 0}, {in_b, 0}}); }

// Moves from the end of a block to where its jumps lead; returns false if they lead nowhere else.
bool InStep::pass_jumps(const Graph& graph, Place& place) {
  size_t jumps = 0;
  while (place.at == graph[place.block].count && graph[place.block].exit.kind == ExitKind::Goto) {
    place = {graph[place.block].exit.next[0], 0};
    if (++jumps > graph.blocks.size()) return false;
  }
  return true;
}

// Returns true if this pair of places was met before, and remembers it.
bool InStep::is_known(Place in_a, Place in_b) {
  const uint32_t x = position(*a_, in_a.block, in_a.at);
  const uint32_t y = position(*b_, in_b.block, in_b.at);
  if (partners_[x] == kNone) {
    partners_[x] = y;
    return false;
  }
  if (partners_[x] == y) return true;
  const std::pair pair(x, y);
  if (std::find(more_.begin(), more_.end(), pair) != more_.end()) return true;
  more_.push_back(pair);
  return false;
}

bool InStep::follow(Place in_a, Place in_b) {
  for (;;) {
    if (!pass_jumps(*a_, in_a) || !pass_jumps(*b_, in_b)) return false;
    if (is_known(in_a, in_b)) return true;
    if (more_.size() > kMostPairs) return false;
    const Block& of_a = (*a_)[in_a.block];
    const Block& of_b = (*b_)[in_b.block];
    if (in_a.at == of_a.count || in_b.at == of_b.count) {
      return in_a.at == of_a.count && in_b.at == of_b.count && leave(of_a, of_b);
    }
    // Both paths meet others only where a block begins or ends.
    const uint32_t steps = std::min(of_a.count - in_a.at, of_b.count - in_b.at);
    if (steps_left_ < steps || !advance(in_a, in_b, steps)) return false;
    steps_left_ -= steps;
    in_a.at += steps;
    in_b.at += steps;
  }
}

// Returns true if the next instructions of both places are the same, as many as none of the blocks
// ends in.
bool InStep::advance(Place in_a, Place in_b, uint32_t steps) {
  const Block& of_a = (*a_)[in_a.block];
  const Block& of_b = (*b_)[in_b.block];
  uint32_t at = of_a.first + in_a.at;
  const Instr* x = &a_->instrs[at];
  const Instr* y = &b_->instrs[of_b.first + in_b.at];
  const auto nest = [&](object::CodeId a, object::CodeId b) { codes_.push_back({at, {a, b}}); };
  bool has_raised = false;
  for (uint32_t step = 0; step < steps; ++step, ++at, ++x, ++y) {
    if (x->op != y->op || x->b != y->b) return false;
    if (!same_operand(values_, *x, *y, nest)) {
      const bool is_last = in_a.at + step + 1 == of_a.count || in_b.at + step + 1 == of_b.count;
      if (!is_block_of_names_ || is_last || !is_same_metadata(values_, x, y)) return false;
    }
    if (!has_raised && bytecode::facts_of(x->op).raises) {
      if (!same_handlers(of_a, of_b)) return false;
      has_raised = true;
    }
  }
  return true;
}

// Returns true if an exception goes to places in step, or leaves both functions.
bool InStep::same_handlers(const Block& in_a, const Block& in_b) {
  const flow::HandlerId x = in_a.handler;
  const flow::HandlerId y = in_b.handler;
  if (!x.valid() || !y.valid()) return x.valid() == y.valid();
  if (handlers_[x.index()] == y.value) return true;
  const Handler& of_a = (*a_)[x];
  const Handler& of_b = (*b_)[y];
  if (of_a.depth != of_b.depth || of_a.lasti != of_b.lasti || of_a.pushes != of_b.pushes ||
      of_a.exc_depth != of_b.exc_depth) {
    return false;
  }
  handlers_[x.index()] = y.value;
  meet(of_a.entry, of_b.entry);
  return true;
}

bool InStep::leave(const Block& in_a, const Block& in_b) {
  const Exit& x = in_a.exit;
  const Exit& y = in_b.exit;
  if (x.kind != y.kind) return false;
  switch (x.kind) {
    case ExitKind::Return:
      return true;
    case ExitKind::Raise:
    case ExitKind::Reraise:
      return x.instr.a == y.instr.a && x.instr.b == y.instr.b && same_handlers(in_a, in_b);
    case ExitKind::Branch:
      if (x.instr.b != y.instr.b) return false;
      if (x.instr.b != flow::kLostTest && !same_handlers(in_a, in_b)) return false;
      break;
    case ExitKind::ForIter:
    case ExitKind::Send:
      if (x.instr.b != y.instr.b || !same_handlers(in_a, in_b)) return false;
      break;
    case ExitKind::BranchNone:
      break;
    case ExitKind::Goto:  // of a cycle of jumps
      return false;
  }
  meet(x.next[1], y.next[1]);
  meet(x.next[0], y.next[0]);
  return true;
}

}  // namespace pellucid::verify
