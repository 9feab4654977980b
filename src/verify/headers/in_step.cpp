// SPDX-License-Identifier: Apache-2.0
#include "verify/headers/in_step.h"

#include <algorithm>

#include "verify/headers/metadata.h"

namespace pellucid::verify {

using bytecode::Operand;
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
  for (bool enters = true;; enters = false) {
    // Both paths meet others only where a block begins or ends.
    enters = enters || in_a.at == 0 || in_b.at == 0 || in_a.at == (*a_)[in_a.block].count ||
             in_b.at == (*b_)[in_b.block].count;
    if (enters) {
      if (!pass_jumps(*a_, in_a) || !pass_jumps(*b_, in_b)) return false;
      if (is_known(in_a, in_b)) return true;
      if (more_.size() > kMostPairs) return false;
    }
    if (steps_left_-- == 0) return false;
    const Block& of_a = (*a_)[in_a.block];
    const Block& of_b = (*b_)[in_b.block];
    if (in_a.at == of_a.count || in_b.at == of_b.count) {
      return in_a.at == of_a.count && in_b.at == of_b.count && leave(of_a, of_b);
    }
    const Instr* const x = &a_->instrs[of_a.first + in_a.at];
    const Instr* const y = &b_->instrs[of_b.first + in_b.at];
    if (x->op != y->op || x->b != y->b) return false;
    const bool is_same = same_operand(*x, *y, of_a.first + in_a.at);
    if (!is_same && !(is_block_of_names_ && in_a.at + 1 < of_a.count && in_b.at + 1 < of_b.count &&
                      is_same_metadata(values_, x, y))) {
      return false;
    }
    if (bytecode::can_raise(x->op) && !same_handlers(of_a, of_b)) return false;
    ++in_a.at;
    ++in_b.at;
  }
}

bool InStep::same_operand(const Instr& in_a, const Instr& in_b, uint32_t position) {
  switch (bytecode::operand_of(in_a.op)) {
    case Operand::Const: {
      const object::Const& x = values_.module(Side::A)[in_a.constant()];
      const object::Const& y = values_.module(Side::B)[in_b.constant()];
      if (x.kind == object::ConstKind::Code && y.kind == object::ConstKind::Code) {
        codes_.push_back({position, {x.code, y.code}});
        return true;
      }
      return x.kind == y.kind && values_.same_constant(in_a.constant(), in_b.constant());
    }
    case Operand::Name:
    case Operand::Local:
    case Operand::Cell:
      return values_.name(Side::A, in_a.symbol()) == values_.name(Side::B, in_b.symbol());
    case Operand::None:
      return true;
    case Operand::Target:
    case Operand::Count:
    case Operand::Depth:
    case Operand::Operator:
    case Operand::Flags:
    case Operand::Kind:
      return in_a.a == in_b.a;
  }
  return false;
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
