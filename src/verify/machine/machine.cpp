// SPDX-License-Identifier: Apache-2.0
#include "verify/machine/machine.h"

#include <algorithm>

#include "base/check.h"
#include "object/known.h"

namespace pellucid::verify {

namespace {

struct Snapshot {
  BlockId block;
  std::vector<Value> stack;
  Locals locals;
  size_t stores = 0;
};

}  // namespace

std::optional<Value> truth_of(Values& values, const State& state, Side side, Value value) {
  if (const auto known = values.truth(value)) return values.boolean(*known);
  if (values.is_boolean(value)) return value;
  if (state[side].tested == value) return state[side].truth;
  return std::nullopt;
}

void assume(Values& values, State& state, Value condition, bool truth) {
  const bool flipped = values.is(condition, Kind::Not);
  replace(values, state, flipped ? Value(values[condition].x) : condition,
          values.boolean(truth != flipped));
}

Machine::Machine(Context& context, Side side, const object::Code& code, const flow::Graph& graph)
    : context_(&context), side_(side), code_(&code), graph_(&graph) {
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

const Instr& Machine::instr(const Point& point) const {
  const flow::Block& here = block(point);
  return at_exit(point) ? here.exit.instr : graph_->instrs[here.first + point.at];
}

uint32_t Machine::offset(const Point& point) const { return instr(point).offset; }

bool Machine::fail(std::string reason) {
  problem_ = std::move(reason);
  return false;
}

void Machine::enter(State& state) const {
  Values& values = *context_->values;
  const Frame& frame = *context_->frame;
  Half& half = state[side_];
  half.locals.assign(values, frame.names.size(), values.null());
  const uint32_t count = code_->argcount + code_->kwonlyargcount +
                         ((code_->flags & object::kVarArgs) ? 1 : 0) +
                         ((code_->flags & object::kVarKeywords) ? 1 : 0);
  PELLUCID_CHECK(count <= code_->varnames.size());
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t slot = frame.slot(values.name(side_, code_->varnames[i]));
    // Both sides are called with the same arguments; the other side may have been entered already.
    const Locals& others = state[other(side_)].locals;
    half.locals.set(values, slot,
                    !others.empty() && values.is(others[slot], Kind::Unknown)
                        ? others[slot]
                        : values.fresh(Kind::Unknown, frame.names[slot]));
  }
  for (const auto* cells : {&code_->cellvars, &code_->freevars}) {
    for (Symbol symbol : *cells) {
      const Name name = values.name(side_, symbol);
      half.locals.set(values, frame.slot(name), values.cell(name));
    }
  }
}

bool Machine::is_decided(const State& state, const Point& point) const {
  const flow::Block& here = block(point);
  const std::vector<Value>& stack = state[side_].stack;
  if (!point.entering || here.exit.kind != ExitKind::Branch || here.count > 1 || stack.empty() ||
      !context_->values->is(stack.back(), Kind::Const)) {
    return false;
  }
  const Instr& first = graph_->instrs[here.first];
  return here.count == 0 || (first.op == Op::Copy && first.a == 1);
}

Stop Machine::advance(State& state, Point& point, Joins joins) {
  uint64_t hops = 0;
  uint64_t next_snapshot = 2 * graph_->blocks.size() + 16;
  Snapshot snapshot;
  for (;;) {
    if (++context_->work > context_->limit) {
      fail("limit: too much work");
      return Stop::Problem;
    }
    Half& half = state[side_];
    if (point.entering) {
      const bool stops =
          joins == Joins::Stop || (joins == Joins::PassDecided && !is_decided(state, point));
      if (stops && joins_[point.block.index()]) return Stop::Join;
      point.entering = false;
      // Unwinding restores the handled exceptions; so does every other edge into the block.
      PELLUCID_CHECK(half.exceptions.size() >= block(point).exc_depth);
      half.exceptions.resize(block(point).exc_depth);
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
    if (at_exit(point)) {
      if (const auto stop = leave(state, point)) return *stop;
      continue;
    }
    if (take_cell(state, point)) continue;
    if (take_item(state, point)) continue;
    if (load_for_test(state, point)) continue;
    problem_.clear();
    if (!execute(state, instr(point))) {
      return problem_.empty() ? Stop::Effect : Stop::Problem;
    }
    ++point.at;
  }
}

std::optional<Stop> Machine::leave(State& state, Point& point) {
  Values& values = *context_->values;
  const flow::Exit& exit = block(point).exit;
  switch (exit.kind) {
    case ExitKind::Goto:
      go(point, exit.next[0]);
      return std::nullopt;
    case ExitKind::Branch:
      if (!truth_of(values, state, side_, state[side_].stack.back())) return Stop::Effect;
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
  const auto truth = values.truth(condition(state, point));
  if (!truth) return Stop::Fork;
  choose(state, point, *truth);
  return std::nullopt;
}

void Machine::choose(State& state, Point& point, bool truth) const {
  state[side_].stack.pop_back();
  go(point, block(point).exit.next[truth ? 0 : 1]);
}

// Returns true if a local is loaded only to be tested.
bool Machine::is_test_of_local(const Point& point) const {
  const flow::Block& here = block(point);
  if (graph_->instrs[here.first + point.at].op != Op::LoadFast) return false;
  uint32_t at = point.at + 1;
  const auto next = [&](Op op) {
    const bool is_it = at < here.count && graph_->instrs[here.first + at].op == op;
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
bool Machine::load_for_test(State& state, Point& point) const {
  if (!is_test_of_local(point)) return false;
  Values& values = *context_->values;
  const uint32_t at = slot(instr(point));
  const Value value = state[side_].locals[at];
  const bool is_known = values.is(value, Kind::Const);
  if (!is_known || context_->frame->owners[at] != Frame::kShared) {
    return false;
  }
  state[side_].stack.push_back(values.special(Op::LoadFast, values[value].x));
  ++point.at;
  return true;
}

// Steps back to the load of a local whose test is pending, if the other side is at a join: the
// loaded value depends on the path, and is loaded again from the merged local.
void Machine::unload_test(State& state, Point& point) const {
  Values& values = *context_->values;
  std::vector<Value>& stack = state[side_].stack;
  for (uint32_t back = 1; back <= 2 && back <= point.at && back <= stack.size(); ++back) {
    const Point before{point.block, point.at - back, false};
    if (back == 2) {
      const Op between = graph_->instrs[block(point).first + point.at - 1].op;
      if (between != Op::LoadConst && between != Op::Copy) return;
    }
    if (!is_test_of_local(before)) continue;
    const uint32_t at = slot(instr(before));
    const Value value = state[side_].locals[at];
    const bool is_special =
        values.is(value, Kind::Const) && context_->frame->owners[at] == Frame::kShared;
    const Value loaded = is_special ? values.special(Op::LoadFast, values[value].x) : value;
    if (stack[stack.size() - back] != loaded) return;
    stack.resize(stack.size() - back);
    point = before;
    return;
  }
}

// Executes `(lambda: x).__closure__[0]`, which is how source text refers to the cell of x: a
// function is made, its closure, which cannot be replaced, is read, and it is dropped.
bool Machine::take_cell(State& state, Point& point) const {
  const flow::Block& here = block(point);
  Values& values = *context_->values;
  std::vector<Value>& stack = state[side_].stack;
  uint32_t at = point.at;
  const auto next = [&](Op op) -> const Instr* {
    if (at >= here.count || graph_->instrs[here.first + at].op != op) return nullptr;
    return &graph_->instrs[here.first + at++];
  };
  const Instr* make = next(Op::MakeFunction);
  if (make == nullptr) return false;
  // Up to 3.12 the closure is below the code (and the name); later it is set separately.
  uint32_t depth = 2 + make->b;
  uint32_t pops = 1 + make->b;
  if (make->a == bytecode::kClosure) {
    ++pops;
  } else {
    const Instr* set = next(Op::SetFunctionAttribute);
    if (make->a != 0 || set == nullptr || set->a != bytecode::kClosure) return false;
    ++pops;
  }
  const Instr* attribute = next(Op::LoadAttr);
  const Instr* number = attribute == nullptr ? nullptr : next(Op::LoadConst);
  if (number == nullptr || next(Op::Subscr) == nullptr) return false;
  if (values.text(local(*attribute)) != "__closure__" || stack.size() < pops) return false;
  const auto cells = items_of(values, state, stack[stack.size() - depth]);
  const auto which = values.as_integer(values.constant(side_, number->constant()));
  if (!cells || !which || *which < 0 || static_cast<size_t>(*which) >= cells->size()) return false;
  const Value cell = (*cells)[static_cast<size_t>(*which)];
  stack.resize(stack.size() - pops);
  stack.push_back(cell);
  point.at = at;
  return true;
}

// Executes `r[1]`, or `a, b = r[:2]`, on the outputs of a graph.
bool Machine::take_item(State& state, Point& point) const {
  Assumed& assumed = context_->assumed;
  const flow::Block& here = block(point);
  std::vector<Value>& stack = state[side_].stack;
  if (!assumed.any() || instr(point).op != Op::Subscr || stack.size() < 2) return false;
  Values& values = *context_->values;
  const Value outputs = stack[stack.size() - 2];
  if (const auto index = values.as_integer(stack.back())) {
    const auto item = assumed.item(values, outputs, *index);
    if (!item) return false;
    stack.pop_back();
    stack.back() = *item;
    ++point.at;
    return true;
  }
  const auto parts = slice_parts(values, state, stack.back());
  if (!parts || (*parts)[0] != values.none() || point.at + 1 >= here.count ||
      (parts->size() == 3 && (*parts)[2] != values.none())) {
    return false;
  }
  const auto count = values.as_integer((*parts)[1]);
  const Instr& next = graph_->instrs[here.first + point.at + 1];
  if (!count || *count < 1 || *count > assumed.most() + 1 || next.op != Op::UnpackSequence ||
      next.a != static_cast<uint64_t>(*count) || !assumed.is_outputs(outputs)) {
    return false;
  }
  stack.resize(stack.size() - 2);
  for (int64_t i = *count; i-- > 0;) stack.push_back(*assumed.item(values, outputs, i));
  point.at += 2;
  return true;
}

bool Machine::load_steady(State& state, const Instr& instr) const {
  const Assumed& assumed = context_->assumed;
  if (!assumed.any()) return false;
  Values& values = *context_->values;
  std::vector<Value>& stack = state[side_].stack;
  if (instr.op == Op::LoadGlobal) {
    const auto value = assumed.global(values, local(instr));
    if (value) stack.push_back(*value);
    return value.has_value();
  }
  if (instr.op != Op::LoadAttr && instr.op != Op::LoadMethod) return false;
  const auto value = assumed.attribute(values, stack.back(), local(instr));
  if (!value) return false;
  stack.back() = *value;
  // A call uses whichever of the two slots is not NULL.
  if (instr.op == Op::LoadMethod) stack.insert(stack.end() - 1, values.null());
  return true;
}

// Executes `(lambda: None)()` of generated code, where the callee is a known constant.
bool Machine::call_nothing(State& state, const Instr& instr) const {
  Values& values = *context_->values;
  std::vector<Value>& stack = state[side_].stack;
  if (!context_->assumed.any() || instr.a != 0 || stack.size() < instr.b) return false;
  const auto first = stack.end() - static_cast<ptrdiff_t>(instr.b);
  const auto callee =
      std::find_if(first, stack.end(), [&](Value value) { return !values.is(value, Kind::Null); });
  const bool is_alone = std::count_if(first, stack.end(), [&](Value value) {
                          return !values.is(value, Kind::Null);
                        }) == 1;
  const Constant* constant = is_alone ? values.as_constant(*callee) : nullptr;
  if (constant == nullptr || constant->kind != object::ConstKind::Opaque ||
      constant->integer != static_cast<int64_t>(object::Known::ReturnsNone)) {
    return false;
  }
  stack.erase(first, stack.end());
  stack.push_back(values.none());
  return true;
}

// Executes `(lambda a, b, c: (b, a, c))(*(x, y, z))` of generated code, with such a constant.
bool Machine::call_rotation(State& state, const Instr& instr) const {
  Values& values = *context_->values;
  std::vector<Value>& stack = state[side_].stack;
  // 3.14 passes NULL if there are no keyword arguments.
  const uint32_t above = instr.a & 1;
  if (!context_->assumed.any() || stack.size() <= instr.b + above) return false;
  if (above == 1 && !values.is(stack.back(), Kind::Null)) return false;
  const size_t arguments = stack.size() - 1 - above;
  // The callee is in one of two slots (3.11+), with a NULL in the other.
  uint32_t count = 0, others = 0;
  for (uint32_t slot = 0; slot < instr.b; ++slot) {
    const Value value = stack[arguments - 1 - slot];
    const Constant* callee = values.as_constant(value);
    if (callee != nullptr && callee->kind == object::ConstKind::Opaque) {
      count = object::rotated(callee->integer);
    } else if (!values.is(value, Kind::Null)) {
      ++others;
    }
  }
  const auto given = items_of(values, state, stack[arguments]);
  if (count == 0 || others > 0 || !given || given->size() != count) return false;
  stack.resize(arguments - instr.b);
  for (uint32_t i = 0; i < count; ++i) {
    stack.push_back((*given)[i + 1 < count ? count - 2 - i : i]);
  }
  Instr build = instr;
  build.op = Op::BuildTuple;
  build.a = count;
  build.b = 0;
  return execute_on_fresh(values, state, side_, build, Name());
}

Value Machine::condition(const State& state, const Point& point) const {
  Values& values = *context_->values;
  const Value value = state[side_].stack.back();
  if (block(point).exit.kind == ExitKind::BranchNone) {
    return values.identity(value, values.none());
  }
  return *truth_of(values, state, side_, value);
}

std::optional<Value> Machine::constant_behind(const Instr& instr) const {
  if (side_ != Side::B || !context_->bound_globals) return std::nullopt;
  return context_->values->opaque(local(instr));
}

void Machine::store(State& state, const Instr& instr, Value value) {
  const uint32_t at = slot(instr);
  Half& half = state[side_];
  // The local holds this value already: nothing is released or changed.
  const bool is_there = half.locals[at] == value && context_->values->is_object(value);
  if (is_there && context_->assumed.any()) return;
  half.locals.set(*context_->values, at, value);
  if (context_->frame->owners[at] == Frame::kShared) half.stores.push_back(at);
}

}  // namespace pellucid::verify
