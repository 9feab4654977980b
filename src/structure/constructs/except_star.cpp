// SPDX-License-Identifier: Apache-2.0
#include "structure/constructs/except_star.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "structure/graph/walk.h"

namespace pellucid::structure {
namespace {

// Returns true for the exceptions that remain after the clauses.
bool combines_exceptions(const ir::Value& value) {
  return is_op(value, Op::Intrinsic2) && value.a == bytecode::kPrepReraiseStar;
}

class ExceptStar {
 public:
  explicit ExceptStar(Graph& graph) : g_(graph) {}

  void run() {
    look();
    // Nested statements do not interfere: the edges of each are its own.
    for (const Statement& each : statements_) fold(each);
    if (!statements_.empty()) g_.recompute();
  }

 private:
  // The block that combines the exceptions that remain after the clauses: `handled` if there are
  // none, else `raises`.
  struct Statement {
    ValueId exception;
    BlockId end, handled, raises;
  };
  // `except* type as name`: the test at the end of a block, and its body.
  struct Clause {
    BlockId test;
    ValueId split;         // EgMatch
    ValueId rest, caught;  // its elements
    BlockId body;
    size_t start = 0;   // in `body`: after the name's store
    HandlerId handler;  // collects the exceptions of the body; invalid: the body is empty
    BlockId next;
  };

  // Finds the statements, and the blocks that split the group, in one pass.
  void look() {
    for (const BlockId id : g_.order()) {
      const ir::Block& block = g_[id];
      for (const ValueId item : block.items) {
        const ir::Value& value = g_[item];
        if (is_op(value, Op::EgMatch)) splits_[operand(item, 0)] = {id, item};
        if (!combines_exceptions(value) || block.exit != ExitKind::BranchNone ||
            block.items.back() != item)
          continue;
        if (g_.resolve(block.operands[0]) != item) continue;
        statements_.push_back({operand(item, 0), id, block.next[0].to, block.next[1].to});
      }
    }
    if (statements_.empty()) return;
    for (size_t i = 0; i < g_.f.values.size(); ++i) {
      const ir::Value& value = g_.f.values[i];
      if (value.kind != ValueKind::Element || value.count != 1) continue;
      const ValueId of = operand(ValueId(i), 0);
      if (is_op(g_[of], Op::EgMatch)) elements_[of][value.a & 1] = ValueId(i);
    }
    for (size_t i = 0; i < g_.f.handlers.size(); ++i) {
      const BlockId entry = g_.f.handlers[i].entry;
      for (const ValueId value : g_[entry].entry_stack) {
        const bool own = g_[value].kind == ValueKind::Exception &&
                         static_cast<ir::ExceptionPart>(g_[value].a) == ir::ExceptionPart::Value;
        if (own) handlers_.emplace(value, HandlerId(i));
      }
    }
  }

  ValueId operand(ValueId id, size_t i) const { return g_.resolve(g_.f.operands(id)[i]); }

  void fold(const Statement& statement) {
    const auto handler = handlers_.find(statement.exception);
    if (handler == handlers_.end()) return;
    const BlockId entry = g_.f.handlers[handler->second.index()].entry;
    auto& first = g_[entry].items;
    if (first.empty() || !is_op(g_[first[0]], Op::BuildList) || !ends_as_known(statement)) return;
    std::vector<Clause> clauses;
    ValueId group = statement.exception;
    for (auto split = splits_.find(group); split != splits_.end(); split = splits_.find(group)) {
      Clause clause;
      if (!read(split->second.first, split->second.second, clause)) return;
      clauses.push_back(clause);
      group = clause.rest;
    }
    if (clauses.empty()) return;
    for (size_t i = 0; i < clauses.size(); ++i) {
      const bool last = i + 1 == clauses.size();
      if (!leads_to_next_clause(clauses[i], last ? statement.end : clauses[i].next, first[0]))
        return;
    }
    g_.handlers[handler->second.index()].kind = HandlerKind::ExceptStar;
    g_.handlers[handler->second.index()].exit = g_[statement.handled].items[0];
    first.erase(first.begin());
    bool falls = false;
    for (size_t i = 0; i < clauses.size(); ++i) {
      const bool last = i + 1 == clauses.size();
      falls |= rewrite(statement, clauses[i], last ? statement.raises : clauses[i].next);
    }
    // As at the end of the clauses of `except`, an unmatched exception is raised again. If all
    // bodies raise, that block has the edge to the code after the clauses.
    g_[statement.raises].items.clear();
    g_[statement.raises].operands.assign(1, statement.exception);
    if (!falls) g_[statement.raises].next[0] = {statement.handled, {}};
  }

  // Returns true if, after the last clause, one side leaves the handler and the other raises.
  bool ends_as_known(const Statement& statement) const {
    const ir::Block& handled = g_[statement.handled];
    return g_[statement.raises].exit == ExitKind::Reraise && handled.params.empty() &&
           !handled.items.empty() && is_leaving(g_[handled.items[0]]);
  }

  bool read(BlockId test, ValueId split, Clause& clause) const {
    const ir::Block& block = g_[test];
    const auto elements = elements_.find(split);
    if (elements == elements_.end() || block.items.back() != split) return false;
    clause.test = test;
    clause.split = split;
    clause.rest = elements->second[0];
    clause.caught = elements->second[1];
    if (block.exit != ExitKind::BranchNone) return false;
    if (g_.resolve(block.operands[0]) != clause.caught) return false;
    clause.next =
        skip(g_, block.next[0].to, Skipped::Empty, [](BlockId, const ir::Edge&) { return true; });
    clause.body = block.next[1].to;
    const auto& items = g_[clause.body].items;
    if (!items.empty() && stores_name(g_[items[0]]) && operand(items[0], 0) == clause.caught) {
      clause.start = 1;
    }
    const bool only_stores = items.size() == clause.start;
    BlockId begins = clause.body;
    if (only_stores && g_[begins].exit == ExitKind::Goto) begins = g_[begins].next[0].to;
    clause.handler = region_within(g_[begins].handler, block.handler);
    return true;
  }

