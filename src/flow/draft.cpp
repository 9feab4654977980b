// SPDX-License-Identifier: Apache-2.0
#include "flow/draft.h"

#include <algorithm>

#include "bytecode/op_facts.h"

namespace pellucid::flow {

std::optional<Control> control_of(const Instr& instr) {
  Control control;
  const auto two_way = [&](ExitKind kind, uint8_t jump, int jump_depth, int fall_depth) {
    control = {kind, jump, jump_depth, fall_depth, true, true};
    return control;
  };
  switch (instr.op) {
    case Op::Jump:
      control.jumps = true;
      return control;
    case Op::BranchTrue:
      return two_way(ExitKind::Branch, 0, -1, -1);
    case Op::BranchFalse:
      return two_way(ExitKind::Branch, 1, -1, -1);
    case Op::BranchNone:
      return two_way(ExitKind::BranchNone, 0, -1, -1);
    case Op::BranchNotNone:
      return two_way(ExitKind::BranchNone, 1, -1, -1);
    case Op::ForIter:
      return two_way(ExitKind::ForIter, 1, -1 - static_cast<int>(instr.b), 1);
    case Op::Send:
      // 3.11 (b = 1) pops the iterator when it jumps.
      return two_way(ExitKind::Send, 1, instr.b == 1 ? -1 : 0, 0);
    case Op::ReturnValue:
      control.kind = ExitKind::Return;
      return control;
    case Op::Raise:
    case Op::Unsayable:
      control.kind = ExitKind::Raise;
      return control;
    case Op::Reraise:
      control.kind = ExitKind::Reraise;
      return control;
    default:  // NOLINT: every other op falls through
      return std::nullopt;
  }
}

uint32_t reach_of(const Instr& instr) { return reach_of(instr, bytecode::effect_of(instr).pops); }

uint32_t deep_reach_of(const Instr& instr, uint32_t pops) {
  using bytecode::Looks;
  switch (bytecode::facts_of(instr.op).looks) {
    case Looks::Pops:
      return pops;
    case Looks::One:
      return 1;
    case Looks::Two:
      return 2;
    case Looks::Depth:
      return instr.a;
    case Looks::Below:
      return pops + instr.a;
    case Looks::Own:
      break;
  }
  if (instr.op == Op::Reraise) return std::max(pops, instr.b);
  if (instr.op == Op::ForIter) return 1 + instr.b;
  return instr.b == 2 ? 3 : 2;  // Send
}

Chains::Chains() : links_(1) {}

size_t Chains::Hash::operator()(const Key& key) const {
  uint64_t hash = key.parent;
  for (const uint32_t part : {key.kind, key.value, key.level})
    hash = (hash ^ (hash >> 29)) * 0x9e3779b97f4a7c15ull + part;
  return static_cast<size_t>(hash ^ (hash >> 32));
}

uint32_t Chains::push(uint32_t chain, uint32_t kind, uint32_t value, uint32_t level) {
  const auto [known, fresh] =
      ids_.try_emplace({chain, kind, value, level}, static_cast<uint32_t>(links_.size()));
  if (!fresh) return known->second;
  const uint32_t shape = shapes_
                             .try_emplace({links_[chain].shape, kind, value, 0},
                                          static_cast<uint32_t>(shapes_.size() + 1))
                             .first->second;
  links_.push_back({chain, kind, value, level, shape, links_[chain].length + 1});
  return known->second;
}

uint32_t Chains::cut(uint32_t chain, uint32_t level) const {
  while (chain != 0 && links_[chain].level >= level) chain = links_[chain].parent;
  return chain;
}

}  // namespace pellucid::flow
