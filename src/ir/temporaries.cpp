// SPDX-License-Identifier: Apache-2.0
#include "ir/temporaries.h"

#include <map>
#include <unordered_map>

namespace pellucid::ir {

namespace {

// The content of a temporary at one point: a value, nothing, or several that differ by path.
struct Held {
  enum Kind : uint8_t { kNothing, kValue, kMixed };
  Kind kind = kNothing;
  ValueId value;
  friend bool operator==(const Held&, const Held&) = default;
};

using HeldNames = std::map<Symbol, Held>;  // a name that is not in it holds nothing

class Promotion {
 public:
  Promotion(Function& f, const std::unordered_set<Symbol>& names) : f_(f), names_(names) {}

  void run() {
    flow();
    for (const auto& [block, state] : at_start_) find_mixed(block, state);
    for (const auto& [block, state] : at_start_) rewrite(block, state);
    for (Block& block : f_.blocks) {
      for (ValueId& operand : block.operands) operand = resolve(operand);
      for (Edge& edge : block.next) {
        for (ValueId& arg : edge.args) arg = resolve(arg);
      }
    }
    for (ValueId& operand : f_.operand_pool) operand = resolve(operand);
    count_uses(f_);
    keep_effects();
  }

 private:
  bool is_temporary(const Value& value, Op op) const {
    return is_op(value, op) && names_.count(value.symbol()) > 0 &&
           mixed_.count(value.symbol()) == 0;
  }

  // Computes the contents at the start of every reachable block, to a fixpoint: the content of a
  // name changes twice at most.
  void flow() {
    std::vector<BlockId> todo{BlockId(0u)};
    at_start_[BlockId(0u)] = {};
    while (!todo.empty()) {
      const BlockId id = todo.back();
      todo.pop_back();
      const Block& block = f_[id];
      HeldNames state = at_start_[id];
      for (const ValueId item : block.items) apply(state, item);
      for (const Edge& edge : block.next) {
        if (edge.to.valid() && arrive(edge.to, state)) todo.push_back(edge.to);
      }
      if (!block.handler.valid()) continue;
      // A handler may be entered after any instruction.
      HeldNames anything;
      for (const Symbol name : names_) anything[name] = {Held::kMixed, {}};
      const BlockId entry = f_.handlers[block.handler.index()].entry;
      if (arrive(entry, anything)) todo.push_back(entry);
    }
  }

  void apply(HeldNames& state, ValueId item) const {
    const Value& value = f_[item];
    if (is_temporary(value, Op::StoreFast)) {
      state[value.symbol()] = {Held::kValue, f_.operands(value)[0]};
    } else if (is_temporary(value, Op::DeleteFast)) {
      state.erase(value.symbol());
    }
  }

  bool arrive(BlockId id, const HeldNames& state) {
    const auto [it, is_new] = at_start_.try_emplace(id, state);
    if (is_new) return true;
    bool changed = false;
    for (const Symbol name : names_) {
      const auto known = it->second.find(name);
      const auto next = state.find(name);
      const Held have = known == it->second.end() ? Held() : known->second;
      const Held get = next == state.end() ? Held() : next->second;
      if (have == get || have.kind == Held::kMixed) continue;
      it->second[name] = {Held::kMixed, {}};
      changed = true;
    }
    return changed;
  }

  void find_mixed(BlockId id, HeldNames state) {
    for (const ValueId item : f_[id].items) {
      const Value& value = f_[item];
      const bool reads = is_temporary(value, Op::LoadFast) || is_temporary(value, Op::DeleteFast);
      const bool other = is_op(value, Op::LoadFastAndClear) && names_.count(value.symbol()) > 0;
      if (reads || other) {
        const auto held = state.find(value.symbol());
        if (other || held == state.end() || held->second.kind != Held::kValue) {
          mixed_.insert(value.symbol());
        }
      }
      apply(state, item);
    }
  }

  void rewrite(BlockId id, HeldNames state) {
    std::vector<ValueId> kept;
    for (const ValueId item : f_[id].items) {
      Value& value = f_[item];
      if (is_temporary(value, Op::LoadFast)) {
        replaced_[item] = state[value.symbol()].value;
        value.kind = ValueKind::Null;  // no later step is to find a name in it
        continue;
      }
      const bool stores = is_temporary(value, Op::StoreFast);
      apply(state, item);
      if (is_temporary(value, Op::DeleteFast)) {
        value.kind = ValueKind::Null;
        continue;
      }
      if (stores) {
        // It may be the only use of the value.
        value.op = Op::Pop;
        value.a = value.b = 0;
        dropped_.insert(item);
      }
      kept.push_back(item);
    }
    f_.blocks[id.index()].items = std::move(kept);
  }

  ValueId resolve(ValueId id) const {
    for (auto it = replaced_.find(id); it != replaced_.end(); it = replaced_.find(id)) {
      id = it->second;
    }
    return id;
  }

  // Drops the remains of stores. A value with other uses is computed before them; one without any
  // is still computed.
  void keep_effects() {
    for (Block& block : f_.blocks) {
      std::erase_if(block.items, [&](ValueId item) {
        Value& value = f_[item];
        if (!is_op(value, Op::Pop)) return false;
        const ValueId what = f_.operands(value)[0];
        if (!dropped_.count(item)) {
          // Without its store, the value is a statement by itself.
          if (drops(value, Dropped::Stored)) value.b = static_cast<uint32_t>(Dropped::Result);
          return false;
        }
        const bool is_all = f_[what].uses == 1 && shows(f_[what]);
        if (!is_all) --f_[what].uses;
        return !is_all;
      });
    }
  }

  static bool shows(const Value& value) {
    return value.kind == ValueKind::Instr &&
           !is_op(value, Op::LoadConst, Op::LoadClosure, Op::BuildList, Op::BuildTuple);
  }

  Function& f_;
  const std::unordered_set<Symbol>& names_;
  std::map<BlockId, HeldNames> at_start_;
  std::unordered_set<Symbol> mixed_;
  std::unordered_map<ValueId, ValueId> replaced_;
  std::unordered_set<ValueId> dropped_;
};

}  // namespace

void promote_temporaries(Function& function, const std::unordered_set<Symbol>& names) {
  if (!names.empty()) Promotion(function, names).run();
}

}  // namespace pellucid::ir
