// SPDX-License-Identifier: Apache-2.0
#include "structure/graph/same_code.h"

#include <algorithm>

#include "structure/graph/copies.h"
#include "structure/graph/same.h"

namespace pellucid::structure {
namespace {

ValueId bound_to(const std::vector<std::pair<ValueId, ValueId>>& bindings, ValueId id) {
  for (size_t i = bindings.size(); i-- > 0;) {
    if (bindings[i].first == id) return bindings[i].second;
  }
  return id;
}

}  // namespace

ValueId placeholder(const Graph& graph, HandlerId handler) {
  const flow::Handler& own = graph.f.handlers[handler.index()];
  const auto& stack = graph[own.entry].entry_stack;
  if (!own.is_finally || own.depth == 0 || stack.size() < own.depth) return {};
  const ValueId below = graph.resolve(stack[own.depth - 1]);
  return is_placeholder(graph[below]) ? below : ValueId();
}

std::optional<SameCode::Copy> SameCode::copy(const Graph& graph, const object::Module& module,
                                             HandlerId handler, BlockId start) {
  SameCode both(graph, module);
  both.entry_ = graph.f.handlers[handler.index()].entry;
  both.start_ = start;
  both.placeholder_ = placeholder(graph, handler);
  both.outer_a_ = graph[both.entry_].handler;
  both.outer_b_ = both.outer_a_;
  both.todo_.push_back({{{both.entry_, 0}, {}}, {{start, 0}, {}}});
  if (!both.run() || !both.ends_agree()) return std::nullopt;
  Copy copy;
  copy.dropped = both.dropped_;
  if (both.ends_.empty() && !copy.dropped.valid()) {
    // A body that only raises leaves the value on the stack.
    const std::vector<ValueId>& stack = graph[start].entry_stack;
    const ValueId top = stack.empty() ? ValueId() : graph.resolve(stack.back());
    if (stack.size() == graph.f.handlers[handler.index()].depth + 1 && top.valid() &&
        (graph[top].kind == ValueKind::Instr || graph[top].kind == ValueKind::Phi)) {
      copy.dropped = top;
    }
  }
  if (!both.ends_.empty()) {
    copy.end = both.ends_[0];
    // The rest of the code uses no value that the body has computed.
    for (const ValueId arg : copy.end->args) {
      if (both.copied_.count(graph.resolve(arg))) return std::nullopt;
    }
  }
  return copy;
}

bool SameCode::same_rest(const Graph& graph, const object::Module& module, const CopyEnd& a,
                         const CopyEnd& b) {
  SameCode both(graph, module);
  both.outer_a_ = graph[a.at.block].handler;
  both.outer_b_ = graph[b.at.block].handler;
  both.todo_.push_back({{a.at, a.args}, {b.at, b.args}});
  return both.run();
}

bool SameCode::run() {
  while (!todo_.empty()) {
    Pair pair = std::move(todo_.back());
    todo_.pop_back();
    if (!walk(std::move(pair.a), std::move(pair.b))) return false;
  }
  return true;
}

// Returns true if all ends of a copy mean the same: there are several where the compiler duplicated
// a short ending.
bool SameCode::ends_agree() const {
  for (size_t i = 1; i < ends_.size(); ++i) {
    if (!same_rest(g_, module_, ends_[0], ends_[i])) return false;
  }
  return true;
}

bool SameCode::does_nothing(ValueId item) const {
  return drops(g_[item], ir::Dropped::Carried) || only_leaves(g_[item]);
}

// Returns true if the item drops the value of a `return f()` that the `finally` body overtakes: it
// does so on a path that does not reach the end of the body.
bool SameCode::drops_outer_value(const Place& place) {
  if (!entry_.valid()) return false;
  const Cursor& c = place.at;
  const ir::Value& value = g_[g_[c.block].items[c.index]];
  if (!is_op(value, Op::Pop) || value.b != 0) return false;
  const ValueId operand = g_.resolve(g_.f.operands(value)[0]);
  // A value that the copy has computed and passed along the edge to this block is not the returned
  // one.
  const auto& params = g_[c.block].params;
  for (size_t p = 0; p < params.size() && p < place.args.size(); ++p) {
    ValueId brought = g_.resolve(place.args[p]);
    // An element of a computed value is no item itself.
    while (g_[brought].kind == ValueKind::Element && g_[brought].count > 0) {
      brought = g_.resolve(g_.f.operands(brought)[0]);
    }
    if (params[p] == operand && copied_.count(brought) > 0) return false;
  }
  const ValueKind kind = g_[operand].kind;
  if (kind != ValueKind::Instr && kind != ValueKind::Phi) return false;
  if (operand == placeholder_) return true;
  if (copied_.count(operand) || (dropped_.valid() && dropped_ != operand)) return false;
  dropped_ = operand;
  return true;
}

// Moves over markers and plain jumps to the next item or exit; in a copy also over the values that
// it drops, up to the place reached in the body. Returns false in an endless loop.
bool SameCode::advance(Place& place, const Cursor* original) {
  const auto passes = [&](ValueId item) {
    const bool may_drop = original && place.at != *original;
    return does_nothing(item) || (may_drop && drops_outer_value(place));
  };
  return walk_past(g_, place.at, passes, [&](const ir::Edge& edge) { return enter(place, edge); });
}

bool SameCode::enter(Place& place, const ir::Edge& edge) const {
  // Parameters are used soon after their block: older ones are forgotten.
  constexpr size_t kRemembered = 16;
  std::vector<ValueId> args;
  for (const ValueId arg : edge.args) args.push_back(bound_to(place.bound, g_.resolve(arg)));
  const std::vector<ValueId>& params = g_[edge.to].params;
  for (size_t p = 0; p < params.size() && p < args.size(); ++p) {
    if (place.bound.size() >= kRemembered) place.bound.erase(place.bound.begin());
    place.bound.emplace_back(params[p], args[p]);
  }
  place.at = {edge.to, 0};
  place.args = std::move(args);
  return true;
}

// Notes that two places correspond. Returns false if the place has too many counterparts.
bool SameCode::meets_again(const Cursor& a, const Cursor& b, bool& seen) {
  std::vector<Cursor>& known = pairs_[a];
  seen = std::find(known.begin(), known.end(), b) != known.end();
  if (!seen) known.push_back(b);
  return known.size() <= kMostCopies;
}

bool SameCode::walk(Place a, Place b) {
  for (;;) {
    if (!entry_.valid() && a.at == b.at) {
      return std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(),
                        [&](ValueId x, ValueId y) { return same_value(x, y); });
    }
    // Two endless empty loops are the same.
    const Cursor from = a.at;
    if (!advance(a)) return !advance(b, &a.at);
    if (entry_.valid() && at_end(g_, a.at) && reraises(a.at.block)) {
      drop_own_values(b);
      if (within(g_, g_[from.block].handler, outer_a_) && g_[from.block].handler != outer_a_) {
        leave_regions(b);
      }
      pass_marks(from, b);
      return finish(std::move(b));
    }
    // Both have reached one place, which may first drop the value that the copy was to return.
    if (!advance(b)) return false;
    if (a.at == b.at) return note_dropped(a, b);
    if (!advance(b, &a.at)) return false;
    if (a.at == b.at) return note_dropped(a, b);
    bool seen = false;
    if (!meets_again(a.at, b.at, seen)) return false;
    if (seen) return true;
    bound_a_ = a.bound;
    bound_b_ = b.bound;
    if (a.at.index == 0 && b.at.index == 0) meet(a.at.block, b.at.block);
    if (at_end(g_, a.at) || at_end(g_, b.at)) {
      return at_end(g_, a.at) && at_end(g_, b.at) && exits(a, b);
    }
    const ValueId x = g_[a.at.block].items[a.at.index], y = g_[b.at.block].items[b.at.index];
    const bool is_same =
        same_item(x, y) || (is_annotation_index(a.at) && is_annotation_index(b.at));
    // The handler of an item that cannot raise does not matter.
    const bool is_quiet = is_op(g_[x], Op::LoadConst) || drops(g_[x], ir::Dropped::Iterator);
    if (!is_same || !(is_quiet || same_handlers(a.at.block, b.at.block))) return false;
    values_[x].push_back(y);
    copied_.insert(y);
    ++a.at.index;
    ++b.at.index;
  }
}

