// SPDX-License-Identifier: Apache-2.0
#include "verify/walk/walk.h"

#include <algorithm>

#include "base/check.h"
#include "verify/walk/cells.h"
#include "verify/walk/functions.h"

namespace pellucid::verify {

namespace {

// The limit of nodes for one pair of points that differ only in constants.
constexpr uint32_t kMostVariants = 512;
// The size of the heap from which on unreferenced containers are dropped.
constexpr size_t kFullHeap = 64;
// In pairs. A dictionary beyond this is unified at the next join: it would be in every state.
constexpr size_t kLargestAtJoin = 256;
// The minor version in which a generator that is closed at a `yield` without a handler releases its
// locals, then its stack, the lowest slot first. In others it raises an exception.
constexpr uint8_t kClosesWithoutRaising = 13;

bool has_large_dictionary(const State& state) {
  return std::any_of(state.heap.begin(), state.heap.end(), [](const Container& container) {
    return container.shape == Container::kDict && container.items.size() > 2 * kLargestAtJoin;
  });
}

}  // namespace

std::optional<Difference> Walk::run() {
  Path start;
  a_.enter(start.state);
  b_.enter(start.state);
  find_own_cells(context_, a_, b_, start.state);
  start.a = {BlockId(0u), 0, true};
  start.b = {BlockId(0u), 0, true};
  start.b_moved = true;
  arrive(std::move(start));
  while (!queue_.empty() && !difference_) {
    const auto next = queue_.begin();
    from_ = next->back();
    queue_.erase(next);
    Node& node = nodes_[from_];
    node.queued = false;
    // At the entry of a block, B continues past the join, as A does.
    Path path{node.state, node.key.a, node.key.b, true, node.key.b.entering};
    pass(a_, path.state, path.a);
    pass(b_, path.state, path.b);
    todo_.push_back(std::move(path));
    while (!todo_.empty() && !difference_) {
      Path one = std::move(todo_.back());
      todo_.pop_back();
      follow(std::move(one));
    }
  }
  if (!difference_ && waits_forever()) {
    difference_ = Difference{"a loop without effects has no counterpart", 0, 0};
  }
  return difference_;
}

void Walk::pass(const Machine& machine, State& state, Point& point) {
  if (point.entering) machine.enter_block(state, point);
}

void Walk::follow(Path path) {
  if (path.state.heap.size() >= full_heap_) {
    collect(values_, path.state);
    full_heap_ = std::max(kFullHeap, 2 * path.state.heap.size());
  }
  const uint64_t hops = b_.hops();
  // While one side has to make up for a call, both pass joins until it does.
  const Joins at_joins = path.ahead.empty() ? Joins::Stop : Joins::Pass;
  const Stop at_a = a_.advance(path.state, path.a, at_joins);
  Stop at_b = at_a == Stop::Problem ? Stop::Effect : b_.advance(path.state, path.b, at_joins);
  // B stops at a join only if A is at one too.
  if (at_b == Stop::Join && at_a != Stop::Join) {
    at_b = b_.advance(path.state, path.b, Joins::Pass);
  } else if (at_b == Stop::Join && b_.is_decided(path.state, path.b) &&
             !a_.is_decided(path.state, path.a)) {
    at_b = b_.advance(path.state, path.b, Joins::PassDecided);
  }
  path.b_moved = path.b_moved || b_.hops() != hops || at_b == Stop::Spin;
  if (at_a == Stop::Problem || at_b == Stop::Problem) {
    fail(path, at_a == Stop::Problem ? a_.problem() : b_.problem());
    return;
  }
  for (const Side side : {Side::A, Side::B}) {
    if ((side == Side::A ? at_a : at_b) != Stop::Effect) continue;
    const Effect effect =
        side == Side::A ? a_.effect(path.state, path.a) : b_.effect(path.state, path.b);
    if (stands_apart(effect)) return keep_apart(std::move(path), side, effect);
  }
  if (!path.ahead.empty() && (at_a != Stop::Effect || at_b != Stop::Effect)) {
    fail(path, "a call that stands apart has no counterpart");
    return;
  }
  if (at_a == Stop::Join) {
    if (at_b != Stop::Join) b_.unload_test(path.state, path.b);
    return arrive(std::move(path));
  }
  if (at_a == Stop::Fork && at_b == Stop::Fork) return fork(std::move(path));
  if (at_a != Stop::Effect || at_b != Stop::Effect) {
    const auto what = [&](Stop stop, const Machine& machine, const Point& point) -> std::string {
      if (stop == Stop::Spin) return "a loop without effects";
      return stop == Stop::Fork
                 ? "branch on " + describe(values_, machine.condition(path.state, point))
                 : text(machine.effect(path.state, point));
    };
    if (at_a != at_b) fail(path, what(at_a, a_, path.a) + " / " + what(at_b, b_, path.b));
    return;
  }
  Effect a = a_.effect(path.state, path.a);
  Effect b = b_.effect(path.state, path.b);
  if (!path.ahead.empty() && !may_be_passed(a)) {
    fail(path, "a call that stands apart has moved past " + text(a));
    return;
  }
  // Before compare_effects(), by which containers escape and lose their contents.
  if (!same_lifetimes(path, a)) return;
  const std::vector<uint32_t> cells = hand_over(context_, path.state, a, b);
  if (!compare_effects(path, a, b)) return;
  path.quiet = false;
  for (Half& half : path.state.half) half.tested = half.truth = Value();
  if (a.raises) raise(path, a, b);
  if (!difference_) go_on(std::move(path), a, cells);
}

// Unifies the operands of identity tests such as `x is [...]`, if they have equal contents.
void Walk::unify_identities(State& state, Value in_a, Value in_b) {
  if (values_.is(in_a, Kind::Not)) in_a = Value(values_[in_a].x);
  if (values_.is(in_b, Kind::Not)) in_b = Value(values_[in_b].x);
  if (!values_.is(in_a, Kind::Is) || !values_.is(in_b, Kind::Is)) return;
  const verify::Node a = values_[in_a], b = values_[in_b];
  if (!unify(values_, state, Value(a.x), Value(b.x), pairs_)) return;
  // Both operands may be one object.
  if (a.x == a.y || b.x == b.y) return;
  unify(values_, state, Value(a.y), Value(b.y), pairs_);
}

void Walk::fork(Path path) {
  lose_taken(path.state);
  Value in_a = a_.condition(path.state, path.a);
  Value in_b = b_.condition(path.state, path.b);
  if (in_a != in_b && in_a != values_.negation(in_b)) {
    unify_identities(path.state, in_a, in_b);
    in_a = a_.condition(path.state, path.a);
    in_b = b_.condition(path.state, path.b);
  }
  if (in_a != in_b && in_a != values_.negation(in_b)) {
    fail(path, "branch on " + describe(values_, in_a) + " / " + describe(values_, in_b));
    return;
  }
  for (const bool truth : {false, true}) {
    Path way = path;
    way.b_moved = true;
    // Decides the copies of the condition on the stack, too.
    assume(values_, way.state, in_a, truth);
    a_.choose(way.state, way.a, truth);
    b_.choose(way.state, way.b, truth == (in_a == in_b));
    todo_.push_back(std::move(way));
  }
}

void Walk::raise(const Path& path, const Effect& a, const Effect& b) {
  if (a.handler.valid() != b.handler.valid()) {
    fail(path, text(a) + ": " + (a.handler.valid() ? "protected / not" : "not protected / is"));
    return;
  }
  if (!a.handler.valid()) {
    leave(path, a);
    return;
  }
  const flow::Handler& x = a_.graph()[a.handler];
  const flow::Handler& y = b_.graph()[b.handler];
  if (handle(path, x, y)) return;
  fail(path, text(a) + ": its handlers start differently");
}

// Goes on in a pair of handlers; returns false if they start differently.
bool Walk::handle(const Path& path, const flow::Handler& x, const flow::Handler& y) {
  if (x.lasti != y.lasti || x.pushes != y.pushes || x.exc_depth != y.exc_depth) return false;
  const State& state = path.state;
  if (x.depth > state[Side::A].stack.size() || y.depth > state[Side::B].stack.size()) return false;
  Path handled{path.state, {x.entry, 0, true}, {y.entry, 0, true}, false, true};
  std::vector<Value> pushed;
  for (uint8_t i = 0; i < x.pushes; ++i) {
    pushed.push_back(values_.fresh(Kind::Unknown, values_.name("<exception>")));
  }
  // Up to 3.10 entering the handler starts handling the exception; later PushExcInfo does.
  const bool handling = x.is_on_block_stack();
  for (const auto& [side, handler] : {std::pair(Side::A, &x), std::pair(Side::B, &y)}) {
    Half& half = handled.state[side];
    const size_t enclosing = handler->exc_depth - (handling ? 1 : 0);
    (side == Side::A ? a_ : b_).unwind(handled.state, handler->depth, enclosing);
    half.stack.insert(half.stack.end(), pushed.begin(), pushed.end());
    if (handling) half.exceptions.push_back(pushed[4]);
  }
  arrive(std::move(handled));
  return true;
}

// Compares the handlers of an interruption, once both sides have jumped back.
bool Walk::settle_interrupts(Path& path, const Effect* a, const Effect* b) {
  std::optional<flow::HandlerId>& in_a = path.state[Side::A].interrupted;
  std::optional<flow::HandlerId>& in_b = path.state[Side::B].interrupted;
  if (!in_a && !in_b) return true;
  if (!in_a || !in_b) {
    if (a == nullptr) return true;
    // The other side is interrupted by the effect, with its handler.
    if ((in_a ? *in_a == a->handler : *in_b == b->handler)) {
      in_a = in_b = std::nullopt;
      return true;
    }
    return fail(path, in_a ? "a jump back / none" : "no jump back / one");
  }
  const flow::HandlerId x = *in_a, y = *in_b;
  in_a.reset();
  in_b.reset();
  if (!x.valid() && !y.valid()) return true;
  if (x.valid() != y.valid()) {
    return fail(path, std::string("a jump back is ") +
                          (x.valid() ? "protected / is not" : "not protected / is"));
  }
  const bool is_known = x != flow::kUnknownHandler && y != flow::kUnknownHandler;
  if (!is_known || !handle(path, a_.graph()[x], b_.graph()[y])) {
    return fail(path, "a jump back has another handler");
  }
  return !difference_;
}

// Compares what both frames release when they end. What both have in locals is released in the
// order of their slots, which is the same; only a local of one side can come between.
void Walk::leave(const Path& path, const Effect& effect) {
  if (!context_.releases) return;
  const bool returns = effect.exit == ExitKind::Return;
  // Up to 3.10 nothing releases what is below a value that is returned.
  for (const Half& half : path.state.half) {
    const auto is_nothing = [&](Value value) {
      return !values_.is_object(value) || values_.is(value, Kind::Const);
    };
    if (!returns || std::all_of(half.stack.begin(), half.stack.end() - 1, is_nothing)) continue;
    fail(path, "a value is left on the stack");
    return;
  }
  const bool has_temporaries = std::ranges::any_of(of_one_side_, [&](uint32_t slot) {
    const bool is_of_a = context_.frame->owners[slot] == Frame::kOnlyA;
    return may_run_code(values_[path.state[is_of_a ? Side::A : Side::B].locals[slot]].kind);
  });
  Path last = path;
  for (const Machine* machine : {&a_, &b_}) {
    if (!returns) machine->unwind(last.state, 0, 0);
    if (has_temporaries) machine->release_locals(last.state);
  }
  if (!settle_releases(last, true) || !has_temporaries) return;
  const bool is_closed = a_.code().version.minor == kClosesWithoutRaising;
  if (!is_closed || effect.op != Op::YieldValue) return;
  last = path;
  for (const Machine* machine : {&a_, &b_}) {
    std::vector<Value>& stack = last.state[machine == &a_ ? Side::A : Side::B].stack;
    machine->release_locals(last.state);
    std::ranges::reverse(stack);
    machine->unwind(last.state, 0, 0);
  }
  settle_releases(last, true);
}

void Walk::go_on(Path path, const Effect& effect, const std::vector<uint32_t>& cells) {
  std::vector<Value> results;
  for (uint32_t i = 0; i < effect.results; ++i) {
    const bool named = bytecode::operand_of(effect.op) == bytecode::Operand::Name ||
                       bytecode::operand_of(effect.op) == bytecode::Operand::Cell;
    results.push_back(
        values_.fresh(effect.boolean ? Kind::Bool : Kind::Unknown,
                      named ? Name(effect.a) : values_.name(bytecode::name_of(effect.op))));
  }
  if (effect.op == Op::ToBool) {
    const Value truth = values_.fresh(Kind::Bool);
    for (Half& half : path.state.half) {
      half.tested = effect.inputs[0];
      half.truth = truth;
    }
  }
  if (Assumed& assumed = context_.assumed; assumed.any()) {
    if (effect.op == Op::Call && assumed.is_graph(values_, effect.inputs[0])) {
      assumed.returned(results[0]);
    }
    if (effect.op == Op::LoadAttr) {
      assumed.lifetimes().loaded(results[0], effect.inputs[0], Name(effect.a));
    }
    if (effect.op == Op::Subscr) assumed.lifetimes().taken(results[0], effect.inputs[0]);
  }
  if (!cells.empty()) {
    // The closure of the function is an object like it from here on.
    for (const Value value : effect.inputs) {
      const verify::Node& node = values_[value];
      if (node.kind == Kind::Unknown && node.y == 1) context_.assumed.made(value, cells);
    }
    for (const Value value : results) context_.assumed.made(value, cells);
  }
  if (effect.always) return;
  if (effect.op == Op::LoadFast || effect.op == Op::DeleteFast) {
    replace(values_, path.state, effect.inputs[0], values_.fresh(Kind::Unknown, Name(effect.a)));
  }
  switch (effect.exit) {
    case ExitKind::ForIter:
    case ExitKind::Send:
      for (const size_t way : {1, 0}) {
        Path next = path;
        a_.finish(next.state, next.a, results, way);
        b_.finish(next.state, next.b, results, way);
        todo_.push_back(std::move(next));
      }
      return;
    case ExitKind::Return:
      leave(path, effect);
      return;
    case ExitKind::Raise:
    case ExitKind::Reraise:
      return;
    case ExitKind::Goto:
    case ExitKind::Branch:
    case ExitKind::BranchNone:
      a_.finish(path.state, path.a, results, 0);
      b_.finish(path.state, path.b, results, 0);
      todo_.push_back(std::move(path));
      return;
  }
}

void Walk::arrive(Path path) {
  State& state = path.state;
  lose_taken(state);
  settle_functions(context_, state, false, pairs_);
  settle_heap(values_, state, pairs_,
              has_large_dictionary(state) ? Settle::kAll : Settle::kButDictionaries);
  if (!settle_locals(path, false) || !settle_releases(path, false)) return;
  if (!settle_interrupts(path, nullptr, nullptr)) return;
  Key key;
  key.a = path.a;
  key.b = path.b;
  uint32_t& variants = variants_[{path.a, path.b}];
  if (variants < kMostVariants) {
    const Frame& frame = *context_.frame;
    for (const uint32_t slot : of_one_side_) {
      const Side side = frame.owners[slot] == Frame::kOnlyA ? Side::A : Side::B;
      const Value value = state[side].locals[slot];
      if (values_.is(value, Kind::Const)) key.constants.emplace_back(slot, value.value);
    }
  }
  key.stores[0] = state.half[0].stores;
  key.stores[1] = state.half[1].stores;
  for (size_t side = 0; side < 2; ++side) {
    key.released[side] = state.half[side].released.size();
    key.interrupted[side] = state.half[side].interrupted;
  }
  const auto [it, is_new] = index_.try_emplace(key, static_cast<uint32_t>(nodes_.size()));
  const uint32_t to = it->second;
  if (path.quiet && !path.b_moved) quiet_edges_.emplace_back(from_, to);
  if (is_new) {
    ++variants;
    nodes_.push_back({std::move(key), std::move(state), false});
  } else if (!merge(values_, nodes_[to].state, std::move(state), pairs_)) {
    return;
  }
  enqueue(to);
}

// Visits blocks in bytecode order, so that a join is visited after its predecessors. A header
// reached by a back edge is visited again at once, but only the first time: in nested loops, each
// new one would otherwise restart the outermost. Later it waits for the end of its loop.
void Walk::enqueue(uint32_t index) {
  Node& node = nodes_[index];
  const Point at = node.key.a;
  Turn turn{at.block.value, 0, at.at, index};
  if (nodes_[from_].key.a.block >= at.block && node.rounds++ > 0) {
    // Of two loops with the same end the inner one comes first.
    turn = {std::max(at.block.value, loop_ends_[at.block.index()]), ~at.block.value, at.at, index};
  }
  if (node.queued) {
    if (node.turn <= turn) return;
    queue_.erase(node.turn);
  }
  node.queued = true;
  node.turn = turn;
  queue_.insert(turn);
}

std::vector<uint32_t> Walk::loop_ends(const flow::Graph& graph) {
  std::vector<uint32_t> ends(graph.blocks.size(), 0);
  for (uint32_t from = 0; from < ends.size(); ++from) {
    for (const BlockId to : graph.blocks[from].exit.next) {
      if (to.valid()) ends[to.index()] = std::max(ends[to.index()], from);
    }
  }
  return ends;
}

std::vector<std::pair<uint32_t, uint32_t>> Walk::meetings() const {
  const auto place = [](const Machine& machine, const Point& point) {
    return point.at == 0 ? machine.graph()[point.block].offset : machine.offset(point);
  };
  std::vector<std::pair<uint32_t, uint32_t>> found;
  for (const Node& node : nodes_) found.emplace_back(place(a_, node.key.a), place(b_, node.key.b));
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Returns true if B does not move on some cycle of A without effects.
bool Walk::waits_forever() const {
  std::vector<std::vector<uint32_t>> next(nodes_.size());
  std::vector<uint32_t> ways(nodes_.size(), 0);
  for (const auto& [from, to] : quiet_edges_) {
    next[from].push_back(to);
    ++ways[to];
  }
  std::vector<uint32_t> ready;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (ways[i] == 0) ready.push_back(i);
  }
  size_t seen = 0;
  while (!ready.empty()) {
    const uint32_t node = ready.back();
    ready.pop_back();
    ++seen;
    for (uint32_t to : next[node]) {
      if (--ways[to] == 0) ready.push_back(to);
    }
  }
  return seen < nodes_.size();
}

bool Walk::fail(const Path& path, std::string reason) {
  difference_ = Difference{std::move(reason), a_.offset(path.a), b_.offset(path.b)};
  return false;
}

}  // namespace pellucid::verify
