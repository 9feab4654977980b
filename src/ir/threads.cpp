// SPDX-License-Identifier: Apache-2.0
#include "ir/threads.h"

#include <algorithm>
#include <optional>

namespace pellucid::ir {

namespace {

struct Origin {
  BlockId from;
  uint8_t edge = 0;
};

using Origins = std::vector<std::vector<Origin>>;

Origins ways_into(const Function& f) {
  Origins ways(f.blocks.size());
  for (size_t b = 0; b < f.blocks.size(); ++b) {
    for (uint8_t k = 0; k < 2; ++k) {
      const Edge& edge = f.blocks[b].next[k];
      if (edge.to.valid()) ways[edge.to.index()].push_back({BlockId(b), k});
    }
  }
  return ways;
}

class Threads {
 public:
  Threads(const object::Module& module, const ThreadRules& rules, Function& f)
      : module_(module), rules_(rules), f_(f), ways_(ways_into(f)) {}

  bool run() {
    bool changed = false;
    for (size_t b = 1; b < f_.blocks.size(); ++b) {
      if (!thread(BlockId(b))) continue;
      ways_ = ways_into(f_);
      changed = true;
    }
    return changed;
  }

 private:
  // `name is None`, or its opposite, at the end of a block.
  struct Test {
    Symbol name;
    bool opposite = false;
    std::vector<ValueId> items;  // the values that compute it
  };

  bool is_none(ValueId id) const {
    return is_op(f_[id], Op::LoadConst) &&
           module_[f_[id].constant()].kind == object::ConstKind::None;
  }

  bool is_load(ValueId id) const {
    return is_op(f_[id], Op::LoadFast) && rules_.temporaries.count(f_[id].symbol()) > 0;
  }

  std::optional<Test> test_of(const Block& block) const {
    if (block.exit != ExitKind::Branch && block.exit != ExitKind::BranchNone) return std::nullopt;
    const ValueId condition = block.operands[0];
    Test test;
    ValueId load = condition;
    if (block.exit == ExitKind::Branch) {
      if (!is_op(f_[condition], Op::IsOp)) return std::nullopt;
      const auto operands = f_.operands(condition);
      if (!is_none(operands[1])) return std::nullopt;
      test.opposite = f_[condition].a != 0;
      test.items = {condition, operands[1]};
      load = operands[0];
    }
    if (!is_load(load)) return std::nullopt;
    test.items.push_back(load);
    test.name = f_[load].symbol();
    const bool is_ours = std::all_of(test.items.begin(), test.items.end(), [&](ValueId id) {
      return f_[id].uses <= 1 &&
             std::find(block.items.begin(), block.items.end(), id) != block.items.end();
    });
    return is_ours ? std::optional(test) : std::nullopt;
  }

  // Returns true if the temporary is None at the end of a block; nothing if that is not known.
  std::optional<bool> is_none_after(Symbol name, BlockId at) const {
    for (size_t steps = 0; steps <= f_.blocks.size(); ++steps) {
      const std::vector<ValueId>& items = f_[at].items;
      for (size_t i = items.size(); i-- > 0;) {
        const Value& value = f_[items[i]];
        if (value.kind != ValueKind::Instr || !names_local(value.op)) continue;
        if (value.symbol() != name) continue;
        if (value.op == Op::LoadFast) continue;
        if (value.op != Op::StoreFast) return std::nullopt;
        const ValueId stored = f_.operands(value)[0];
        if (is_none(stored)) return true;
        if (rules_.is_object(stored)) return false;
        return std::nullopt;
      }
      const std::vector<Origin>& ways = ways_[at.index()];
      if (ways.size() != 1) return std::nullopt;
      at = ways[0].from;
    }
    return std::nullopt;
  }

  static bool names_local(Op op) { return bytecode::operand_of(op) == bytecode::Operand::Local; }

  // Returns true if a block has only calls that stand apart, and what these need.
  bool only_stands_apart(BlockId id) const {
    const Block& block = f_[id];
    if (block.exit != ExitKind::Goto || block.handler.valid() || !block.params.empty()) {
      return false;
    }
    if (ways_[id.index()].size() != 1) return false;
    return std::all_of(block.items.begin(), block.items.end(), [&](ValueId item) {
      if (rules_.stands_apart(item)) return true;
      if (is_op(f_[item], Op::Pop)) return rules_.stands_apart(f_.operands(item)[0]);
      const bool is_name = is_op(f_[item], Op::LoadConst) || is_load(item) || f_[item].steady;
      return is_name;
    });
  }

  // Returns the merge point of both arms of a test, if each arm is empty or such a block, and one
  // is not empty.
  BlockId meeting(const Block& block) const {
    const BlockId yes = block.next[0].to, no = block.next[1].to;
    if (!yes.valid() || !no.valid()) return {};
    if (only_stands_apart(yes) && f_[yes].next[0].to == no) return no;
    if (only_stands_apart(no) && f_[no].next[0].to == yes) return yes;
    const bool both = only_stands_apart(yes) && only_stands_apart(no);
    return both && f_[yes].next[0].to == f_[no].next[0].to ? f_[yes].next[0].to : BlockId();
  }