void SameCode::meet(BlockId a, BlockId b) {
  const auto &x = g_[a].params, &y = g_[b].params;
  // The parameters at the start of the copy are not computed by it.
  if (b != start_) copied_.insert(y.begin(), y.end());
  if (x.size() != y.size()) return;
  for (size_t i = 0; i < x.size(); ++i) values_[x[i]].push_back(y[i]);
}

// Notes the returned value: at a place that both have reached, 3.8 drops it, or the placeholder for
// it.
bool SameCode::note_dropped(const Place& a, const Place& b) {
  const auto& params = g_[b.at.block].params;
  // The parameters of the start of the copy stand for themselves.
  const auto& args = b.args.empty() ? params : b.args;
  if (!entry_.valid() || params.size() != a.args.size() || params.size() != args.size()) {
    return true;
  }
  for (size_t i = 0; i < params.size(); ++i) {
    const ValueId x = g_.resolve(a.args[i]), y = g_.resolve(args[i]);
    const bool returned = x != y && is_placeholder(g_[x]) &&
                          (g_[y].kind == ValueKind::Instr || g_[y].kind == ValueKind::Phi);
    if (!returned || copied_.count(y) > 0) continue;
    if (dropped_.valid() && dropped_ != y) return false;
    dropped_ = y;
  }
  return true;
}

