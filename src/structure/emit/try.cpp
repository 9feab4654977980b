// SPDX-License-Identifier: Apache-2.0
// Protected regions: with, try/finally, try/except.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "structure/emit/emitter.h"
#include "structure/graph/items.h"
#include "structure/graph/markers.h"
#include "structure/handlers/finally_copies.h"

namespace pellucid::structure {

using ast::ListId;
using ast::NodeId;

// Where control that leaves a region comes to: loops that it leaves on its way drop their
// iterators. Invalid if it returns from within such a loop, which is a statement where it leaves.
BlockId Emitter::landing(BlockId block, const Scope& scope) const {
  bool leaves_loop = false;
  for (size_t steps = 0; steps <= graph_.size(); ++steps) {
    block = skip_markers(block, scope);
    if (left_by_jump(block)) break;
    const ir::Block& b = graph_[block];
    if (only_returns(block)) return leaves_loop ? BlockId() : block;
    const bool only_drops =
        !b.items.empty() && std::all_of(b.items.begin(), b.items.end(), [&](ValueId item) {
          return only_leaves(graph_[item]) || drops(graph_[item], ir::Dropped::Iterator);
        });
    if (b.exit != ExitKind::Goto || !only_drops || !b.params.empty() || loop_at(block)) break;
    if (!b.next[0].args.empty()) break;
    if (block == scope.follow || is_jump_target(block, scope)) break;
    leaves_loop = true;
    block = b.next[0].to;
  }
  return block;
}

// Returns true if the jump statement that has led to a block is none of the region's own: it stands
// after the clauses, where the body comes by itself.
bool Emitter::jumps_behind_clauses(BlockId block, HandlerId handler) const {
  if (graph_.handlers[handler.index()].kind != HandlerKind::Except) return false;
  const uint32_t entry = graph_[graph_.f.handlers[handler.index()].entry].offset;
  for (const ValueId item : graph_[block].items) {
    const ir::Value& value = graph_[item];
    if (is_marker(value, flow::Marker::LeftByJump)) return value.offset > entry;
  }
  return false;
}

// Returns true if a `with` in the region falls through to the place, and not by a jump statement
// only.
bool Emitter::is_behind_with(BlockId place, HandlerId region, const Scope& scope) const {
  for (uint32_t i = 0; i < graph_.handlers.size(); ++i) {
    const HandlerInfo& info = graph_.handlers[i];
    const bool is_inner = info.kind == HandlerKind::With && info.swallowed.valid() &&
                          HandlerId(i) != region && graph_.within(HandlerId(i), region);
    if (is_inner && graph_.reachable(info.swallowed) && landing(info.swallowed, scope) == place) {
      return true;
    }
  }
  return false;
}

// The blocks outside a region that its blocks lead to, markers skipped; each once.
std::vector<BlockId> Emitter::exits_of(HandlerId handler, const Scope& scope) const {
  std::vector<BlockId> region = protection_->region(handler);
  std::sort(region.begin(), region.end(), [&](BlockId a, BlockId b) {
    return analysis_.number[a.index()] < analysis_.number[b.index()];
  });
  std::vector<BlockId> targets;
  std::unordered_set<BlockId> known;
  for (const BlockId block : region) {
    for (const ir::Edge& edge : graph_[block].next) {
      if (!edge.to.valid() || graph_.within(graph_[edge.to].handler, handler)) continue;
      const BlockId target = landing(edge.to, scope);
      if (!target.valid() || lost_jump(graph_, target).valid()) continue;
      if (is_behind_jump(target) && !jumps_behind_clauses(target, handler)) continue;
      if (known.insert(target).second) targets.push_back(target);
    }
  }
  return targets;
}

// The last of the tests of a handler's clauses, after which no clause has fitted. Invalid: a bare
// `except:` takes everything.
BlockId Emitter::end_of_clauses(HandlerId handler) const {
  BlockId block = graph_.f.handlers[handler.index()].entry;
  for (size_t steps = 0; block.valid() && steps <= graph_.size(); ++steps) {
    const ir::Block& b = graph_[block];
    if (b.exit == ExitKind::Reraise) return only_markers(graph_, b) ? block : BlockId();
    if (b.exit != ExitKind::Branch) return {};
    const ir::Value& match = graph_[graph_.resolve(b.operands[0])];
    if (match.kind != ValueKind::Instr || match.op != Op::ExcMatch) return {};
    block = b.next[1].to;
  }
  return {};
}

// Where a `try` goes on after its finally body, if that says so by itself.
BlockId Emitter::end_of_finally(HandlerId handler, const Scope& scope) const {
  // Control may come to its end through the clauses of a `try` in it alone.
  const BlockId end = graph_.handlers[handler.index()].end;
  if (end.valid() && graph_.reachable(end) && graph_[end].exit == ExitKind::Reraise &&
      graph_[end].next[0].to.valid()) {
    return skip_markers(graph_[end].next[0].to, scope);
  }
  const BlockId entry = graph_.f.handlers[handler.index()].entry;
  // What a statement in it handles is raised again by that one.
  const auto is_own = [&](ValueId value) {
    const auto& stack = graph_[entry].entry_stack;
    return std::any_of(stack.begin(), stack.end(),
                       [&](ValueId each) { return graph_.resolve(each) == graph_.resolve(value); });
  };
  std::unordered_set<BlockId> seen{entry};
  std::vector<BlockId> todo{entry};
  while (!todo.empty()) {
    const ir::Block& block = graph_[todo.back()];
    todo.pop_back();
    if (block.exit == ExitKind::Reraise) {
      const bool ends = block.operands.empty() || is_own(block.operands.back());
      if (ends && block.next[0].to.valid()) return skip_markers(block.next[0].to, scope);
      continue;
    }
    const auto reach = [&](BlockId to) {
      if (to.valid() && seen.insert(to).second) todo.push_back(to);
    };
    for (const ir::Edge& edge : block.next) reach(edge.to);
    // A `with` in it may be what control comes out of: where that swallows what its body raises.
    if (block.handler.valid() && block.handler != graph_.handlers[handler.index()].outer) {
      reach(graph_.f.handlers[block.handler.index()].entry);
    }
  }
  return {};
}

// The same for the clauses of its handler: blocks that the handler's entry does not dominate.
std::vector<Emitter::ClauseEnd> Emitter::exits_of_clauses(HandlerId handler,
                                                          const Scope& scope) const {
  const BlockId entry = graph_.f.handlers[handler.index()].entry;
  const BlockId unmatched = end_of_clauses(handler);
  std::vector<ClauseEnd> targets;
  std::unordered_map<BlockId, size_t> known;  // its place in `targets`
  std::unordered_set<BlockId> seen{entry};
  std::vector<BlockId> todo{entry};
  // A block past the handler's end handles its exception no more.
  const flow::Handler& own = graph_.f.handlers[handler.index()];
  const uint32_t outside = graph_[entry].exc_depth - (own.is_on_block_stack() ? 1 : 0);
  while (!todo.empty()) {
    const BlockId block = todo.back();
    todo.pop_back();
    const auto go = [&](BlockId to) {
      const bool ends = graph_[to].exc_depth <= outside;
      if (!ends && analysis_.dominates(entry, to)) {
        if (seen.insert(to).second) todo.push_back(to);
        return;
      }
      ClauseEnd end{landing(to, scope), false, false, false};
      if (!end.to.valid()) return;
      end.is_left = left_by_jump(block) || is_behind_jump(to) || is_behind_jump(end.to) ||
                    lost_jump(graph_, end.to).valid();
      end.is_end = !end.is_left && (ends_clause(block) || ends_clause(to));
      for (BlockId from = block, next = to;; from = next, next = graph_[next].next[0].to) {
        // Compilers that mark jump statements copy none: several ways do not lead to that of a
        // clause, but to one after the whole.
        if (!left_by_jump(block) && !lost_jump(graph_, end.to).valid() &&
            graph_.ways_into(next).size() > 1) {
          end.is_left = false;
        }
        const auto& items = graph_[from].items;
        const uint32_t last =
            items.empty() ? graph_[from].exit_offset : graph_[items.back()].offset;
        const bool jumps = graph_[next].offset > last + 4 || graph_[next].offset < last;
        end.is_far = end.is_far || jumps || graph_[from].exit != ExitKind::Goto;
        if (next == end.to) break;
      }
      const auto [place, fresh] = known.emplace(end.to, targets.size());
      if (fresh) return targets.push_back(end);
      ClauseEnd& same = targets[place->second];
      same.is_left = same.is_left && end.is_left;
      same.is_far = same.is_far || end.is_far;
      same.is_end = same.is_end || end.is_end;
    };
    if (block != unmatched) {
      for (const ir::Edge& edge : graph_[block].next) {
        if (edge.to.valid()) go(edge.to);
      }
    }
    const HandlerId nested = graph_[block].handler;
    if (nested.valid() && nested != graph_.handlers[handler.index()].outer) {
      const BlockId to = graph_.f.handlers[nested.index()].entry;
      if (analysis_.dominates(entry, to) && seen.insert(to).second) todo.push_back(to);
    }
  }
  return targets;
}

// Of the places that control may go on at: one that no jump statement can name comes first, then
// the follow of the scope, then whatever is there.
BlockId Emitter::pick_follow(const std::vector<BlockId>& targets, const Scope& scope) const {
  BlockId best;
  int best_rank = -1;
  for (const BlockId target : targets) {
    int rank = 4;
    if (target == scope.follow) {
      rank = 3;
    } else if (is_jump_target(target, scope)) {
      rank = 1;
    } else if (only_returns(target)) {
      rank = only_markers(graph_, graph_[target]) ? 0 : 2;
    }
    if (rank > best_rank) {
      best_rank = rank;
      best = target;
    }
  }
  return best_rank == 0 ? BlockId() : best;
}

BlockId Emitter::protected_region(HandlerId handler, BlockId block, const Scope& scope,
                                  Statements& out) {
  out.settle();
  if (const BlockId label = label_of(handler, scope); label.valid()) {
    return labelled(block, label, scope, out);
  }
  switch (graph_.handlers[handler.index()].kind) {
    case HandlerKind::With:
      return with_statement(handler, block, scope, out);
    case HandlerKind::Finally:
      return try_finally(handler, block, scope, out);
    case HandlerKind::Except:
    case HandlerKind::ExceptStar:
      return try_except(handler, block, scope, out);
    case HandlerKind::Unknown:
    case HandlerKind::Dissolved:
      break;
  }
  fail("a protected region of unknown form", block);
}

BlockId Emitter::with_statement(HandlerId handler, BlockId block, const Scope& scope,
                                Statements& out) {
  const HandlerInfo& info = graph_.handlers[handler.index()];
  const BlockId follow = skip_markers(info.swallowed, scope);
  Statements statements(context_);
  statements.begin_body(info.exit);
  emit(block, {follow, scope.loop, handler, scope.handled}, statements);
  const ListId body = tree_.list(statements.take_list());
  const auto manager = context_.managers.find(info.exit);
  if (manager == context_.managers.end()) fail("a with statement without a manager", block);
  const NodeId target = context_.targets[info.exit];
  context_.targets.erase(info.exit);
  const ir::Value& before = graph_[info.exit];
  const ast::Where at{before.line, before.offset};
  const NodeId item = tree_.add(ast::withitem{manager->second, target}, at);
  const uint32_t is_async = before.op == Op::BeforeAsyncWith ? 1 : 0;
  out.append(tree_.add(ast::With{tree_.list({item}), body, is_async}, at));
  return follow;
}

// The line of a `try` is gone; it stands before its first statement.
int32_t Emitter::first_line(ListId body) const {
  const auto items = tree_.items(body);
  return items.empty() ? bytecode::kNoLine : tree_.where(items[0]).line;
}

BlockId Emitter::try_finally(HandlerId handler, BlockId block, const Scope& scope,
                             Statements& out) {
  BlockId follow = end_of_finally(handler, scope);
  if (!follow.valid()) {
    // What a finally body around it overtakes was left by a return if others go on.
    std::vector<BlockId> exits = exits_of(handler, scope);
    std::erase_if(exits, [&](BlockId exit) { return never_ends(exit); });
    follow = pick_follow(exits, scope);
  }
  if (follow == block) fail("a try statement that goes on at its own start", block);
  // After a finally body that never comes to its end nothing goes on.
  if (follow.valid() && never_ends(follow)) follow = {};
  const ListId body = list(block, {follow, scope.loop, handler, scope.handled});
  const ast::Where at{first_line(body), graph_[block].offset};
  const BlockId entry = graph_.f.handlers[handler.index()].entry;
  ListId finalbody = list(
      entry, {graph_.handlers[handler.index()].end, scope.loop, scope.handler, scope.handled + 1});
  // An empty list would say that there is no `finally`.
  if (tree_.items(finalbody).empty()) finalbody = tree_.list({tree_.add(ast::Pass{}, at)});
  out.append(tree_.add(ast::Try{body, {}, {}, finalbody, 0}, at));
  return follow;
}

ListId Emitter::clauses(HandlerId handler, const Scope& scope) {
  std::vector<NodeId> handlers;
  BlockId block = graph_.f.handlers[handler.index()].entry;
  while (block.valid()) {
    const ir::Block b = graph_[block];
    const ast::Where at{b.items.empty() ? b.exit_line : graph_[b.items[0]].line, b.offset};
    if (b.exit == ExitKind::Reraise && only_markers(graph_, b)) break;
    NodeId type;
    BlockId body = block;
    BlockId next;
    if (b.exit == ExitKind::Branch) {
      check_handled(block, scope);
      context_.here = block;
      const ValueId match = graph_.resolve(b.operands[0]);
      if (graph_[match].kind == ValueKind::Instr && graph_[match].op == Op::ExcMatch) {
        Statements test(context_);
        test.run(std::span<const ValueId>(b.items.data(), b.items.size() - 1));
        type = test.take(graph_.f.operands(match)[1]);
        if (!test.list().empty()) fail("an except clause with statements in its type", block);
        body = b.next[0].to;
        next = b.next[1].to;
      }
    }
    Statements statements(context_);
    emit(body, scope, statements);
    const Symbol name = statements.take_caught();
    if (name.valid() && !type.valid()) fail("a bare except clause with a name", block);
    const ListId list = tree_.list(statements.take_list());
    handlers.push_back(tree_.add(ast::ExceptHandler{type, name, list}, at));
    block = next;
  }
  return tree_.list(handlers);
}

// Returns true if a clause comes to its end without a `continue`, which would have a line of its
// own.
bool Emitter::falls_through(BlockId entry, BlockId to, const Scope& scope) const {
  std::unordered_set<int32_t> lines, ends;
  std::vector<BlockId> todo{entry};
  while (!todo.empty()) {
    const BlockId id = todo.back();
    todo.pop_back();
    const auto dominated = analysis_.children(id);
    todo.insert(todo.end(), dominated.begin(), dominated.end());
    const ir::Block& block = graph_[id];
    if (block.exit != ExitKind::Goto) lines.insert(block.exit_line);
    const bool leads_there =
        block.exit == ExitKind::Goto && skip_markers(block.next[0].to, scope) == to;
    for (const ValueId item : block.items) {
      const ir::Value& value = graph_[item];
      if (!is_leaving(value)) lines.insert(value.line);
      if (leads_there && is_op(value, Op::PopExcept)) ends.insert(value.line);
    }
  }
  return std::any_of(ends.begin(), ends.end(), [&](int32_t line) { return lines.count(line) > 0; });
}

// Where the clauses of a handler go on at their end, if the bytecode says so of one with a name.
BlockId Emitter::said_end(BlockId entry, const Scope& scope) const {
  for (const ValueId id : graph_[entry].entry_stack) {
    const BlockId end = graph_.clause_end(graph_.resolve(id));
    if (!end.valid()) continue;
    const BlockId place = skip_markers(end, scope);
    return place.valid() && graph_.reachable(place) ? place : BlockId();
  }
  return {};
}

// Returns true if a finally body has overtaken what leads there, and stands around more than this
// `try`: then that was a return (3.9+).
bool Emitter::is_overtaken_outside(BlockId block, const Scope& scope) const {
  if (!never_ends(block) || graph_.f.marks_ends || graph_[block].handler == scope.handler) {
    return false;
  }
  const HandlerInfo& around = graph_.handlers[scope.handler.index()];
  return around.kind != HandlerKind::Finally || around.outer != graph_[block].handler;
}

// Where control goes on after a `try` with clauses, and what follows its body only.
Emitter::TryEnds Emitter::ends_of_try(HandlerId handler, const Scope& scope) const {
  const BlockId entry = graph_.f.handlers[handler.index()].entry;
  const std::vector<BlockId> ends = exits_of(handler, scope);
  std::vector<BlockId> clause_ends;
  const BlockId unmatched = end_of_clauses(handler);
  // What stands after the clauses: the `else`, or what the statement is followed by.
  BlockId behind = unmatched.valid() ? graph_[unmatched].next[0].to : BlockId();
  if (behind.valid()) behind = skip_markers(behind, scope);
  BlockId fallen_to;  // by a clause, other than to what is after
  bool meets = false;
  for (const ClauseEnd& end : exits_of_clauses(handler, scope)) {
    if (end.is_left) continue;
    clause_ends.push_back(end.to);
    meets = meets || end.to == behind;
    const bool returns =
        (only_returns(end.to) && !end.is_far) || is_overtaken_outside(end.to, scope);
    if (end.is_end || (!is_jump_target(end.to, scope) && !returns)) fallen_to = end.to;
  }
  if (behind.valid() && meets) return {behind, {}};
  const BlockId said = said_end(entry, scope);
  if (said.valid() && said != behind) fallen_to = said;
  if (behind.valid() && fallen_to.valid()) return {fallen_to, behind};
  if (behind.valid() && (is_jump_target(behind, scope) || only_returns(behind))) {
    return {behind, {}};
  }
  const auto is_code = [&](BlockId end) {
    return !is_jump_target(end, scope) && end != scope.follow && !only_returns(end) &&
           !is_overtaken_outside(end, scope);
  };
  // All clauses are left by jumps, but one of them would have come to an end.
  if (said.valid() && clause_ends.empty()) clause_ends.push_back(said);
  const std::unordered_set<BlockId> ends_clause(clause_ends.begin(), clause_ends.end());
  std::vector<BlockId> common, all = clause_ends;
  BlockId orelse, after_clause, after_both;
  bool clause_falls = false;
  for (const BlockId end : ends) {
    const bool shared = ends_clause.count(end) > 0;
    // A return that is laid out before the clauses is a statement of the body.
    const bool returns = only_returns(end) && graph_[end].offset < graph_[entry].offset;
    if (shared) common.push_back(end);
    if (!shared && !returns) all.push_back(end);
    if (!is_code(end)) continue;
    const bool jumps = !shared && orelse.valid() && is_behind_with(orelse, handler, scope) &&
                       !is_behind_with(end, handler, scope);
    if (!jumps) (shared ? after_both : orelse) = end;
  }
  const bool body_falls = !is_jump_target(scope.follow, scope) &&
                          std::find(ends.begin(), ends.end(), scope.follow) != ends.end();
  for (const BlockId end : clause_ends) {
    if (is_code(end) && !after_clause.valid()) after_clause = end;
    clause_falls |= end == scope.follow && !is_jump_target(end, scope);
  }
  // Code after a clause, which no jump statement can name, is what follows the statement.
  if (after_both.valid()) return {after_both, orelse};
  if (after_clause.valid()) return {after_clause, orelse};
  if (behind.valid()) orelse = behind;
  if (said.valid() && orelse.valid() && said != orelse) return {said, orelse};
  if (clause_falls) return {scope.follow, orelse};
  // With code of its own besides, the body needs a label (escapes.cpp).
  if (body_falls && !behind.valid()) return {orelse.valid() ? orelse : scope.follow, {}};
  const BlockId both = pick_follow(common, scope);
  if (both.valid() && (!orelse.valid() || !is_jump_target(both, scope))) return {both, orelse};
  if (!orelse.valid()) return {pick_follow(all, scope), {}};
  const BlockId after = pick_follow(clause_ends, scope);
  const bool jumps = after.valid() && is_jump_target(after, scope);
  // A return that other code leads to as well is where the clauses fall through to.
  // So it is not if a `with` or `try` around this one has to be left to get there.
  const bool leaves = after.valid() && after != scope.follow &&
                      !graph_.within(graph_[after].handler, scope.handler);
  const bool returns =
      after.valid() && only_returns(after) && (leaves || analysis_.dominates(entry, after));
  const bool may_continue = jumps && graph_[orelse].offset > graph_[entry].offset;
  if (!after.valid() || returns || is_overtaken_outside(after, scope) ||
      (jumps && after != scope.follow) || (may_continue && !falls_through(entry, after, scope))) {
    return {orelse, {}};  // the clauses never get there by themselves
  }
  return {after, orelse};
}

// The clauses of `except*` come to their end by themselves or raise: no jump can leave them.
Emitter::TryEnds Emitter::ends_of_star(HandlerId handler, const Scope& scope) const {
  const std::vector<ClauseEnd> left = exits_of_clauses(handler, scope);
  BlockId after = left.empty() ? BlockId() : left[0].to;
  if (const BlockId unmatched = end_of_clauses(handler); left.empty() && unmatched.valid()) {
    after = graph_[unmatched].next[0].to;
    if (after.valid()) after = skip_markers(after, scope);
  }
  const std::vector<BlockId> ends = exits_of(handler, scope);
  // What the body itself falls through to is no `else`; a jump may lead there all the same.
  const bool falls = std::find(ends.begin(), ends.end(), after) != ends.end();
  BlockId orelse;
  for (const BlockId end : ends) {
    const bool jumps = is_jump_target(end, scope) || only_returns(end) ||
                       (cannot_raise(end) && graph_[end].exit == ExitKind::Goto);
    const bool shared = falls && !is_jump_target(after, scope);
    if (end != after && !jumps && !shared) orelse = end;
  }
  if (after.valid()) return {after, orelse};
  return {orelse.valid() ? orelse : pick_follow(ends, scope), {}};
}

BlockId Emitter::try_except(HandlerId handler, BlockId block, const Scope& scope, Statements& out) {
  const bool is_star = graph_.handlers[handler.index()].kind == HandlerKind::ExceptStar;
  const auto [follow, orelse] =
      is_star ? ends_of_star(handler, scope) : ends_of_try(handler, scope);
  BlockId body_follow = orelse.valid() ? orelse : follow;
  if (is_star && follow.valid() && !orelse.valid()) {
    // The body may end in a copy of what comes after the statement.
    for (const BlockId end : exits_of(handler, scope)) {
      if (same_return(end, follow)) body_follow = end;
    }
  }
  if (body_follow == block) fail("a try statement that goes on at its own start", block);
  const ListId body = list(block, {body_follow, scope.loop, handler, scope.handled});
  const ast::Where at{first_line(body), graph_[block].offset};
  const ListId handlers = clauses(handler, {follow, scope.loop, scope.handler, scope.handled + 1});
  ListId otherwise;
  if (orelse.valid()) otherwise = list(orelse, {follow, scope.loop, scope.handler, scope.handled});
  out.append(tree_.add(ast::Try{body, handlers, otherwise, {}, is_star ? 1u : 0u}, at));
  return follow;
}

}  // namespace pellucid::structure