  bool thread(BlockId id) {
    const std::vector<Origin> ways = ways_[id.index()];
    if (ways.size() < 2 || f_[id].handler.valid() || !f_[id].params.empty()) return false;
    const auto test = test_of(f_[id]);
    if (!test) return false;
    const BlockId meet = meeting(f_[id]);
    if (!meet.valid() || meet == id || f_[meet].handler.valid()) return false;
    if (!f_[meet].params.empty()) return false;
    // All edges into the merge point come from this test.
    const size_t arms = (f_[id].next[0].to == meet ? 0 : 1) + (f_[id].next[1].to == meet ? 0 : 1);
    if (ways_[meet.index()].size() != 2 || arms == 0) return false;
    std::vector<ValueId> rest;
    for (const ValueId item : f_[id].items) {
      if (std::find(test->items.begin(), test->items.end(), item) != test->items.end()) continue;
      if (!rules_.may_be_passed(item)) return false;
      rest.push_back(item);
    }
    std::vector<uint8_t> leads;
    for (const Origin& way : ways) {
      const auto known = is_none_after(test->name, way.from);
      if (!known) return false;
      leads.push_back(*known != test->opposite ? 0 : 1);
    }
    const Block before = f_[id];
    // No later step is to find a name in removed values.
    for (const ValueId item : test->items) f_[item].kind = ValueKind::Null;
    for (size_t i = 0; i < ways.size(); ++i) {
      f_.blocks[ways[i].from.index()].next[ways[i].edge].to = before.next[leads[i]].to;
    }
    Block& joined = f_.blocks[meet.index()];
    joined.items.insert(joined.items.begin(), rest.begin(), rest.end());
    joined.entry_stack = before.entry_stack;
    joined.drops = 0;
    for (const Edge& edge : before.next) {
      if (edge.to != meet) f_.blocks[edge.to.index()].entry_stack = before.entry_stack;
    }
    // The block is unreachable now.
    Block& empty = f_.blocks[id.index()];
    empty = {};
    empty.exit = ExitKind::Goto;
    empty.offset = before.offset;
    empty.exc_depth = before.exc_depth;
    ways_ = ways_into(f_);
    for (const Origin& way : ways) join_straight(way.from);
    return true;
  }

  // Joins a block with its successor, if that has no other predecessor.
  void join_straight(BlockId id) {
    Block& block = f_.blocks[id.index()];
    const BlockId to = block.next[0].to;
    if (block.exit != ExitKind::Goto || !to.valid() || ways_[to.index()].size() != 1) return;
    Block& rest = f_.blocks[to.index()];
    if (!rest.params.empty() || rest.handler != block.handler || rest.exc_depth != block.exc_depth)
      return;
    block.items.insert(block.items.end(), rest.items.begin(), rest.items.end());
    block.exit = rest.exit;
    block.jump = rest.jump;
    block.is_lost_test = rest.is_lost_test;
    block.operands = std::move(rest.operands);
    block.next = std::move(rest.next);
    block.exit_offset = rest.exit_offset;
    block.exit_line = rest.exit_line;
    const uint32_t offset = rest.offset;
    rest = {};
    rest.offset = offset;
  }

  const object::Module& module_;
  const ThreadRules& rules_;
  Function& f_;
  Origins ways_;
};

}  // namespace

bool thread_branches(const object::Module& module, const ThreadRules& rules, Function& function) {
  return Threads(module, rules, function).run();
}

void drop_constant_parameters(Function& f) {
  const Origins ways = ways_into(f);
  for (size_t b = 0; b < f.blocks.size(); ++b) {
    Block& block = f.blocks[b];
    for (size_t p = block.params.size(); p-- > 0;) {
      const ValueId param = block.params[p];
      const bool is_constant = std::all_of(ways[b].begin(), ways[b].end(), [&](const Origin& way) {
        return is_op(f[f.blocks[way.from.index()].next[way.edge].args[p]], Op::LoadConst);
      });
      const auto drop = std::find_if(block.items.begin(), block.items.end(), [&](ValueId item) {
        return is_op(f[item], Op::Pop) && f.operands(item)[0] == param;
      });
      if (!is_constant || f[param].uses != 1 || drop == block.items.end()) continue;
      block.items.erase(drop);
      block.params.erase(block.params.begin() + static_cast<ptrdiff_t>(p));
      std::erase(block.entry_stack, param);
      block.drops -= block.drops > 0 ? 1 : 0;
      for (const Origin& way : ways[b]) {
        auto& args = f.blocks[way.from.index()].next[way.edge].args;
        args.erase(args.begin() + static_cast<ptrdiff_t>(p));
      }
    }
  }
}

}  // namespace pellucid::ir
