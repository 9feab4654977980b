// SPDX-License-Identifier: Apache-2.0
// How control leaves a block: what its marks say of it, and the jump statements that this becomes.
#include <algorithm>
#include <unordered_set>

#include "ast/nodes.h"
#include "structure/emit/emitter.h"
#include "structure/graph/items.h"
#include "structure/graph/markers.h"
#include "structure/handlers/finally_copies.h"

namespace pellucid::structure {

using ast::NodeId;

bool Emitter::cannot_raise(BlockId block, size_t from) const {
  const ir::Block& b = graph_[block];
  return std::all_of(
      b.items.begin() + static_cast<ptrdiff_t>(from), b.items.end(), [&](ValueId item) {
        const ir::Value& value = graph_[item];
        return value.kind == ValueKind::Instr &&
               (value.op == Op::LoadConst || is_leaving(value) ||
                drops(value, ir::Dropped::Iterator) || drops(value, ir::Dropped::Constant));
      });
}

bool Emitter::only_returns(BlockId block, size_t from) const {
  return graph_[block].exit == ExitKind::Return && cannot_raise(block, from);
}

// The same, after what a `return` drops of the loops that it leaves.
bool Emitter::drops_and_returns(BlockId block) const {
  constexpr size_t kFew = 8;
  for (size_t steps = 0; steps < kFew && block.valid() && !only_returns(block); ++steps) {
    const ir::Block& b = graph_[block];
    if (b.exit != ExitKind::Goto || !b.next[0].args.empty() || !cannot_raise(block)) return false;
    block = b.next[0].to;
  }
  return block.valid() && only_returns(block);
}

// Returns true if both blocks return the same constant and do nothing else.
bool Emitter::same_return(BlockId a, BlockId b) const {
  if (!only_returns(a) || !only_returns(b)) return false;
  const ir::Value &x = graph_[graph_.resolve(graph_[a].operands[0])],
                  &y = graph_[graph_.resolve(graph_[b].operands[0])];
  const auto is_constant = [](const ir::Value& value) {
    return value.kind == ValueKind::Instr && value.op == Op::LoadConst;
  };
  return is_constant(x) && is_constant(y) && x.a == y.a;
}

// Returns true if a `return` can be written: not in a module or a class, where the end comes by
// itself.
bool Emitter::may_return() const {
  return (tree_.module()[graph_.f.code].flags & object::kOptimized) != 0;
}

// Where the code of a block lies, which may start with the mark of a region that was left earlier.
uint32_t Emitter::code_offset(BlockId block) const {
  for (const ValueId item : graph_[block].items) {
    const ir::Value& value = graph_[item];
    if (!is_marker(value)) return value.offset;
  }
  return graph_[block].offset;
}

// Returns true if the loop comes back from a block that the region does not protect. After a
// `return` that ends a clause comes the end of that clause, which may lie in the loop; but nothing
// gets there from the `return`, nor from what finally bodies around the loop do before it.
bool Emitter::goes_on_outside(const Loop& loop, HandlerId region) const {
  const auto is_outside = [&](BlockId id) { return !graph_.within(graph_[id].handler, region); };
  if (std::none_of(loop.blocks.begin(), loop.blocks.end(), is_outside)) return false;
  std::unordered_set<BlockId> seen{loop.header};
  std::vector<BlockId> todo{loop.header};
  while (!todo.empty()) {
    const BlockId block = todo.back();
    todo.pop_back();
    if (is_outside(block)) return true;
    for (const Way& way : graph_.ways_into(block)) {
      const ExitKind exit = graph_[way.from].exit;
      const bool comes = exit != ExitKind::Return && exit != ExitKind::Raise;
      if (comes && analysis_.contains(loop, way.from) && seen.insert(way.from).second) {
        todo.push_back(way.from);
      }
    }
  }
  return false;
}

// Returns true if a clause before the block ends in a jump statement to it: it is left on the
// line of its last statement, but for a `break` or `continue`, which has a line of its own. So has
// a `return`, which needs no loop to leave.
bool Emitter::is_broken_to(BlockId block) const {
  constexpr size_t kFew = 4;
  if (only_returns(block)) return false;
  const auto is_mark = [&](ValueId item) { return is_leaving(graph_[item]); };
  for (const Way& way : graph_.ways_into(block)) {
    if (analysis_.dominates(block, way.from)) continue;
    const auto& marks = graph_[way.from].items;
    const int32_t left = marks.empty() ? graph_[way.from].exit_line : graph_[marks.back()].line;
    BlockId from = way.from;
    for (size_t steps = 0; steps < kFew && graph_[from].exit == ExitKind::Goto; ++steps) {
      const auto& items = graph_[from].items;
      const auto last = std::find_if_not(items.rbegin(), items.rend(), is_mark);
      if (last != items.rend()) {
        const bool is_clause = graph_.exceptions_at(from, 0) > graph_.exceptions_at(block, 0);
        if (is_clause && graph_[*last].line > 0 && left > graph_[*last].line) return true;
        break;
      }
      const auto ways = graph_.ways_into(from);
      if (ways.size() != 1) break;
      from = (*ways.begin()).from;
    }
  }
  return false;
}

bool Emitter::left_by_jump(BlockId block) const {
  return has_marker(graph_, block, flow::Marker::LeftByJump);
}

bool Emitter::is_behind_jump(BlockId block) const {
  for (const ValueId item : graph_[block].items) {
    const ir::Value& value = graph_[item];
    if (value.kind != ValueKind::Instr) return false;
    if (is_marker(value, flow::Marker::LeftByJump)) return true;
    const bool does_nothing =
        is_leaving(value) || value.op == Op::LoadConst || drops(value, ir::Dropped::Iterator);
    if (!does_nothing) return false;
  }
  return false;
}

bool Emitter::ends_clause(BlockId block) const {
  return has_marker(graph_, block, flow::Marker::EndOfClause);
}

bool Emitter::never_ends(BlockId block) const {
  return graph_[block].exit == ExitKind::Reraise && graph_[block].operands.empty();
}

// `return None` that only follows what never goes on.
bool Emitter::is_dead_end(BlockId block) const {
  const ir::Block& b = graph_[block];
  if (b.exit != ExitKind::Return || !only_returns(block)) return false;
  const ir::Value& value = graph_[graph_.resolve(b.operands[0])];
  if (value.kind != ValueKind::Instr || value.op != Op::LoadConst ||
      tree_.module()[value.constant()].kind != object::ConstKind::None) {
    return false;
  }
  const auto ways = graph_.ways_into(block);
  return !ways.empty() && std::all_of(ways.begin(), ways.end(), [&](const Way& way) {
    const ExitKind exit = graph_[way.from].exit;
    return exit == ExitKind::Reraise || exit == ExitKind::Raise || exit == ExitKind::Return;
  });
}

// The jump statement that only runs a finally body, which goes another way.
NodeId Emitter::lost_statement(BlockId block, const Scope& scope) {
  const ValueId lost = lost_jump(graph_, block);
  if (lost.valid() && is_marker(graph_[lost], flow::Marker::LostReturn)) {
    const object::ConstId value(graph_[lost].b);
    const bool is_none = tree_.module()[value].kind == object::ConstKind::None;
    return tree_.add(ast::Return{is_none ? NodeId() : tree_.add(ast::Constant{value})});
  }
  if (!lost.valid()) {
    // Where no marks tell: what does not fall to where a finally body never ends has jumped.
    const bool skips = !graph_.f.marks_ends && graph_[block].operands.empty() &&
                       scope.follow.valid() && skip_markers(scope.follow, scope) != block;
    return skips && may_return() ? tree_.add(ast::Return{}) : NodeId();
  }
  // A loop that never comes round has left nothing after it; any other statement leaves so, too.
  if (!scope.loop) return may_return() ? tree_.add(ast::Return{}) : NodeId();
  const bool breaks = is_marker(graph_[lost], flow::Marker::LostBreak);
  return breaks ? tree_.add(ast::Break{}) : tree_.add(ast::Continue{});
}

// Returns true if the string that is returned was loaded before the last region or loop was left.
// Compilers load a constant after that: this one was an f-string without parts.
bool Emitter::is_loaded_inside(BlockId block) const {
  const ValueId value = graph_.resolve(graph_[block].operands[0]);
  if (!is_op(graph_[value], Op::LoadConst)) return false;
  const object::Const& text = tree_.module()[graph_[value].constant()];
  if (text.kind != object::ConstKind::Str || tree_.text(text.text).empty()) return false;
  const auto leaves = [&](ValueId item) {
    return is_leaving(graph_[item]) || drops(graph_[item], ir::Dropped::Iterator);
  };
  const auto& own = graph_[block].items;
  const auto place = std::find(own.begin(), own.end(), value);
  if (place != own.end()) return std::any_of(place, own.end(), leaves);
  for (const BlockId id : graph_.order()) {
    const auto& items = graph_[id].items;
    const auto load = std::find(items.begin(), items.end(), value);
    if (load == items.end()) continue;
    return graph_[id].handler != graph_[block].handler || std::any_of(load, items.end(), leaves);
  }
  return false;
}

void Emitter::leave(BlockId block, Statements& out) {
  const ir::Block& b = graph_[block];
  const ast::Where at = exit_where(block);
  if (b.exit == ExitKind::Return) {
    if (context_.accumulators.count(graph_.resolve(b.operands[0]))) {
      return out.append(tree_.add(ast::Return{}, at));
    }
    NodeId value = out.take(b.operands[0]);
    if (is_none(tree_, value)) value = {};
    // A walrus is no constant to compilers.
    if (value.valid() && tree_.is(value, ast::Kind::Constant) && is_loaded_inside(block)) {
      value = tree_.add(ast::JoinedStr{tree_.list({value})}, at);
    }
    ast::Where place = at;
    // A return that leaves a `with` is compiled on the line of the `with`.
    const bool leaves_region = b.items.size() > 1 && is_leaving(graph_[b.items.back()]);
    if (value.valid() && leaves_region) place.line = tree_.where(value).line;
    out.append(tree_.add(ast::Return{value}, place));
    return;
  }
  NodeId exception, cause;
  if (b.operands.size() == 2) cause = out.take(b.operands[1]);
  if (!b.operands.empty()) exception = out.take(b.operands[0]);
  const NodeId raise = tree_.add(ast::Raise{exception, cause}, at);
  // What `assert` raises is loaded by an instruction of its own.
  const auto loads_error = [](const ir::Value& value) {
    return value.kind == ValueKind::Instr &&
           (value.op == Op::LoadAssertionError || (value.op == Op::LoadGlobal && value.b == 1));
  };
  if (b.operands.size() == 1) {
    const ir::Value* error = &graph_[graph_.resolve(b.operands[0])];
    NodeId message;
    if (error->kind == ValueKind::Instr && error->op == Op::Call && error->count == 2 &&
        tree_.is(exception, ast::Kind::Call)) {
      error = &graph_[graph_.resolve(graph_.f.operands(*error)[0])];
      message = tree_.items(tree_.as<ast::Call>(exception).args)[0];
    }
    if (loads_error(*error)) {
      assertions_[raise] = message;
      // No other statement has this instruction.
      if (error->op == Op::LoadAssertionError) {
        tree_.set(raise, ast::Assert{constant(object::ConstKind::False, at), message});
      }
    }
  }
  out.append(raise);
}

}  // namespace pellucid::structure