// Returns true if a region inside the body corresponds to one inside the copy.
bool SameCode::same_handlers(BlockId a, BlockId b) {
  const HandlerId x = g_[a].handler, y = g_[b].handler;
  const bool nested = x != outer_a_ && within(g_, x, outer_a_);
  const bool nested_too = y != outer_b_ && within(g_, y, outer_b_);
  if (nested != nested_too) return false;
  // Outside of nested regions both have the same handler, or each the one around its body.
  if (!nested) return x == y || (x == outer_a_ && y == outer_b_);
  if (!x.valid() || !y.valid()) return false;
  const auto [seen, fresh] = handlers_.emplace(x, y);
  if (!fresh) return seen->second == y;
  if (g_.handlers[x.index()].kind != g_.handlers[y.index()].kind) return false;
  const BlockId in_a = g_.f.handlers[x.index()].entry, in_b = g_.f.handlers[y.index()].entry;
  todo_.push_back({{{in_a, 0}, {}}, {{in_b, 0}, {}}});
  return true;
}

bool SameCode::reraises(BlockId block) const {
  if (g_[block].exit != ExitKind::Reraise) return false;
  const auto& own = g_[entry_].entry_stack;
  const auto& operands = g_[block].operands;
  return std::any_of(operands.begin(), operands.end(), [&](ValueId id) {
    return g_[g_.resolve(id)].kind == ValueKind::Exception &&
           std::find(own.begin(), own.end(), g_.resolve(id)) != own.end();
  });
}

// Moves `b` past items that drop, after a merge point, a value that the copy itself has passed
// there. Where the end of the body was copied to each way into it, no such item is left.
void SameCode::drop_own_values(Place& b) const {
  Place place = b;
  const auto drops_own = [&](ValueId item) {
    if (!drops(g_[item], ir::Dropped::Result)) return false;
    const ValueId dropped = g_.resolve(g_.f.operands(item)[0]);
    const ValueId brought = bound_to(place.bound, dropped);
    return brought != dropped && copied_.count(brought) > 0;
  };
  const auto passes = [&](ValueId item) {
    if (does_nothing(item)) return true;
    if (!drops_own(item)) return false;
    b = place;
    ++b.at.index;
    return true;
  };
  walk_past(g_, place.at, passes, [&](const ir::Edge& edge) { return enter(place, edge); });
}

// Moves `b` past items that only end the regions of the body's last statement.
void SameCode::leave_regions(Place& b) const {
  const auto is_inside = [&] {
    const HandlerId around = g_[b.at.block].handler;
    return around != outer_b_ && within(g_, around, outer_b_);
  };
  walk_past(
      g_, b.at, [&](ValueId item) { return is_inside() && does_nothing(item); },
      [&](const ir::Edge& edge) { return is_inside() && enter(b, edge); });
}

// Moves `b` past the counterparts of the markers between `from` and the end of the body: the last
// statement of a body may be left by a jump or end a clause, and so may its copy.
void SameCode::pass_marks(Cursor from, Place& b) const {
  const auto mark_at = [&](const Cursor& c) -> const ir::Value* {
    const ir::Value& value = g_[g_[c.block].items[c.index]];
    const bool ends = is_op(value, Op::PopExcept) || is_marker(value, flow::Marker::LeftByJump);
    return ends ? &value : nullptr;
  };
  std::vector<const ir::Value*> marks;
  for (size_t steps = 0; steps <= g_.size(); ++steps) {
    for (; !at_end(g_, from); ++from.index) {
      if (const ir::Value* mark = mark_at(from)) marks.push_back(mark);
    }
    if (g_[from.block].exit != ExitKind::Goto) break;
    from = {g_[from.block].next[0].to, 0};
  }
  Place place = b;
  for (size_t i = 0, steps = 0; i < marks.size() && steps <= g_.size();) {
    if (at_end(g_, place.at)) {
      if (g_[place.at.block].exit != ExitKind::Goto) return;
      enter(place, g_[place.at.block].next[0]);
      ++steps;
      continue;
    }
    if (!does_nothing(item_at(g_, place.at))) return;
    const ir::Value* mark = mark_at(place.at);
    ++place.at.index;
    const bool is_same =
        mark && (is_op(*marks[i], Op::PopExcept) ? is_op(*mark, Op::PopExcept)
                                                 : mark->offset == marks[i]->offset);
    if (!is_same) continue;
    b = place;
    ++i;
  }
}