  // Returns the outermost region inside `outer` that `handler` is or is within; invalid: there is
  // none.
  HandlerId region_within(HandlerId handler, HandlerId outer) const {
    if (handler == outer || !within(g_, handler, outer)) return {};
    for (size_t steps = 0; steps < g_.handlers.size(); ++steps) {
      const HandlerId around = g_.handlers[handler.index()].outer;
      if (around == outer) break;
      handler = around;
    }
    return handler;
  }

  // Returns true if every way out of the body only clears the name, if anything, and leads to the
  // next clause.
  bool leads_to_next_clause(const Clause& clause, BlockId next, ValueId raised) const {
    if (!clause.handler.valid()) return leads_to({clause.body, clause.start}, next, raised);
    for (const Way& way : inside(clause).ways_out) {
      if (!leads_to({g_[way.from].next[way.edge].to}, next, raised)) return false;
    }
    return leads_to({g_.f.handlers[clause.handler.index()].entry}, next, raised);
  }

  bool leads_to(Cursor from, BlockId next, ValueId raised) const {
    const auto passes = [&](ValueId item) {
      const bool keeps = is_op(g_[item], Op::ListAppend) && operand(item, 0) == raised;
      const bool clears =
          is_op(g_[item], Op::LoadConst) || stores_name(g_[item]) || deletes_name(g_[item]);
      return from.block != next && (keeps || clears);
    };
    walk_past(g_, from, passes, [&](const ir::Edge& edge) {
      if (from.block == next) return false;
      from = {edge.to};
      return true;
    });
    return from.block == next;
  }

  // The blocks of a clause's body, the regions in it, and the ways out of it.
  struct Inside {
    std::vector<BlockId> blocks;
    std::vector<HandlerId> regions;
    std::vector<Way> ways_out;
  };

  Inside inside(const Clause& clause) const {
    Inside found;
    std::unordered_set<BlockId> seen;
    std::unordered_set<HandlerId> regions{clause.handler};
    const auto reach = [&](BlockId to) {
      if (seen.insert(to).second) found.blocks.push_back(to);
    };
    reach(within(g_, g_[clause.body].handler, clause.handler) ? clause.body
                                                              : g_[clause.body].next[0].to);
    for (size_t i = 0; i < found.blocks.size(); ++i) {
      const BlockId id = found.blocks[i];
      const HandlerId around = g_[id].handler;
      if (regions.insert(around).second) {
        found.regions.push_back(around);
        reach(g_.f.handlers[around.index()].entry);
      }
      for (uint8_t k = 0; k < 2; ++k) {
        const BlockId to = g_[id].next[k].to;
        if (!to.valid()) continue;
        if (within(g_, g_[to].handler, clause.handler)) {
          reach(to);
        } else {
          found.ways_out.push_back({id, k});
        }
      }
    }
    return found;
  }

  // Makes the clause one test. Returns true if the end of its body is reached.
  bool rewrite(const Statement& statement, const Clause& clause, BlockId next) {
    ir::Value match = g_[clause.split];
    match.op = Op::ExcMatch;
    const ValueId type = operand(clause.split, 1);
    const ValueId test = g_.add(match, std::array<ValueId, 2>{statement.exception, type});
    g_.alias(clause.caught, statement.exception);
    ir::Block& block = g_[clause.test];
    block.items.back() = test;
    block.exit = ExitKind::Branch;
    block.jump = 1;
    block.operands.assign(1, test);
    block.next[0] = {clause.body, {}};
    block.next[1] = {next, {}};
    if (!clause.handler.valid() && clause.start == 0) {
      block.next[0].to = statement.handled;
      return true;
    }
    if (!clause.handler.valid()) {
      ir::Block& body = g_[clause.body];
      body.items.resize(clause.start);
      body.exit = ExitKind::Goto;
      body.operands.clear();
      body.next = {ir::Edge{statement.handled, {}}, ir::Edge{}};
      return true;
    }
    const Inside body = inside(clause);
    for (const Way& way : body.ways_out) g_.redirect(way.from, way.edge, statement.handled);
    const HandlerId outer = g_[clause.test].handler;
    for (const BlockId id : body.blocks) {
      if (g_[id].handler == clause.handler) g_[id].handler = outer;
    }
    for (const HandlerId region : body.regions) {
      HandlerInfo& info = g_.handlers[region.index()];
      if (info.outer == clause.handler) info.outer = outer;
    }
    g_.handlers[clause.handler.index()].kind = HandlerKind::Dissolved;
    return !body.ways_out.empty();
  }

  Graph& g_;
  std::vector<Statement> statements_;
  std::unordered_map<ValueId, std::pair<BlockId, ValueId>> splits_;  // group -> where it is split
  std::unordered_map<ValueId, std::array<ValueId, 2>> elements_;     // EgMatch -> rest, match
  std::unordered_map<ValueId, HandlerId> handlers_;                  // by the exception's value
};

}  // namespace

void fold_except_star(Graph& graph) {
  const auto& values = graph.f.values;
  const bool may_have_any = std::any_of(values.begin(), values.end(), combines_exceptions);
  if (may_have_any) ExceptStar(graph).run();
}

}  // namespace pellucid::structure
