// SPDX-License-Identifier: Apache-2.0
#include "ir/write_backs.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pellucid::ir {

namespace {

using Names = std::set<Symbol>;

// The known state of the cells of arguments at one place.
struct Known {
  Names own;    // hold the original argument, and only this frame has them
  Names taken;  // of these: something in this frame refers to them
};

class WriteBacks {
 public:
  WriteBacks(const object::Module& module, const std::function<bool(ValueId)>& is_maker,
             Function& f)
      : module_(module), is_maker_(is_maker), f_(f) {}

  void run() {
    find_arguments();
    if (arguments_.empty()) return;
    find_referrers();
    std::vector<std::optional<Known>> at(f_.blocks.size());
    for (const flow::Handler& handler : f_.handlers) at[handler.entry.index()] = Known();
    std::vector<BlockId> todo{BlockId(0u)};
    at[0] = Known{arguments_, {}};
    while (!todo.empty()) {
      const BlockId block = todo.back();
      todo.pop_back();
      const Known after = walk(block, *at[block.index()], nullptr);
      for (const Edge& edge : f_.blocks[block.index()].next) {
        if (!edge.to.valid()) continue;
        std::optional<Known>& there = at[edge.to.index()];
        // References to a cell are tracked within a block only.
        Names own;
        for (const Symbol name : after.own) {
          const bool stays = !after.taken.count(name) && (!there || there->own.count(name));
          if (stays) own.insert(name);
        }
        if (there && there->own == own) continue;
        there = Known{own, {}};
        todo.push_back(edge.to);
      }
    }
    // A load that was unchanged at first need not be so now that all paths are known.
    unchanged_.clear();
    std::set<ValueId> idle;
    for (std::set<ValueId>* into : {static_cast<std::set<ValueId>*>(nullptr), &idle}) {
      for (size_t i = 0; i < f_.blocks.size(); ++i) {
        if (at[i]) walk(BlockId(i), *at[i], into);
      }
    }
    drop(idle);
  }

 private:
  void find_arguments() {
    const object::Code& code = module_[f_.code];
    const auto first = code.varnames.begin();
    const auto last = first + static_cast<ptrdiff_t>(object::parameter_count(code));
    for (const Symbol name : code.cellvars) {
      if (std::find(first, last, name) != last) arguments_.insert(name);
    }
    // An inlined comprehension has another cell under the same name.
    for (const Value& value : f_.values) {
      const bool makes = is_op(value, Op::MakeCell);
      if (makes) arguments_.erase(value.symbol());
    }
  }

  // Computes which values refer to which cells, in whatever order things happen.
  void find_referrers() {
    std::unordered_map<Symbol, Names> locals;
    bool grows = true;
    const auto add = [&](Names& to, const Names& more) {
      const size_t before = to.size();
      to.insert(more.begin(), more.end());
      grows |= to.size() != before;
    };
    while (std::exchange(grows, false)) {
      for (size_t v = 0; v < f_.values.size(); ++v) {
        const ValueId id(v);
        const Value& value = f_[id];
        if (is_op(f_[id], Op::LoadClosure) && arguments_.count(value.symbol())) {
          add(referred_[id], {value.symbol()});
        }
        if (is_op(f_[id], Op::LoadFast)) add(referred_[id], locals[value.symbol()]);
        for (const ValueId operand : f_.operands(id)) {
          const auto found = referred_.find(operand);
          if (found == referred_.end()) continue;
          const Names names = found->second;
          add(referred_[id], names);
          if (is_op(f_[id], Op::StoreFast)) add(locals[value.symbol()], names);
        }
      }
      for (const Block& block : f_.blocks) {
        for (const Edge& edge : block.next) {
          for (size_t i = 0; i < edge.args.size(); ++i) {
            const auto found = referred_.find(edge.args[i]);
            if (found == referred_.end()) continue;
            const Names names = found->second;
            add(referred_[f_[edge.to].params[i]], names);
          }
        }
      }
    }
  }

