// SPDX-License-Identifier: Apache-2.0
// Loops: where they end, what `break` and `else` are.
#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "ast/nodes.h"
#include "structure/emit/emitter.h"
#include "structure/graph/items.h"
#include "structure/graph/markers.h"
#include "structure/handlers/finally_copies.h"
#include "structure/scopes/dead_code.h"
#include "structure/scopes/unfoldable.h"

namespace pellucid::structure {

using ast::ListId;
using ast::NodeId;

namespace {

// What `assert` does that has failed; no other statement loads this error.
bool fails_assertion(const Graph& graph, BlockId id) {
  if (!id.valid() || graph[id].exit != ExitKind::Raise || graph[id].items.empty()) return false;
  const ir::Value& first = graph[graph[id].items[0]];
  return first.kind == ValueKind::Instr && first.op == Op::LoadAssertionError;
}

}  // namespace

// A `return` from several loops drops the iterator of each.
bool Emitter::returns_from_outer(BlockId block) const {
  bool drops = false;
  for (size_t steps = 0; steps <= graph_.size(); ++steps) {
    const ir::Block& b = graph_[block];
    if (b.exit == ExitKind::Return) return drops && graph_.ways_into(block).size() == 1;
    if (b.exit != ExitKind::Goto || !cannot_raise(block)) return false;
    drops = drops || !only_markers(graph_, b);
    block = b.next[0].to;
  }
  return false;
}

// The rest of a `return` whose value was computed before the block.
bool Emitter::returns_from_before(BlockId block) const {
  std::vector<ValueId> made;
  for (size_t steps = 0; steps <= graph_.size(); ++steps) {
    const ir::Block& b = graph_[block];
    made.insert(made.end(), b.items.begin(), b.items.end());
    if (b.exit == ExitKind::Return) {
      return !b.operands.empty() &&
             std::find(made.begin(), made.end(), graph_.resolve(b.operands[0])) == made.end();
    }
    if (b.exit != ExitKind::Goto || !b.next[0].args.empty() || !cannot_raise(block)) return false;
    block = b.next[0].to;
  }
  return false;
}

// Returns true if a round hands another value than `parameter` to the header in its place.
bool Emitter::changes_in_loop(BlockId header, ValueId parameter) const {
  const auto& params = graph_[header].params;
  const auto at = std::find(params.begin(), params.end(), parameter);
  if (at == params.end()) return false;
  const auto place = static_cast<size_t>(at - params.begin());
  for (const Way& way : graph_.ways_into(header)) {
    if (analysis_.number[way.from.index()] < analysis_.number[header.index()]) continue;
    const auto& args = graph_[way.from].next[way.edge].args;
    if (graph_.resolve(args[place]) != parameter) return true;
  }
  return false;
}

// The follow of a `for` loop: where its breaks lead, else where exhaustion does.
BlockId Emitter::for_loop(BlockId block, const Scope& scope, Statements& out) {
  const ir::Block b = graph_[block];
  if (!b.items.empty() && loop_at(block)) fail("a for loop with work in its header", block);
  if (!b.next[0].args.empty() || !b.next[1].args.empty()) {
    fail("a for loop that leaves values on the stack", block);
  }
  out.run(b.items);
  const ValueId iterator = graph_.resolve(b.operands[0]);
  const ValueId item = graph_.resolve(b.operands[1]);
  if (changes_in_loop(block, iterator))
    fail("a for loop that goes on with another iterator", block);
  const NodeId iterable = out.take(iterator);
  out.settle();
  const BlockId exhausted = skip_markers(b.next[1].to, scope);
  BlockId follow = exhausted;
  const auto breaks = breaks_.find(iterator);
  if (breaks != breaks_.end()) {
    BlockId other;
    bool same = false;
    for (const BlockId left : breaks->second) {
      const BlockId target = skip_markers(left, scope);
      if (target == exhausted) same = true;
      const bool returns = only_returns(target) || returns_from_outer(target);
      if (returns && !graph_.f.marks_ends) continue;
      if (!other.valid() || other == scope.follow) other = target;
    }
    if (!same && other.valid()) follow = other;
  }
  OpenLoop loop{block, follow, scope.loop};
  // Inside, the header is where each arm falls through to.
  Scope inner{block, &loop, scope.handler, scope.handled};
  context_.targets[item] = {};
  Statements body(context_);
  body.begin_body(item);
  emit(b.next[0].to, inner, body);
  const ListId statements = tree_.list(body.take_list());
  const NodeId target = target_of(item, exit_where(block));
  ListId orelse;
  if (follow != exhausted) {
    orelse = list(exhausted, {follow, scope.loop, scope.handler, scope.handled});
  }
  const uint32_t is_async = graph_[item].b == 1 ? 1 : 0;
  out.append(
      tree_.add(ast::For{target, iterable, statements, orelse, is_async}, exit_where(block)));
  return follow;
}

// Returns true if an except clause of the loop at `header` ends in `from`, and what comes then is a
// return that the clause itself cannot hold: it would have computed its value before it ended.
bool Emitter::is_behind_clause(BlockId from, BlockId to, BlockId header) const {
  const auto& items = graph_[from].items;
  if (items.empty() || graph_[to].exit != ExitKind::Return || cannot_raise(to)) return false;
  const ir::Value& last = graph_[items.back()];
  return is_op(last, Op::PopExcept) && graph_[to].handler == graph_[header].handler &&
         graph_.exceptions_at(to, 0) == graph_.exceptions_at(header, 0);
}

// What the bytecode says of where the code ends that was written into the loop; 0: nothing. An
// inner loop says it of itself only.
uint32_t Emitter::said_end_of_loop(const Loop& loop) const {
  const uint32_t own = analysis_.loop_of_header[loop.header.index()];
  uint32_t said = 0;
  for (const BlockId member : loop.blocks) {
    if (analysis_.innermost[member.index()] == own) said = std::max(said, graph_[member].loop_end);
  }
  return said;
}

// After the last code that was written into the loop, as far as the bytecode says it; else after
// the last that comes back.
uint32_t Emitter::end_of_loop(const Loop& loop) const {
  const uint32_t said = said_end_of_loop(loop);
  uint32_t seen = 0;
  for (const BlockId member : loop.blocks) {
    seen = std::max(seen, graph_[member].exit_offset + 1);
  }
  return said != 0 ? said : seen;
}

// The same, but for handlers that were moved after everything else, if only these come back.
uint32_t Emitter::end_before_handlers(const Loop& loop) const {
  const uint32_t end = end_of_loop(loop);
  if (said_end_of_loop(loop) != 0) return end;
  uint32_t moved = end, seen = 0;
  for (const BlockId member : loop.blocks) {
    const HandlerId handler = graph_[member].handler;
    if (!handler.valid()) continue;
    moved = std::min(moved, graph_[graph_.f.handlers[handler.index()].entry].offset);
  }
  for (const BlockId member : loop.blocks) {
    if (graph_[member].offset < moved) seen = std::max(seen, graph_[member].exit_offset + 1);
  }
  return seen;
}

// Returns true if that is where an `assert` fails: a part of that statement, wherever it is laid
// out.
bool Emitter::is_failed_assert(BlockId block) const {
  const ir::Block& b = graph_[block];
  if (b.exit != ExitKind::Raise || b.items.empty()) return false;
  const ir::Value& first = graph_[b.items[0]];
  return first.kind == ValueKind::Instr &&
         (first.op == Op::LoadAssertionError || (first.op == Op::LoadGlobal && first.b == 1));
}

// What protects code of the loop, and nothing around it.
std::unordered_set<HandlerId> Emitter::regions_in(const Loop& loop) const {
  const HandlerId outside = graph_[loop.header].handler;
  std::unordered_set<HandlerId> regions;
  for (const BlockId member : loop.blocks) {
    HandlerId region = graph_[member].handler;
    while (region.valid() && region != outside && regions.insert(region).second) {
      region = graph_.handlers[region.index()].outer;
    }
  }
  return regions;
}

// Returns true if one of the regions protects the block.
bool Emitter::is_within(BlockId block, const std::unordered_set<HandlerId>& regions) const {
  HandlerId region = graph_[block].handler;
  while (region.valid() && regions.count(region) == 0) {
    region = graph_.handlers[region.index()].outer;
  }
  return region.valid();
}

// Where control that leaves the loop other than by its test ends up: blocks laid out after it.
// Blocks before `exhausted` that never come back are still inside (`if c: f(); break`), but for
// `outside`.
Emitter::LeftTo Emitter::left_to(const Loop& loop, BlockId exhausted, const Scope& scope,
                                 BlockId outside) const {
  // What comes next to a loop at the end of another one is that one's header, before both, and
  // what comes next to a handler may be, too; but not what ends the handler.
  uint32_t end = end_of_loop(loop);
  if (exhausted.valid()) {
    const uint32_t start = graph_[loop.header].offset;
    BlockId behind = exhausted;
    for (const ir::Edge& edge : graph_[loop.header].next) {
      const bool ends_handler = !analysis_.contains(loop, edge.to) &&
                                !graph_[edge.to].items.empty() &&
                                only_markers(graph_, graph_[edge.to]);
      if (graph_[behind].offset <= start && ends_handler) behind = edge.to;
    }
    if (graph_[behind].offset > start) end = graph_[behind].offset;
  }
  const uint32_t end_of_rest = std::min(end, end_before_handlers(loop));
  LeftTo left;
  std::vector<BlockId>& found = left.places;
  std::unordered_set<BlockId> seen, bodies;
  std::vector<BlockId> todo;
  const std::unordered_set<HandlerId> regions = regions_in(loop);
  const auto visit = [&](BlockId from) {
    const HandlerId handler = graph_[from].handler;
    if (handler.valid() && handler != graph_[loop.header].handler) {
      const BlockId entry = graph_.f.handlers[handler.index()].entry;
      if (analysis_.dominates(loop.header, entry)) todo.push_back(entry);
    }
    for (const ir::Edge& edge : graph_[from].next) {
      if (!edge.to.valid() || analysis_.contains(loop, edge.to)) continue;
      if (is_behind_clause(from, edge.to, loop.header)) {
        found.push_back(edge.to);
      } else {
        todo.push_back(edge.to);
      }
    }
    // What takes the item is the body of a `for`, though it may never come back.
    if (graph_[from].exit == ExitKind::ForIter) bodies.insert(graph_[from].next[0].to);
  };
  for (const BlockId member : loop.blocks) {
    if (member == loop.header && exhausted.valid()) continue;
    visit(member);
  }
  while (!todo.empty()) {
    const BlockId target = skip_markers(todo.back(), scope);
    todo.pop_back();
    if (!seen.insert(target).second || analysis_.contains(loop, target)) continue;
    if (is_overtaken_around(loop, target)) left.overtaken = target;
    if (is_failed_assert(target) || never_ends(target)) continue;
    // A case stands with those before it, wherever its body leads.
    const bool stands_inside = is_next_case(target) || bodies.count(target) != 0;
    if (stands_inside && analysis_.dominates(loop.header, target)) {
      visit(target);
      continue;
    }
    // Code that handles an exception of the loop, or shares its protection, is still inside.
    const bool handles = graph_.exceptions_at(target, 0) > graph_.exceptions_at(loop.header, 0);
    const bool inside = handles || is_within(target, regions);
    const uint32_t at = code_offset(target);
    const bool is_behind = at >= end || (at >= end_of_rest && is_broken_to(target));
    // Where a body ends is after its last loop, whichever copy of that end was kept.
    if (target == exhausted || target == scope.follow || target == outside ||
        (is_behind && !inside) || !analysis_.dominates(loop.header, target)) {
      found.push_back(target);
      continue;
    }
    visit(target);
  }
  return left;
}

// Returns true if control may come from one place to the other without going back; true only if it
// is near.
bool Emitter::leads_to(BlockId from, BlockId to) const {
  constexpr size_t kNear = 64;
  std::vector<BlockId> seen{from};
  for (size_t i = 0; i < seen.size() && seen.size() < kNear; ++i) {
    for (const ir::Edge& edge : graph_[seen[i]].next) {
      if (edge.to == to) return true;
      const bool back = !edge.to.valid() ||
                        analysis_.number[edge.to.index()] <= analysis_.number[seen[i].index()];
      if (!back && std::find(seen.begin(), seen.end(), edge.to) == seen.end()) {
        seen.push_back(edge.to);
      }
    }
  }
  return false;
}

// Code that a `try` or `with` inside the loop leads to, and that never comes back: it cannot stand
// where it is left, for it would be protected there. Of several, all but one are the `else` of a
// `try`: what a `with` falls through to is one, and so is what lies before the last.
BlockId Emitter::forced_out(const Loop& loop, const Scope& scope) const {
  const HandlerId outside = graph_[loop.header].handler;
  const uint32_t handled = graph_.exceptions_at(loop.header, 0);
  const std::unordered_set<HandlerId> regions = regions_in(loop);
  const auto is_protected = [&](BlockId id) { return is_within(id, regions); };
  std::unordered_set<BlockId> targets;
  // What another region of the loop protects is in the loop as well: an `else` within a `finally`.
  std::vector<BlockId> inside;
  std::unordered_set<BlockId> seen;
  const auto look_at = [&](BlockId id) {
    if (is_protected(id) && seen.insert(id).second) inside.push_back(id);
  };
  for (const BlockId member : loop.blocks) look_at(member);
  for (size_t i = 0; i < inside.size(); ++i) {
    const BlockId member = inside[i];
    const HandlerId region = graph_[member].handler;
    for (const ir::Edge& edge : graph_[member].next) {
      if (!edge.to.valid()) continue;
      if (graph_.within(graph_[edge.to].handler, region)) {
        look_at(edge.to);
        continue;
      }
      const BlockId target = landing(edge.to, scope);
      if (!target.valid() || analysis_.contains(loop, target) || only_returns(target)) continue;
      if (is_protected(target)) {
        look_at(target);
        continue;
      }
      if (left_by_jump(target) || never_ends(target)) continue;
      if (graph_.exceptions_at(target, 0) <= handled) targets.insert(target);
    }
  }
  const auto rank = [&](BlockId id) {
    return std::tuple(!is_behind_with(id, outside, scope), graph_[id].offset);
  };
  const auto last = std::max_element(targets.begin(), targets.end(),
                                     [&](BlockId a, BlockId b) { return rank(a) < rank(b); });
  return last == targets.end() ? BlockId() : *last;
}

// Returns true if a handler of the loop goes on with other statements of it, which stand after the
// `try`.
bool Emitter::goes_on_behind_try(const Loop& loop) const {
  const HandlerId outside = graph_[loop.header].handler;
  const uint32_t handled = graph_.exceptions_at(loop.header, 0);
  const std::unordered_set<HandlerId> regions = regions_in(loop);
  return std::any_of(loop.blocks.begin(), loop.blocks.end(), [&](BlockId member) {
    const bool is_statement = graph_[member].handler == outside &&
                              graph_.exceptions_at(member, 0) == handled &&
                              !only_markers(graph_, graph_[member]);
    return is_statement && std::any_of(regions.begin(), regions.end(), [&](HandlerId region) {
             return analysis_.dominates(graph_.f.handlers[region.index()].entry, member);
           });
  });
}

// Returns true if a block stands for a finally body around the loop that never comes to its end.
bool Emitter::is_overtaken_around(const Loop& loop, BlockId block) const {
  const HandlerId around = graph_[loop.header].handler, outside = graph_[block].handler;
  return never_ends(block) && !lost_jump(graph_, block).valid() && around != outside &&
         graph_.within(around, outside);
}

// Returns true if a `with` in the loop is left for the place, to which it does not fall through.
bool Emitter::jumps_out_of_with(const Loop& loop, BlockId place, const Scope& scope) const {
  const HandlerId outside = graph_[loop.header].handler;
  for (const BlockId member : loop.blocks) {
    HandlerId region = graph_[member].handler;
    if (!graph_.within(region, outside)) continue;
    for (; region != outside; region = graph_.handlers[region.index()].outer) {
      const HandlerInfo& info = graph_.handlers[region.index()];
      if (info.kind != HandlerKind::With) continue;
      if (info.swallowed.valid() && landing(info.swallowed, scope) == place) continue;
      const auto& next = graph_[member].next;
      const bool leads_there = std::any_of(next.begin(), next.end(), [&](const ir::Edge& edge) {
        return edge.to.valid() && !graph_.within(graph_[edge.to].handler, region) &&
               landing(edge.to, scope) == place;
      });
      if (leads_there) return true;
    }
  }
  return false;
}

BlockId Emitter::while_loop(BlockId block, const Scope& scope, Statements& out) {
  const Loop& loop = *loop_at(block);
  const ir::Block b = graph_[block];
  out.settle();
  // `while test:` if the header does nothing but test, and one side leaves the loop.
  NodeId test;
  uint8_t stay = 0;
  bool tested = false;
  const bool asserts = b.exit == ExitKind::Branch && (fails_assertion(graph_, b.next[0].to) ||
                                                      fails_assertion(graph_, b.next[1].to));
  if (b.exit == ExitKind::Branch && !asserts && b.params.empty() && !tests_case(block)) {
    const bool in0 = analysis_.contains(loop, b.next[0].to);
    const bool in1 = analysis_.contains(loop, b.next[1].to);
    // Where the other side was written into the loop, the test was, too: an `if`.
    const BlockId out_of = b.next[in0 ? 1 : 0].to;
    const bool is_inside = !graph_.is_tested(block) && graph_[out_of].offset > b.exit_offset &&
                           graph_[out_of].offset < end_before_handlers(loop) &&
                           !only_returns(out_of);
    if (in0 != in1 && !is_inside && b.next[0].args.empty() && b.next[1].args.empty()) {
      Statements trial(context_);
      trial.run(b.items);
      if (trial.list().empty()) {
        const NodeId condition = trial.take(b.operands[0]);
        if (trial.list().empty() && trial.hard_pending() == 0) {
          tested = true;
          stay = in0 ? 0 : 1;
          test = stay == 1 ? negated(tree_, condition) : condition;
        }
      }
    }
  }
  const BlockId exhausted = tested ? skip_markers(b.next[1 - stay].to, scope) : BlockId();
  BlockId follow = exhausted;
  const LeftTo left = left_to(loop, exhausted, scope);
  const std::vector<BlockId>& places = left.places;
  if (std::find(places.begin(), places.end(), exhausted) == places.end() || !tested) {
    BlockId best;
    for (const BlockId target : places) {
      const bool is_return = returns_from_before(target);
      if (drops_and_returns(target) && (tested || places.size() > 1 || is_return)) continue;
      if (is_return && returns_from_outer(target)) continue;
      // What comes to another such place by itself is a statement of the loop, and a `break`.
      const bool is_named = target == scope.follow || is_jump_target(target, scope);
      const bool goes_on =
          !is_named && std::any_of(places.begin(), places.end(), [&](BlockId other) {
            return other != target && !only_returns(other) && leads_to(target, other);
          });
      if (goes_on) continue;
      // What the region around the loop does not protect cannot be written into the loop.
      const auto is_outside = [&](BlockId id) {
        return !graph_.within(graph_[id].handler, b.handler);
      };
      // What raises fits anywhere; what goes on from there does not.
      const auto rank = [&](BlockId id) {
        return std::tuple(!is_outside(id), graph_[id].exit == ExitKind::Raise, code_offset(id));
      };
      if (!best.valid() || rank(target) < rank(best)) best = target;
    }
    // What lies before where the test leads is in the loop, in an `else` if nowhere else.
    const bool is_behind = tested && graph_[exhausted].offset > b.offset;
    const BlockId forced = is_behind ? BlockId() : forced_out(loop, scope);
    // Where only that comes to the end of the body around the loop, the loop is left for it.
    const auto is_on_the_way = [&] {
      if (best != scope.follow || !goes_on_behind_try(loop)) return false;
      const std::vector<BlockId> others = left_to(loop, exhausted, scope, forced).places;
      return std::find(others.begin(), others.end(), best) == others.end();
    };
    // Nothing but a `break` leaves a `with` for elsewhere than where it falls to.
    if (forced.valid() &&
        (!best.valid() || jumps_out_of_with(loop, forced, scope) || is_on_the_way())) {
      best = forced;
    }
    if (best.valid()) follow = best;
  }
  // Where nothing but such a finally body comes next, what leads to it is a `break`.
  if (!follow.valid()) follow = left.overtaken;
  OpenLoop open{block, follow, scope.loop};
  Scope inner{block, &open, scope.handler, scope.handled};
  ListId body, orelse;
  if (tested) {
    test = tested_condition(tree_, test);
    body = list(b.next[stay].to, inner);
    if (follow != exhausted)
      orelse = list(exhausted, {follow, scope.loop, scope.handler, scope.handled});
  } else {
    test = constant(object::ConstKind::True, exit_where(block));
    Statements statements(context_);
    // The header's own work is the start of the body.
    const Scope body_scope{block, &open, scope.handler, scope.handled};
    // What is protected there would begin with the jump back to it.
    if (b.handler != scope.handler && graph_.within(b.handler, scope.handler)) {
      fail("a loop that starts within a region", block);
    }
    statements.run(b.items);
    if (b.exit == ExitKind::Branch) {
      bool falls = false;
      const BlockId next = branch(block, body_scope, statements, falls);
      context_.here = {};
      if (next.valid()) emit(next, body_scope, statements);
    } else if (b.exit == ExitKind::Goto) {
      statements.pass(b.next[0]);
      emit(b.next[0].to, body_scope, statements);
    } else {
      fail("a loop of unknown form", block);
    }
    body = tree_.list(statements.take_list());
  }
  ast::Where at = exit_where(block);
  if (!tested) at.line = first_line(body);
  out.append(tree_.add(ast::While{test, body, orelse}, at));
  return follow;
}

}  // namespace pellucid::structure
