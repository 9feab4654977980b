// SPDX-License-Identifier: Apache-2.0
#include "structure/emit/emitter.h"

#include <algorithm>

#include "ast/nodes.h"
#include "base/check.h"
#include "structure/graph/items.h"
#include "structure/graph/markers.h"
#include "structure/graph/not_structured.h"
#include "structure/handlers/finally_copies.h"
#include "structure/reduce/inlined_comprehensions.h"
#include "structure/scopes/dead_code.h"
#include "structure/scopes/unfoldable.h"

namespace pellucid::structure {

using ast::ListId;
using ast::NodeId;

namespace {
// CPython's own parser stops at 100 levels of indentation; `elif` chains take one level each here.
constexpr size_t kDeepest = 4000;

// The iterators that a loop makes for itself: their text is what it goes through. One that goes
// anywhere else as well, as only generated code has it, is a value: it says `iter`.
std::unordered_set<ValueId> iterators_of_loops(const Graph& graph) {
  std::unordered_set<ValueId> found;
  // All blocks, also those that now belong to a Region.
  for (const ir::Block& block : graph.f.blocks) {
    if (block.exit == ExitKind::ForIter && !block.operands.empty()) {
      found.insert(graph.resolve(block.operands[0]));
    }
  }
  if (found.empty()) return found;
  const auto goes = [&](ValueId value) { found.erase(graph.resolve(value)); };
  for (const BlockId id : graph.order()) {
    const ir::Block& block = graph[id];
    for (const ValueId item : block.items) {
      // The end of a loop drops it.
      if (graph[item].kind != ValueKind::Instr || graph[item].op == Op::Pop) continue;
      for (const ValueId operand : graph.f.operands(item)) goes(operand);
    }
    if (block.exit != ExitKind::ForIter)
      std::for_each(block.operands.begin(), block.operands.end(), goes);
    for (const ir::Edge& edge : block.next) std::for_each(edge.args.begin(), edge.args.end(), goes);
  }
  return found;
}
}  // namespace

Emitter::Emitter(Graph& graph, ast::Tree& tree, Expressions& expressions,
                 bool keeps_functions_in_place)
    : graph_(graph), tree_(tree), context_{graph, tree, expressions} {
  context_.keeps_functions_in_place = keeps_functions_in_place;
  // The end of a `for` loop by `break` is where its iterator is dropped.
  for (const BlockId id : graph.order()) {
    if (graph[id].items.empty() || graph[id].exit != ExitKind::Goto) continue;
    const ir::Value& last = graph[graph[id].items.back()];
    // A `return` drops it as well, which the bytecode may tell.
    const bool returns = graph.f.marks_ends && ir::drop_place(last) != ir::DropPlace::BeforeJump;
    if (!drops(last, ir::Dropped::Iterator) || returns) continue;
    breaks_[graph.resolve(graph.f.operands(last)[0])].push_back(graph[id].next[0].to);
  }
  context_.iterators = iterators_of_loops(graph);
  std::unordered_map<ValueId, uint32_t> pops;
  for (const BlockId id : graph.order()) {
    for (const ValueId item : graph[id].items) {
      const ir::Value& value = graph[item];
      if (is_op(value, Op::Pop)) {
        const ValueId what = graph.resolve(graph.f.operands(value)[0]);
        const bool is_item = graph[what].kind == ValueKind::Item;
        if (is_item && ++pops[what] == graph[what].uses) context_.dropped.insert(what);
      }
      if (drops(value, ir::Dropped::Result)) {
        const ValueId what = graph.resolve(graph.f.operands(value)[0]);
        if (graph[what].kind == ValueKind::Instr && graph[what].uses == 1)
          context_.dropped.insert(what);
      }
      if (fills_container(value))
        context_.accumulators.insert(graph.resolve(graph.f.operands(value)[0]));
    }
  }
  analysis_ = analyse(graph);
  protection_.emplace(graph);
  for (const BlockId id : graph.order()) {
    if (!left_by_jump(id) || graph[id].exit != ExitKind::Goto) continue;
    const BlockId target = landing(graph[id].next[0].to, {});
    if (target.valid()) left_for_[target].push_back(id);
  }
  budget_ = 4 * graph.order().size() + 64;
  context_.analysis = &analysis_;
}

ListId Emitter::run() {
  if (!analysis_.reducible) fail("a loop with several entries", graph_.entry());
  const ListId body = list(graph_.entry(), {});
  return body;
}

void Emitter::fail(const char* what, BlockId block) const {
  throw NotStructured(what, graph_[block].items.empty() ? graph_[block].exit_offset
                                                        : graph_[graph_[block].items[0]].offset);
}

ListId Emitter::list(BlockId block, const Scope& scope, bool* falls) {
  Statements out(context_);
  const bool falls_through = emit(block, scope, out);
  if (falls) *falls = falls_through;
  const std::vector<NodeId> statements = out.take_list();
  return tree_.list(statements);
}

bool Emitter::is_open(BlockId header, const Scope& scope) const {
  for (const OpenLoop* loop = scope.loop; loop; loop = loop->outer) {
    if (loop->header == header) return true;
  }
  return false;
}

bool Emitter::is_jump_target(BlockId block, const Scope& scope) const {
  return scope.loop && (block == scope.loop->header || block == scope.loop->follow);
}

BlockId Emitter::skip_markers(BlockId block, const Scope& scope) const {
  for (size_t steps = 0; block.valid() && steps <= graph_.size(); ++steps) {
    const ir::Block& b = graph_[block];
    if (b.exit != ExitKind::Goto || !only_markers(graph_, b) || !b.params.empty()) break;
    // Where the statements around go on may be an empty block as well.
    if (block == scope.follow || is_jump_target(block, scope)) break;
    // That is a statement.
    if (left_by_jump(block)) break;
    // An empty block may head a loop, before a `try`.
    if (loop_at(block)) break;
    // What it passes on has to be said.
    if (!b.next[0].args.empty()) break;
    block = b.next[0].to;
  }
  return block;
}

// What runs code sees the exception that is being handled, and so do the exceptions that it raises:
// statements may only stand where as many are handled as in the bytecode.
void Emitter::check_handled(BlockId block, const Scope& scope) const {
  const ir::Block& b = graph_[block];
  uint32_t handled = graph_.exceptions_at(block, 0);
  const auto require = [&] {
    if (handled != scope.handled) fail("code that runs while other exceptions are handled", block);
  };
  for (const ValueId item : b.items) {
    const ir::Value& value = graph_[item];
    if (value.kind == ValueKind::Instr) {
      if (is_leaving(value)) {
        if (!is_marker(value) && handled > 0) --handled;
        continue;
      }
      if (value.op == Op::LoadConst || drops(value, ir::Dropped::Iterator) ||
          drops(value, ir::Dropped::Constant)) {
        continue;
      }
    }
    require();
  }
  if (b.exit != ExitKind::Goto && b.exit != ExitKind::Return && b.exit != ExitKind::Reraise) {
    require();
  }
}

const Loop* Emitter::loop_at(BlockId block) const {
  const uint32_t index = analysis_.loop_of_header[block.index()];
  return index == ~0u ? nullptr : &analysis_.loops[index];
}

bool Emitter::emit(BlockId block, const Scope& scope, Statements& out) {
  struct Depth {
    size_t& depth;
    ~Depth() { --depth; }
  } guard{++depth_};
  if (depth_ > kDeepest) fail("nesting beyond the limit", block);
  bool jumps = false;  // a jump statement has left a region on the way here
  fell_from_ = {};
  while (block.valid()) {
    if (block == scope.follow &&
        !(jumps && (is_jump_target(block, scope) || only_returns(block)))) {
      out.settle(true);  // what is wanted later outlives this list
      return true;
    }
    if (scope.loop && block == scope.loop->header) {
      out.append(tree_.add(ast::Continue{}, jump_where()));
      return false;
    }
    if (scope.loop && block == scope.loop->follow) {
      out.append(tree_.add(ast::Break{}, jump_where()));
      return false;
    }
    context_.here = block;
    if (budget_-- == 0) fail("control flow that needs too much repetition", block);
    const ir::Block& b = graph_[block];
    const bool is_loop = b.exit == ExitKind::ForIter || loop_at(block) != nullptr;
    check_handled(block, scope);
    if (is_open(block, scope)) fail("a jump to an outer loop", block);
    if (b.handler != scope.handler) {
      if (graph_.within(b.handler, scope.handler)) {
        HandlerId enter = b.handler;
        while (graph_.handlers[enter.index()].outer != scope.handler) {
          enter = graph_.handlers[enter.index()].outer;
        }
        // A loop that goes on outside the region contains the `try`, not the other way round.
        const Loop* loop = loop_at(block);
        if (!loop || !goes_on_outside(*loop, enter)) {
          block = protected_region(enter, block, scope, out);
          fell_from_ = {};
          continue;
        }
      } else if (!cannot_raise(block) && !is_overtaken_outside(block, scope)) {
        fail("code that leaves a try statement in the middle", block);
      }
    }
    if (is_loop) {
      block =
          b.exit == ExitKind::ForIter ? for_loop(block, scope, out) : while_loop(block, scope, out);
      fell_from_ = {};
      continue;
    }
    out.run(b.items);
    if (!only_markers(graph_, b)) jumps = false;
    jumps = jumps || left_by_jump(block);
    switch (graph_[block].exit) {
      case ExitKind::Goto:
        out.pass(graph_[block].next[0]);
        fell_from_ = block;
        block = graph_[block].next[0].to;
        break;
      case ExitKind::Branch: {
        bool falls = false;
        block = branch(block, scope, out, falls);
        context_.here = {};
        fell_from_ = {};
        if (!block.valid()) return falls;
        break;
      }
      case ExitKind::Reraise: {
        // The end of a finally body: nothing of it may come after, unless the end has become part
        // of its last block. What was computed is raised so by nothing that Python can say.
        const auto& values = graph_[block].operands;
        const bool computed =
            !values.empty() && std::all_of(values.begin(), values.end(), [&](ValueId id) {
              id = graph_.resolve(id);
              return graph_[id].kind == ValueKind::Instr || context_.materialized.count(id) > 0;
            });
        if (computed) fail("an exception that is raised again where it is not handled", block);
        if (!values.empty() && scope.follow.valid() && graph_.reachable(scope.follow) &&
            skip_markers(scope.follow, scope) != block) {
          fail("a finally body that ends in the middle", block);
        }
        const NodeId jump = lost_statement(block, scope);
        if (!jump.valid()) return true;
        out.append(jump);
        return false;
      }
      case ExitKind::Return:
      case ExitKind::Raise:
        // The end of the body comes by itself, all the more if control never comes there.
        if (!scope.follow.valid() && !scope.loop && is_dead_end(block)) return true;
        leave(block, out);
        jumps = false;  // it has been said
        block = graph_[block].next[0].to;
        if (!block.valid()) return false;
        break;
      case ExitKind::BranchNone:
      case ExitKind::ForIter:
      case ExitKind::Send:
        fail("a jump of unknown form", block);
    }
  }
  return false;
}

NodeId Emitter::constant(object::ConstKind kind, ast::Where at) {
  object::Const value;
  value.kind = kind;
  return tree_.add(ast::Constant{tree_.module().add(value)}, at);
}

NodeId Emitter::if_statement(NodeId test, ListId body, ListId orelse, ast::Where at) {
  if (tree_.items(body).empty() && !tree_.items(orelse).empty()) {
    std::swap(body, orelse);
    test = negated(tree_, test);
  }
  if (tree_.items(body).size() == 1 && tree_.items(orelse).empty()) {
    const NodeId only = tree_.items(body)[0];
    const auto assertion = assertions_.find(only);
    if (assertion != assertions_.end()) {
      return tree_.add(ast::Assert{negated(tree_, test), assertion->second}, at);
    }
  }
  return tree_.add(ast::If{tested_condition(tree_, test), body, orelse}, at);
}

// Where the arms of a branch meet again: a block that the branch dominates and several ways lead
// to.
BlockId Emitter::meeting_point(BlockId block, const Scope& scope) const {
  BlockId best;
  for (const BlockId child : analysis_.children(block)) {
    size_t forward = 0;
    for (const Way way : graph_.ways_into(child)) {
      if (analysis_.number[way.from.index()] < analysis_.number[child.index()]) ++forward;
    }
    if (forward < 2 || !graph_.within(graph_[child].handler, scope.handler)) continue;
    const BlockId place = skip_markers(child, scope);
    if (is_jump_target(child, scope) || is_jump_target(place, scope)) continue;
    // One of the ends of a clause, which lead there one by one: other arms may have their own.
    if (child != place && place == scope.follow) continue;
    if (only_returns(child) && best.valid()) continue;
    best = child;
  }
  return best;
}

// Returns true if the arm that is laid out first, and was emitted last, goes back by a statement of
// its own to where the loop's next round starts.
bool Emitter::ends_in_continue(BlockId block, uint8_t near, const Scope& scope) const {
  // A loop that never comes round has no header.
  if (!scope.loop || !scope.follow.valid() || scope.follow != scope.loop->header) return false;
  // Out of a region it compiles to other code than what falls off its end.
  if (scope.handler != graph_[scope.loop->header].handler) return false;
  // A jump is all that it is.
  if (graph_[block].next[near].to == scope.follow) return true;
  if (!fell_from_.valid() || graph_[fell_from_].items.empty()) return false;
  const ir::Block& last = graph_[fell_from_];
  return last.exit_line > graph_[last.items.back()].line;
}

// An `if`. Returns the block where the sequence goes on, or an invalid one: then `falls` says
// whether control falls through to the follow of the scope.
BlockId Emitter::branch(BlockId block, const Scope& scope, Statements& out, bool& falls) {
  const ir::Block b = graph_[block];
  const ast::Where at = exit_where(block);
  // What is pending was evaluated before the test.
  NodeId test = out.take(b.operands[0]);
  if (tree_.is(test, ast::Kind::match_case)) return match(block, test, scope, out, falls);
  if (out.hard_pending() > 0) out.spill_all();
  if (const auto edge = never_comes_round(block, scope)) {
    const OpenLoop loop{{}, b.next[1 - *edge].to, scope.loop};
    return once(block, *edge, test, {loop.follow, &loop, scope.handler, scope.handled}, out);
  }
  // The arm that is laid out first comes first.
  const uint8_t near = static_cast<uint8_t>(1 - b.jump);
  if (near == 1) test = negated(tree_, test);
  const BlockId else_block = b.next[b.jump].to;
  const BlockId meet = meeting_point(block, scope);
  Scope inner = scope;
  if (meet.valid()) {
    inner.follow = meet;
    out.settle();
  }

  const auto arm = [&](uint8_t edge, const Scope& arm_scope, bool& arm_falls) {
    Statements statements(context_);
    statements.adopt(out);
    context_.here = block;
    statements.pass(b.next[edge]);
    arm_falls = emit(b.next[edge].to, arm_scope, statements);
    statements.forget_adopted();
    return tree_.list(statements.take_list());
  };
  bool then_falls = false, else_falls = false;
  ListId body = arm(near, inner, then_falls);
  if (then_falls && else_block != inner.follow && ends_in_continue(block, near, inner)) {
    std::vector<NodeId> items(tree_.items(body).begin(), tree_.items(body).end());
    items.push_back(tree_.add(ast::Continue{}));
    body = tree_.list(items);
    then_falls = false;
  }
  if (!then_falls && else_block != inner.follow && b.next[b.jump].args.empty()) {
    // The rest needs no `else`.
    out.append(if_statement(test, body, {}, at));
    return else_block;
  }
  const ListId orelse = arm(b.jump, inner, else_falls);
  out.append(if_statement(test, body, orelse, at));
  if (meet.valid() && (then_falls || else_falls)) return meet;
  falls = then_falls || else_falls;
  return {};
}

}  // namespace pellucid::structure