// Adds an end. The markers and jumps after a copy belong to the code after it.
bool SameCode::finish(Place b) {
  const auto follow = [&](const ir::Edge& edge) {
    // An empty block before a region is a loop header: the back edge does not enter the region.
    const ir::Block& block = g_[b.at.block];
    const HandlerId next = g_[edge.to].handler;
    const bool heads_loop =
        block.items.empty() && next != block.handler && within(g_, next, block.handler);
    return edge.args.empty() && edge.to != b.at.block && !heads_loop && enter(b, edge);
  };
  walk_past(g_, b.at, [](ValueId) { return false; }, follow);
  CopyEnd end{b.at, {}};
  if (b.at.index == 0) end.args = std::move(b.args);
  for (const CopyEnd& known : ends_) {
    if (known.at == end.at && known.args == end.args) return true;
  }
  ends_.push_back(std::move(end));
  return ends_.size() <= kMostEnds;
}

bool SameCode::exits(const Place& a, const Place& b) {
  const ir::Block &x = g_[a.at.block], &y = g_[b.at.block];
  if (x.exit != y.exit || x.operands.size() != y.operands.size()) return false;
  if (x.exit == ExitKind::Reraise && entry_.valid()) return true;
  const size_t compared = x.exit == ExitKind::ForIter ? 1 : x.operands.size();
  for (size_t i = 0; i < compared; ++i) {
    if (!same_value(x.operands[i], y.operands[i])) return false;
  }
  for (size_t i = compared; i < x.operands.size(); ++i) {
    values_[g_.resolve(x.operands[i])].push_back(g_.resolve(y.operands[i]));
  }
  for (uint8_t k = 0; k < 2; ++k) {
    const ir::Edge &to_a = x.next[k], &to_b = y.next[k];
    if (to_a.to.valid() != to_b.to.valid()) return false;
    if (!to_a.to.valid()) continue;
    Pair pair{a, b};
    enter(pair.a, to_a);
    enter(pair.b, to_b);
    todo_.push_back(std::move(pair));
  }
  return true;
}

bool SameCode::same_item(ValueId x, ValueId y) const {
  const MayDiffer may{.lines = true, .unbound = true, .constants = &module_};
  return same_operation(g_, x, y, may) && same_operands(x, y);
}

// Returns true if a constant is the index by which a module or class of 3.14 notes that an
// annotation was executed: each copy has another index.
bool SameCode::is_annotation_index(const Cursor& c) const {
  const std::vector<ValueId>& items = g_[c.block].items;
  if (!is_op(g_[items[c.index]], Op::LoadConst) || c.index + 1 >= items.size()) return false;
  const ir::Value& next = g_[items[c.index + 1]];
  if (!is_op(next, Op::SetAdd)) return false;
  const auto operands = g_.f.operands(next);
  const ir::Value& set = g_[g_.resolve(operands[0])];
  return g_.resolve(operands[1]) == items[c.index] &&
         (is_op(set, Op::LoadName, Op::LoadDeref, Op::LoadGlobal));
}

bool SameCode::same_operands(ValueId x, ValueId y) const {
  const auto p = g_.f.operands(x), q = g_.f.operands(y);
  return std::equal(p.begin(), p.end(), q.begin(), q.end(),
                    [&](ValueId i, ValueId j) { return same_value(i, j); });
}

bool SameCode::same_value(ValueId x, ValueId y) const {
  x = g_.resolve(x);
  y = g_.resolve(y);
  const ValueId p = bound_to(bound_a_, x), q = bound_to(bound_b_, y);
  return same_source(x, y) || (p != x && same_source(p, y)) ||
         (q != y && (same_source(x, q) || same_source(p, q)));
}

bool SameCode::same_source(ValueId x, ValueId y) const {
  const auto known = values_.find(x);
  if (known != values_.end()) {
    return std::find(known->second.begin(), known->second.end(), y) != known->second.end();
  }
  if (x == y) return true;
  const ir::Value &a = g_[x], &b = g_[y];
  if (a.kind != b.kind || a.kind == ValueKind::Instr) return false;
  if (a.kind == ValueKind::Phi) return true;  // compared in the recompiled code
  return a.a == b.a && same_operands(x, y);
}

}  // namespace pellucid::structure
