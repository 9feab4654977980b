// SPDX-License-Identifier: Apache-2.0
#include "flow/inlined_locals.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace pellucid::flow {
namespace {

// Returns the names that a handler restores before it re-raises; empty if it does anything else.
std::vector<uint32_t> names_put_back(const Graph& graph, const Handler& handler) {
  const Block& entry = graph[handler.entry];
  if (entry.exit.kind != ExitKind::Reraise) return {};
  std::vector<uint32_t> names;
  for (uint32_t i = 0; i < entry.count; ++i) {
    const Instr& instr = graph.instrs[entry.first + i];
    if (instr.op == Op::StoreFast) {
      names.push_back(instr.a);
    } else if (instr.op != Op::Swap && instr.op != Op::Pop) {
      return {};
    }
  }
  return names;
}

}  // namespace

void read_inlined_locals(Graph& graph) {
  std::vector<std::vector<uint32_t>> put_back;
  for (const Handler& handler : graph.handlers) put_back.push_back(names_put_back(graph, handler));

  // In the order of the bytecode: a region is entered right after the code that hides its names.
  std::unordered_map<uint32_t, bool> closed_over;  // name -> whether a cell was made in its place
  std::vector<std::unordered_map<uint32_t, bool>> inside(graph.handlers.size());
  for (const Block& block : graph.blocks) {
    const HandlerId around = block.handler;
    if (around.valid() && inside[around.index()].empty()) {
      for (const uint32_t name : put_back[around.index()]) {
        inside[around.index()][name] = closed_over[name];
      }
    }
    for (uint32_t i = 0; i < block.count; ++i) {
      Instr& instr = graph.instrs[block.first + i];
      if (instr.op == Op::LoadFastAndClear) closed_over[instr.a] = false;
      if (instr.op == Op::MakeCell) closed_over[instr.a] = true;
      if (instr.op != Op::LoadClosure) continue;
      // The innermost comprehension that hides the name decides.
      HandlerId handler = around;
      for (size_t steps = 0; handler.valid() && steps < graph.handlers.size(); ++steps) {
        const auto known = inside[handler.index()].find(instr.a);
        if (known != inside[handler.index()].end()) {
          if (!known->second) instr.op = Op::LoadFast;
          break;
        }
        handler = graph[graph[handler].entry].handler;
      }
    }
  }
}

void mark_annotations(Graph& graph) {
  std::unordered_set<uint32_t> hidden;
  for (const Instr& instr : graph.instrs) {
    if (instr.op == Op::LoadFastAndClear) hidden.insert(instr.a);
  }
  if (hidden.empty()) return;
  for (const Block& block : graph.blocks) {
    for (uint32_t i = 1; i < block.count; ++i) {
      const Instr& next = graph.instrs[block.first + i];
      Instr& drop = graph.instrs[block.first + i - 1];
      const bool is_early = drop.op == Op::Pop && next.op == Op::StoreFast;
      if (is_early && hidden.contains(next.a)) drop.b = kOfAnnotation;
    }
  }
}

namespace {

using bytecode::Stream;

// Returns the names that the handler at `target` restores before it re-raises; empty if it does
// anything else.
std::vector<uint32_t> names_put_back(const Stream& stream, size_t target) {
  std::vector<uint32_t> names;
  for (size_t i = target; i < stream.instrs.size(); ++i) {
    const Instr& instr = stream.instrs[i];
    if (instr.op == Op::Reraise) return names;
    if (instr.op == Op::StoreFast) {
      names.push_back(instr.a);
    } else if (instr.op != Op::Swap && instr.op != Op::Pop) {
      break;
    }
  }
  return {};
}

// The ranges in which the comprehensions of a stream hide names.
class HiddenRanges {
 public:
  explicit HiddenRanges(const Stream& stream) : stream_(stream) {
    for (const auto& entry : stream.exceptions) {
      if (names_.contains(entry.target)) continue;
      auto& names = names_[entry.target] = names_put_back(stream, entry.target);
      for (size_t i = entry.target; !names.empty() && stream.instrs[i].op != Op::Reraise; ++i) {
        restores_.insert(i);
      }
    }
  }

  // Returns true if the instruction, on the local `name`, belongs to a comprehension that hides it.
  bool contain(size_t at, uint32_t name) const {
    if (restores_.contains(at)) return true;
    // The table gives the region around a handler.
    for (size_t steps = 0; steps <= stream_.exceptions.size(); ++steps) {
      auto next = std::upper_bound(
          stream_.exceptions.begin(), stream_.exceptions.end(), at,
          [](size_t index, const bytecode::ExceptionEntry& entry) { return index < entry.begin; });
      if (next == stream_.exceptions.begin() || (--next)->end <= at) return false;
      const auto& names = names_.at(next->target);
      if (std::find(names.begin(), names.end(), name) != names.end()) return true;
      at = next->target;
    }
    return false;
  }

 private:
  const Stream& stream_;
  std::unordered_map<size_t, std::vector<uint32_t>> names_;  // by where the handler starts
  std::unordered_set<size_t> restores_;                      // instructions of these handlers
};

}  // namespace

std::vector<Symbol> names_of_inlined(const object::Code& code, const Stream& stream) {
  struct Uses {
    size_t hidden = 0, stored = 0;
    bool deleted = false;
  };
  std::unordered_map<uint32_t, Uses> uses;
  const HiddenRanges ranges(stream);
  for (size_t i = 0; i < stream.instrs.size(); ++i) {
    const Instr& instr = stream.instrs[i];
    const bytecode::Operand operand = operand_of(instr.op);
    if (operand != bytecode::Operand::Local && operand != bytecode::Operand::Cell) continue;
    Uses& use = uses[instr.a];
    if (instr.op == Op::DeleteFast) use.deleted = true;
    if (instr.op != Op::LoadFastAndClear && instr.op != Op::StoreFast) continue;
    if (ranges.contain(i, instr.a)) continue;
    ++(instr.op == Op::StoreFast ? use.stored : use.hidden);
  }
  std::vector<Symbol> names;
  for (const auto& [name, use] : uses) {
    const bool is_only_hidden = !use.deleted && use.stored <= use.hidden;
    if (use.hidden > 0 && is_only_hidden) names.push_back(Symbol(name));
  }
  for (size_t i = object::parameter_count(code); i < code.varnames.size(); ++i) {
    if (!uses.contains(code.varnames[i].value)) names.push_back(code.varnames[i]);
  }
  return names;
}

}  // namespace pellucid::flow
