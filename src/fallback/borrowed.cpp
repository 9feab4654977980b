// SPDX-License-Identifier: Apache-2.0
#include "fallback/borrowed.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "structure/graph/graph.h"
#include "structure/graph/items.h"
#include "structure/scopes/names.h"

namespace pellucid::fallback {

using namespace structure;

namespace {

using Symbols = std::set<Symbol>;

std::string suffixed(const ir::Function& function, ast::Tree& tree, Symbol name) {
  std::string text(tree.text(name));
  if (text.starts_with('.')) text = "implicit_" + text.substr(1);
  return text + "_" + std::to_string(function.code.value);
}

// Finds the stores that restore what LoadFastAndClear saved: only they store such a value.
class Borrowed {
 public:
  Borrowed(ir::Function& function, ast::Tree& tree) : f_(function), tree_(tree) {
    const object::Code& code = tree.module()[function.code];
    for (const ir::Value& value : f_.values) {
      if (!is_op(value, Op::LoadFastAndClear)) continue;
      const auto has = [&](const std::vector<Symbol>& names) {
        return std::find(names.begin(), names.end(), value.symbol()) != names.end();
      };
      if (has(code.cellvars) || has(code.freevars)) cells_.insert(value.symbol());
    }
  }

  void run() {
    if (cells_.empty()) return;
    mark_outer_values();
    at_entry_.resize(f_.blocks.size());
    std::vector<BlockId> todo{BlockId(0u)};
    seen_.assign(f_.blocks.size(), 0);
    seen_[0] = 1;
    while (!todo.empty()) {
      const BlockId id = todo.back();
      todo.pop_back();
      const ir::Block& block = f_[id];
      const auto reach = [&](BlockId to, const Symbols& borrowed) {
        if (!to.valid()) return;
        Symbols& known = at_entry_[to.index()];
        const size_t before = known.size();
        known.insert(borrowed.begin(), borrowed.end());
        if (seen_[to.index()] && known.size() == before) return;
        seen_[to.index()] = 1;
        todo.push_back(to);
      };
      if (block.handler.valid()) {
        // A region starts after the instruction that borrows.
        reach(f_.handlers[block.handler.index()].entry, at_entry_[id.index()]);
      }
      const Symbols after = walk(id, false);
      for (const ir::Edge& edge : block.next) reach(edge.to, after);
    }
    for (size_t b = 0; b < f_.blocks.size(); ++b) walk(BlockId(b), true);
  }

 private:
  // Returns the names that are borrowed after the block.
  Symbols walk(BlockId id, bool rewrite) {
    Symbols borrowed = at_entry_[id.index()];
    for (const ValueId item : f_[id].items) {
      ir::Value& value = f_[item];
      const bool is_local = is_op(value, Op::LoadFastAndClear, Op::StoreFast, Op::LoadClosure,
                                  Op::LoadFast, Op::DeleteFast);
      if (!is_local || !cells_.contains(value.symbol())) continue;
      const Symbol name = value.symbol();
      const bool was = borrowed.contains(name);
      if (value.op == Op::LoadFastAndClear) {
        borrowed.insert(name);
      } else if (value.op == Op::StoreFast && is_outer_[f_.operands(item)[0].index()]) {
        borrowed.erase(name);
      }
      const bool touches = was || borrowed.contains(name);
      if (!rewrite || !touches) continue;
      value.a = tree_.intern(suffixed(f_, tree_, name)).value;
      if (value.op == Op::LoadClosure) value.op = Op::LoadFast;
    }
    return borrowed;
  }

  // Marks the values that are, or may be, results of LoadFastAndClear.
  void mark_outer_values() {
    is_outer_.assign(f_.values.size(), 0);
    for (size_t v = 0; v < f_.values.size(); ++v) {
      is_outer_[v] = is_op(f_.values[v], Op::LoadFastAndClear);
    }
    bool changed = true;
    const auto flow = [&](ValueId from, ValueId to) {
      if (!is_outer_[from.index()] || is_outer_[to.index()]) return;
      is_outer_[to.index()] = 1;
      changed = true;
    };
    while (changed) {
      changed = false;
      for (const ir::Block& block : f_.blocks) {
        for (const ir::Edge& edge : block.next) {
          for (size_t p = 0; p < edge.args.size(); ++p) flow(edge.args[p], f_[edge.to].params[p]);
        }
        if (!block.handler.valid()) continue;
        const flow::Handler& handler = f_.handlers[block.handler.index()];
        const auto& kept = f_[handler.entry].params;
        for (size_t p = 0; p < handler.depth && p < block.params.size(); ++p) {
          flow(block.params[p], kept[p]);
        }
      }
    }
  }

  ir::Function& f_;
  ast::Tree& tree_;
  Symbols cells_;
  std::vector<uint8_t> is_outer_;
  std::vector<Symbols> at_entry_;
  std::vector<uint8_t> seen_;
};

}  // namespace

void rename_hidden_locals(ir::Function& function, ast::Tree& tree) {
  const bool is_body = (tree.module()[function.code].flags & object::kOptimized) == 0;
  for (ir::Value& value : function.values) {
    const bool is_local =
        is_op(value, Op::LoadFast, Op::StoreFast, Op::DeleteFast, Op::LoadFastAndClear);
    if (!is_local) continue;
    if (is_body) {
      value.a = tree.intern(suffixed(function, tree, value.symbol())).value;
    } else {
      value.a = unstructured_parameter(tree, value.symbol()).value;
    }
  }
}

void free_borrowed_cells(ir::Function& function, ast::Tree& tree) {
  Borrowed(function, tree).run();
}

}  // namespace pellucid::fallback
