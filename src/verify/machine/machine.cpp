// SPDX-License-Identifier: Apache-2.0
#include "verify/machine/machine.h"

#include <algorithm>

#include "base/check.h"
#include "verify/machine/releases.h"
#include "verify/machine/silent.h"

namespace pellucid::verify {

namespace {

// The minor version from which on the last slot of a frame is released first.
constexpr uint8_t kReleasesLastFirst = 14;

struct Snapshot {
  BlockId block;
  std::vector<Value> stack;
  Locals locals;
  size_t stores = 0;
};

// Returns true if a local is loaded only to be tested.
bool is_test_of_local(const SideCode& on, const Point& point) {
  const flow::Block& here = on.block(point);
  if (on.graph.instrs[here.first + point.at].op != Op::LoadFast) return false;
  uint32_t at = point.at + 1;
  const auto next = [&](Op op) {
    const bool is_it = at < here.count && on.graph.instrs[here.first + at].op == op;
    at += is_it ? 1 : 0;
    return is_it;
  };
  if (next(Op::LoadConst)) return next(Op::IsOp) || next(Op::Compare);
  if (next(Op::Unary) || next(Op::ToBool)) return true;
  next(Op::Copy);
  const ExitKind exit = here.exit.kind;
  return at == here.count && (exit == ExitKind::Branch || exit == ExitKind::BranchNone);
}

// Loads a shared local with a constant value as an unknown if it is only tested: a test in both
// programs is compared, even right after the constant was stored. Only tests of locals of one side
// are decided.
bool load_for_test(const SideCode& on, State& state, Point& point) {
  if (!is_test_of_local(on, point)) return false;
  Values& values = on.values();
  const uint32_t at = on.slot(on.instr(point));
  const Value value = state[on.side].locals[at];
  const bool is_known = values.is(value, Kind::Const);
  if (!is_known || on.context.frame->owners[at] != Frame::kShared) {
    return false;
  }
  state[on.side].stack.push_back(values.special(Op::LoadFast, values[value].x));
  ++point.at;
  return true;
}

}  // namespace

std::optional<Value> truth_of(Values& values, const State& state, Side side, Value value) {
  if (const auto known = constant_truth(values, value)) return values.boolean(*known);
  if (values.is_boolean(value)) return value;
  if (state[side].tested == value) return state[side].truth;
  return std::nullopt;
}

void assume(Values& values, State& state, Value condition, bool truth) {
  const bool flipped = values.is(condition, Kind::Not);
  replace(values, state, flipped ? Value(values[condition].x) : condition,
          values.boolean(truth != flipped));
}

const Instr& SideCode::instr(const Point& point) const {
  const flow::Block& here = block(point);
  return at_exit(point) ? here.exit.instr : graph.instrs[here.first + point.at];
}

Machine::Machine(Context& context, Side side, const object::Code& code, const flow::Graph& graph)
    : on_{context, side, code, graph} {
  // Counts ways in after skipping empty blocks, so that coinciding ends of statements are one join,
  // as on the other side. Back edges are not skipped, so that every loop has a join.
  std::vector<uint32_t> met(graph.blocks.size());
  for (uint32_t i = static_cast<uint32_t>(met.size()); i-- > 0;) {
    const flow::Block& block = graph.blocks[i];
    const BlockId next = block.exit.next[0];
    const bool is_empty = block.count == 0 && block.exit.kind == ExitKind::Goto && next.valid();
    met[i] = is_empty && next.index() > i ? met[next.index()] : i;
  }
  std::vector<uint32_t> ways(graph.blocks.size(), 0);
  ways[met[0]] = 1;
  for (uint32_t i = 0; i < met.size(); ++i) {
    if (met[i] != i) continue;
    for (BlockId next : graph.blocks[i].exit.next) {
      if (next.valid()) ++ways[met[next.index()]];
    }
  }
  for (const flow::Handler& handler : graph.handlers) ways[met[handler.entry.index()]] = 2;
  for (uint32_t count : ways) joins_.push_back(count > 1);
}

void Machine::enter(State& state) const {
  Values& values = on_.values();
  const Frame& frame = *on_.context.frame;
  Half& half = state[on_.side];
  half.locals.assign(values, frame.names.size(), values.null());
  const size_t count = object::parameter_count(on_.code);
  PELLUCID_CHECK(count <= on_.code.varnames.size());
  for (size_t i = 0; i < count; ++i) {
    const uint32_t slot = frame.slot(values.name(on_.side, on_.code.varnames[i]));
    // Both sides are called with the same arguments; the other side may have been entered already.
    const Locals& others = state[other(on_.side)].locals;
    half.locals.set(values, slot,
                    !others.empty() && values.is(others[slot], Kind::Unknown)
                        ? others[slot]
                        : values.fresh(Kind::Unknown, frame.names[slot]));
  }
  for (const auto* cells : {&on_.code.cellvars, &on_.code.freevars}) {
    for (Symbol symbol : *cells) {
      const Name name = values.name(on_.side, symbol);
      half.locals.set(values, frame.slot(name), values.cell(name));
    }
  }
}

bool Machine::is_decided(const State& state, const Point& point) const {
  const flow::Block& here = on_.block(point);
  const std::vector<Value>& stack = state[on_.side].stack;
  if (!point.entering || here.exit.kind != ExitKind::Branch || here.count > 1 || stack.empty() ||
      !on_.values().is(stack.back(), Kind::Const)) {
    return false;
  }
  const Instr& first = on_.graph.instrs[here.first];
  return here.count == 0 || (first.op == Op::Copy && first.a == 1);
}

Stop Machine::advance(State& state, Point& point, Joins joins) {
  uint64_t hops = 0;
  uint64_t next_snapshot = 2 * on_.graph.blocks.size() + 16;
  Snapshot snapshot;
  for (;;) {
    if (++on_.context.work > on_.context.limit) {
      problem_ = "limit: too much work";
      return Stop::Problem;
    }
    Half& half = state[on_.side];
    if (point.entering) {
      while (pop_first(state, point)) {
      }
      const bool stops =
          joins == Joins::Stop || (joins == Joins::PassDecided && !is_decided(state, point));
      if (stops && joins_[point.block.index()]) return Stop::Join;
      enter_block(state, point);
      if (snapshot.block == point.block && snapshot.stack == half.stack &&
          snapshot.locals == half.locals && snapshot.stores == half.stores.size()) {
        return Stop::Spin;
      }
      ++hops_;
      if (++hops == next_snapshot) {
        snapshot = {point.block, half.stack, half.locals, half.stores.size()};
        next_snapshot *= 2;
      }
    }
    if (on_.at_exit(point)) {
      if (const auto stop = leave(state, point)) return *stop;
      continue;
    }
    if (take_cell(on_, state, point)) continue;
    if (take_item(on_, state, point)) continue;
    if (load_for_test(on_, state, point)) continue;
    problem_.clear();
    if (!step(state, on_.instr(point))) {
      return problem_.empty() ? Stop::Effect : Stop::Problem;
    }
    ++point.at;
  }
}

// Executes an instruction that has no effect.
bool Machine::step(State& state, const Instr& instr) {
  if (!on_.context.releases) return execute(on_, state, instr, problem_);
  Release release(on_);
  release.add(state, instr);
  if (!execute(on_, state, instr, problem_)) return false;
  release.log(state);
  return true;
}

// Executes the Pops that a block starts with before it is joined: what each way in drops is known.
// Returns true if that is all that the block does, and control goes on to another one.
bool Machine::pop_first(State& state, Point& point) {
  if (!on_.context.releases || point.at > 0) return false;
  const flow::Block& here = on_.block(point);
  unwind(state, state[on_.side].stack.size(), here.exc_depth);
  while (point.at < here.count && on_.graph.instrs[here.first + point.at].op == Op::Pop) {
    step(state, on_.instr(point));
    ++point.at;
  }
  if (point.at == 0 || point.at < here.count || here.exit.kind != ExitKind::Goto) return false;
  ++hops_;
  go(state, point, 0);
  return true;
}

void Machine::enter_block(State& state, Point& point) const {
  point.entering = false;
  // Unwinding restores the handled exceptions; so does every other edge into the block.
  unwind(state, state[on_.side].stack.size(), on_.block(point).exc_depth);
}

void Machine::unwind(State& state, size_t depth, size_t handled) const {
  Half& half = state[on_.side];
  PELLUCID_CHECK(half.stack.size() >= depth && half.exceptions.size() >= handled);
  Release release(on_);
  if (on_.context.releases) {
    release.add_top(state, half.stack.size() - depth);
    release.add_exceptions(state, handled);
  }
  half.stack.resize(depth);
  half.exceptions.resize(handled);
  release.log(state);
}

void Machine::release_locals(State& state) const {
  Half& half = state[on_.side];
  std::vector<Symbol> slots = slots_of(on_.code);
  if (on_.code.version.minor >= kReleasesLastFirst) std::ranges::reverse(slots);
  for (const Symbol symbol : slots) {
    const uint32_t slot = on_.slot(symbol);
    Release release(on_);
    release.add_local(state, slot);
    // What is in a cell may run code.
    const Value value = half.locals[slot];
    if (on_.values().is(value, Kind::Cell)) half.released.push_back(value);
    half.locals.set(on_.values(), slot, on_.values().null());
    release.log(state);
  }
}

std::optional<Stop> Machine::leave(State& state, Point& point) {
  Values& values = on_.values();
  const flow::Exit& exit = on_.block(point).exit;
  switch (exit.kind) {
    case ExitKind::Goto:
      go(state, point, 0);
      return std::nullopt;
    case ExitKind::Branch:
      if (!truth_of(values, state, on_.side, state[on_.side].stack.back())) return Stop::Effect;
      break;
    case ExitKind::BranchNone:
      break;
    case ExitKind::ForIter:
    case ExitKind::Send:
    case ExitKind::Return:
    case ExitKind::Raise:
    case ExitKind::Reraise:
      return Stop::Effect;
  }
  const auto truth = constant_truth(values, condition(state, point));
  if (!truth) return Stop::Fork;
  choose(state, point, *truth);
  return std::nullopt;
}

void Machine::choose(State& state, Point& point, bool truth) const {
  Half& half = state[on_.side];
  unwind(state, half.stack.size() - 1, half.exceptions.size());
  half.tested = half.truth = Value();
  go(state, point, truth ? 0 : 1);
}

void Machine::go(State& state, Point& point, size_t way) const {
  const flow::Exit& exit = on_.block(point).exit;
  if (on_.context.strict && exit.interrupted[way]) {
    state[on_.side].interrupted = exit.interrupted[way];
  }
  point = Point::at_entry(exit.next[way]);
}

Value Machine::condition(const State& state, const Point& point) const {
  Values& values = on_.values();
  const Value value = state[on_.side].stack.back();
  if (on_.block(point).exit.kind == ExitKind::BranchNone) {
    return values.identity(value, values.none());
  }
  return *truth_of(values, state, on_.side, value);
}

void Machine::unload_test(State& state, Point& point) const {
  Values& values = on_.values();
  std::vector<Value>& stack = state[on_.side].stack;
  for (uint32_t back = 1; back <= 2 && back <= point.at && back <= stack.size(); ++back) {
    const Point before{point.block, point.at - back, false};
    if (back == 2) {
      const Op between = on_.graph.instrs[on_.block(point).first + point.at - 1].op;
      if (between != Op::LoadConst && between != Op::Copy) return;
    }
    if (!is_test_of_local(on_, before)) continue;
    const uint32_t at = on_.slot(on_.instr(before));
    const Value value = state[on_.side].locals[at];
    const bool is_special =
        values.is(value, Kind::Const) && on_.context.frame->owners[at] == Frame::kShared;
    const Value loaded = is_special ? values.special(Op::LoadFast, values[value].x) : value;
    if (stack[stack.size() - back] != loaded) return;
    stack.resize(stack.size() - back);
    point = before;
    return;
  }
}

}  // namespace pellucid::verify
