// SPDX-License-Identifier: Apache-2.0
#include "ir/phis.h"

#include <algorithm>

namespace pellucid::ir {
namespace {

// Replacements of values by others, written into a function at the end.
class Forwards {
 public:
  explicit Forwards(Function& f) : f_(f), to_(f.values.size()) {
    for (size_t i = 0; i < to_.size(); ++i) to_[i] = ValueId(i);
  }

  void set(ValueId from, ValueId to) { to_[from.index()] = to; }

  ValueId resolve(ValueId id) {
    while (to_[id.index()] != id) {
      to_[id.index()] = to_[to_[id.index()].index()];
      id = to_[id.index()];
    }
    return id;
  }

  void write() {
    for (ValueId& id : f_.operand_pool) id = resolve(id);
    drop_nulls(f_);
    for (Block& block : f_.blocks) {
      for (ValueId& id : block.operands) id = resolve(id);
      for (ValueId& id : block.entry_stack) id = resolve(id);
      for (Edge& edge : block.next) {
        for (ValueId& id : edge.args) id = resolve(id);
      }
    }
  }

 private:
  Function& f_;
  std::vector<ValueId> to_;
};

class TrivialPhis {
 public:
  TrivialPhis(Function& f, const Ways& ways) : f_(f), ways_(ways), forwards_(f) {}

  void remove(const std::vector<Kept>& kept) {
    // In both directions in turn: after a choice, a parameter depends on those before it, and that
    // of a loop on those of the loops in it.
    bool changed = true;
    for (size_t round = 0; changed; ++round) {
      changed = false;
      const size_t count = f_.blocks.size();
      for (size_t i = 0; i < count; ++i) {
        const size_t b = round % 2 == 0 ? i : count - 1 - i;
        changed = remove_params(BlockId(b)) || changed;
      }
      for (const Kept& one : kept) {
        if (forwards_.resolve(one.phi) != one.phi) continue;
        const ValueId only = only_kept(one);
        if (!only.valid()) continue;
        forwards_.set(one.phi, only);
        changed = true;
      }
    }
    forwards_.write();
  }

 private:
  bool remove_params(BlockId id) {
    bool changed = false;
    auto& params = f_.blocks[id.index()].params;
    for (size_t p = 0; p < params.size();) {
      const ValueId only = only_argument(id, p);
      if (!only.valid()) {
        ++p;
        continue;
      }
      forwards_.set(params[p], only);
      params.erase(params.begin() + static_cast<ptrdiff_t>(p));
      for (const Way& way : ways_.normal[id]) {
        auto& args = f_.blocks[way.from.index()].next[way.edge].args;
        args.erase(args.begin() + static_cast<ptrdiff_t>(p));
      }
      changed = true;
    }
    return changed;
  }

  ValueId only_argument(BlockId id, size_t p) {
    const ValueId self = f_.blocks[id.index()].params[p];
    ValueId only;
    for (const Way& way : ways_.normal[id]) {
      const ValueId arg = forwards_.resolve(f_.blocks[way.from.index()].next[way.edge].args[p]);
      if (arg == self || arg == only) continue;
      if (only.valid()) return {};
      only = arg;
    }
    return only;
  }

  ValueId only_kept(const Kept& kept) {
    ValueId only;
    for (const Protected& region : ways_.protected_by(kept.entry)) {
      const auto& stack = f_.blocks[region.block.index()].entry_stack;
      if (kept.slot >= stack.size()) return {};
      const ValueId value = forwards_.resolve(stack[kept.slot]);
      if (value == kept.phi || value == only) continue;
      if (only.valid()) return {};
      only = value;
    }
    return only;
  }