  // Returns true if a value only moves values, or makes a function of them.
  bool keeps_to_itself(ValueId id) const {
    if (f_[id].kind != ValueKind::Instr || is_maker_(id)) return true;
    switch (f_[id].op) {
      case Op::LoadClosure:
      case Op::BuildTuple:
      case Op::BuildList:
      case Op::MakeFunction:
      case Op::SetFunctionAttribute:
      case Op::LoadFast:
      case Op::StoreFast:
      case Op::DeleteFast:
      case Op::Pop:
        return true;
      default:
        return false;
    }
  }

  Known walk(BlockId id, Known known, std::set<ValueId>* idle) {
    Names& own = known.own;
    for (const ValueId item : f_.blocks[id.index()].items) {
      const Value& value = f_[item];
      if (is_op(f_[item], Op::LoadDeref) && own.count(value.symbol())) unchanged_.insert(item);
      if (is_op(f_[item], Op::LoadClosure)) known.taken.insert(value.symbol());
      if (is_op(f_[item], Op::DeleteDeref)) own.erase(value.symbol());
      if (is_op(f_[item], Op::StoreDeref) && own.count(value.symbol())) {
        const ValueId stored = f_.operands(item)[0];
        const bool is_same = is_op(f_[stored], Op::LoadDeref) && unchanged_.count(stored) &&
                             f_[stored].symbol() == value.symbol();
        if (is_same && idle) idle->insert(item);
        if (is_same) continue;
        own.erase(value.symbol());
      }
      if (keeps_to_itself(item)) continue;
      for (const ValueId operand : f_.operands(item)) {
        const auto found = referred_.find(operand);
        if (found == referred_.end()) continue;
        for (const Symbol name : found->second) own.erase(name);
      }
    }
    return known;
  }

  // Drops the stores, and the loads of their values if nothing else uses them.
  void drop(const std::set<ValueId>& stores) {
    if (stores.empty()) return;
    count_uses(f_);
    std::set<ValueId> gone = stores;
    for (const ValueId store : stores) {
      const ValueId stored = f_.operands(store)[0];
      if (f_[stored].uses == 1) gone.insert(stored);
    }
    for (Block& block : f_.blocks) {
      std::erase_if(block.items, [&](ValueId item) { return gone.count(item) > 0; });
    }
  }

  const object::Module& module_;
  const std::function<bool(ValueId)>& is_maker_;
  Function& f_;
  Names arguments_;  // that are in cells
  std::unordered_map<ValueId, Names> referred_;
  std::set<ValueId> unchanged_;  // loads that give the original argument
};

}  // namespace

void drop_stores_in_locals(const object::Module& module, Function& f) {
  // Loading an unbound local would raise.
  const object::Code& code = module[f.code];
  const auto first = code.varnames.begin();
  Names bound(first, first + static_cast<ptrdiff_t>(object::parameter_count(code)));
  for (const Value& value : f.values) {
    const bool unbinds = is_op(value, Op::DeleteFast, Op::LoadFastAndClear);
    if (unbinds) bound.erase(value.symbol());
  }
  count_uses(f);
  for (Block& block : f.blocks) {
    std::set<ValueId> current, gone;  // loads whose local still has the value
    for (const ValueId item : block.items) {
      const Symbol name = f[item].symbol();
      if (is_op(f[item], Op::LoadFast) && bound.count(name)) current.insert(item);
      if (!is_op(f[item], Op::StoreFast)) continue;
      const ValueId stored = f.operands(item)[0];
      if (current.count(stored) && f[stored].symbol() == name) {
        gone.insert(item);
        if (f[stored].uses == 1) gone.insert(stored);
      } else {
        std::erase_if(current, [&](ValueId load) { return f[load].symbol() == name; });
      }
    }
    std::erase_if(block.items, [&](ValueId item) { return gone.count(item) > 0; });
  }
  count_uses(f);
}

void drop_write_backs(const object::Module& module, const std::function<bool(ValueId)>& is_maker,
                      Function& function) {
  WriteBacks(module, is_maker, function).run();
}

}  // namespace pellucid::ir