  Function& f_;
  const Ways& ways_;
  Forwards forwards_;
};

// The values that may be NULL: at first every parameter, then only those that no other value flows
// to, directly or through parameters.
class Nulls {
 public:
  Nulls(Function& f, const Ways& ways)
      : f_(f), feeds_(f.values.size()), is_null_(f.values.size(), 0) {
    is_null_[kNull.index()] = 1;
    for (size_t b = 0; b < f_.blocks.size(); ++b) {
      for (const ValueId param : f_.blocks[b].params) is_null_[param.index()] = 1;
      for (const Way& way : ways.normal[BlockId(b)]) feed_by_edge(f_.blocks[b], way);
      for (const Protected& region : ways.protected_by(BlockId(b)))
        feed_handler(f_.blocks[b], region);
    }
    for (size_t v = 0; v < f_.values.size(); ++v) {
      if (!is_null_[v]) todo_.push_back(ValueId(v));
    }
  }

  void write() {
    spread();
    Forwards forwards(f_);
    for (size_t i = 0; i < is_null_.size(); ++i) {
      if (!is_null_[i]) continue;
      forwards.set(ValueId(i), kNull);
      f_.values[i].kind = ValueKind::Null;
    }
    forwards.write();
  }

 private:
  void feed_by_edge(const Block& block, const Way& way) {
    const auto& args = f_.blocks[way.from.index()].next[way.edge].args;
    for (size_t p = 0; p < block.params.size(); ++p) {
      feeds_[args[p].index()].push_back(block.params[p]);
    }
  }

  void feed_handler(const Block& entry, const Protected& region) {
    const auto& outside = f_.blocks[region.block.index()].params;
    const uint32_t kept = f_.handlers[region.handler.index()].depth;
    for (size_t p = 0; p < entry.params.size(); ++p) {
      if (p < kept && p < outside.size()) {
        feeds_[outside[p].index()].push_back(entry.params[p]);
      } else {
        todo_.push_back(entry.params[p]);
      }
    }
  }

  void spread() {
    for (const ValueId id : todo_) is_null_[id.index()] = 0;
    while (!todo_.empty()) {
      const ValueId id = todo_.back();
      todo_.pop_back();
      for (const ValueId fed : feeds_[id.index()]) {
        if (!is_null_[fed.index()]) continue;
        is_null_[fed.index()] = 0;
        todo_.push_back(fed);
      }
    }
  }

  Function& f_;
  std::vector<std::vector<ValueId>> feeds_;  // parameters, by the value that flows to them
  std::vector<uint8_t> is_null_;
  std::vector<ValueId> todo_;  // not NULL, and not yet followed
};

}  // namespace

Ways::Ways(const flow::Graph& graph)
    : normal(graph.blocks.size(), [&](const auto& add) {
        for (size_t i = 0; i < graph.blocks.size(); ++i) {
          for (uint8_t k = 0; k < 2; ++k) {
            const BlockId to = graph.blocks[i].exit.next[k];
            if (to.valid()) add(to, Way{BlockId(i), k});
          }
        }
      }) {
  if (graph.handlers.empty()) return;
  protects_ = flow::ListsByBlock<Protected>(graph.blocks.size(), [&](const auto& add) {
    for (size_t i = 0; i < graph.blocks.size(); ++i) {
      const HandlerId handler = graph.blocks[i].handler;
      if (handler.valid()) add(graph[handler].entry, Protected{BlockId(i), handler});
    }
  });
}

void drop_nulls(Function& f) {
  for (Value& value : f.values) {
    if (!is_op(value, Op::Call, Op::CallKw, Op::CallEx)) continue;
    const auto operands = f.operand_pool.begin() + value.first;
    const auto slots = operands + std::min(value.b, value.count);
    auto kept =
        std::remove_if(operands, slots, [&](ValueId id) { return f[id].kind == ValueKind::Null; });
    if (kept == slots) continue;
    // If nothing is called, one NULL stands for the callee.
    if (kept == operands && slots != operands) ++kept;
    std::move(slots, operands + value.count, kept);
    value.count -= static_cast<uint32_t>(slots - kept);
  }
}

void remove_trivial_phis(Function& f, const Ways& ways, const std::vector<Kept>& kept) {
  TrivialPhis(f, ways).remove(kept);
}

void find_nulls(Function& f, const Ways& ways) { Nulls(f, ways).write(); }

}  // namespace pellucid::ir
