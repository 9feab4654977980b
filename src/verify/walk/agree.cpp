// SPDX-License-Identifier: Apache-2.0
// Compares the effects that both sides are about to have, and the state around them.
#include <algorithm>

#include "verify/walk/functions.h"
#include "verify/walk/walk.h"

namespace pellucid::verify {

namespace {

constexpr size_t kMostInputsShown = 6;

}  // namespace

// Removes the common prefix of both logs of stores, and checks that those locals agree.
bool Walk::settle_locals(Path& path, bool at_effect) {
  State& state = path.state;
  std::vector<uint32_t>& of_a = state[Side::A].stores;
  std::vector<uint32_t>& of_b = state[Side::B].stores;
  const auto name = [&](uint32_t slot) {
    return std::string(values_.text(context_.frame->names[slot]));
  };
  const size_t both = std::min(of_a.size(), of_b.size());
  for (size_t i = 0; i < both; ++i) {
    if (of_a[i] == of_b[i]) continue;
    return fail(path, "the local that changes is " + name(of_a[i]) + " / " + name(of_b[i]));
  }
  if (at_effect && of_a.size() != of_b.size()) {
    return of_a.size() > both
               ? fail(path, "the local " + name(of_a[both]) + " changes / does not")
               : fail(path, "the local " + name(of_b[both]) + " does not change / does");
  }
  const std::vector<uint32_t> common(of_a.begin(), of_a.begin() + static_cast<ptrdiff_t>(both));
  of_a.erase(of_a.begin(), of_a.begin() + static_cast<ptrdiff_t>(both));
  of_b.erase(of_b.begin(), of_b.begin() + static_cast<ptrdiff_t>(both));
  const std::vector<uint32_t>& later = of_a.empty() ? of_b : of_a;
  for (uint32_t slot : common) {
    // The side that is ahead has stored it again, and the other will too.
    if (std::find(later.begin(), later.end(), slot) != later.end()) continue;
    const Value x = state[Side::A].locals[slot];
    const Value y = state[Side::B].locals[slot];
    if (!make_one(context_, state, x, y, pairs_)) {
      return fail(path, "the local " + name(slot) + " is " + describe(values_, x) + " / " +
                            describe(values_, y));
    }
  }
  return true;
}

// Removes the common prefix of both logs of releases; fails if they differ.
bool Walk::settle_releases(Path& path, bool at_effect) {
  std::vector<Value>& of_a = path.state[Side::A].released;
  std::vector<Value>& of_b = path.state[Side::B].released;
  const auto [x, y] = std::mismatch(of_a.begin(), of_a.end(), of_b.begin(), of_b.end());
  const bool a_ends = x == of_a.end(), b_ends = y == of_b.end();
  const auto said = [&](bool ends, const Value* value) {
    return ends ? std::string("nothing") : describe(values_, *value);
  };
  if ((a_ends && b_ends) || (!at_effect && (a_ends || b_ends))) {
    of_a.erase(of_a.begin(), x);
    of_b.erase(of_b.begin(), y);
    return true;
  }
  return fail(path, "what is released is " + said(a_ends, &*x) + " / " + said(b_ends, &*y));
}

bool Walk::same_qualname(const Effect& a, Value x, Value y, size_t input) const {
  return a.op == Op::StoreName && values_.text(Name(a.a)) == "__qualname__" && input == 0 &&
         values_.same_qualname(x, y);
}

// Returns a local of B alone that keeps an object alive which A no longer refers to. A constant, or
// a value that A also holds, is fine.
std::optional<Name> Walk::kept_longer(const State& state) const {
  const Half& a = state[Side::A];
  const Half& b = state[Side::B];
  const auto holds = [](const std::vector<Value>& values, Value value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  for (const uint32_t slot : of_one_side_) {
    if (context_.frame->owners[slot] != Frame::kOnlyB) continue;
    const Value value = b.locals[slot];
    if (!may_run_code(values_[value].kind)) continue;
    const bool is_held =
        holds(a.stack, value) || a.locals.contains(value) || holds(a.exceptions, value) ||
        std::any_of(state.heap.begin(), state.heap.end(),
                    [&](const auto& in) { return in.side == Side::A && holds(in.items, value); });
    if (!is_held) return context_.frame->names[slot];
  }
  return std::nullopt;
}

bool Walk::compare_effects(Path& path, Effect& a, Effect& b) {
  if (a.op != b.op || a.a != b.a || a.b != b.b || a.inputs.size() != b.inputs.size() ||
      a.exit != b.exit || a.results != b.results || a.always != b.always) {
    return fail(path, text(a) + " / " + text(b));
  }
  if (!settle_locals(path, true) || !settle_releases(path, true)) return false;
  if (!settle_interrupts(path, &a, &b)) return false;
  // Unifying two containers renames them, so the inputs are read again.
  bool stale = true;
  const auto refresh = [&] {
    if (stale) {
      a = a_.effect(path.state, path.a);
      b = b_.effect(path.state, path.b);
      // A set display of constants equals the frozenset that the compiler may have folded it to;
      // the order of the items is unspecified.
      if (a.unordered != b.unordered) {
        for (Effect* effect : {&a, &b}) std::sort(effect->inputs.begin(), effect->inputs.end());
      }
    }
    stale = false;
  };
  for (const Value input : a.inputs) context_.assumed.shown(path.state, input);
  for (const Value input : b.inputs) context_.assumed.shown(path.state, input);
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    refresh();
    const size_t containers = path.state.heap.size();
    if (same_qualname(a, a.inputs[i], b.inputs[i], i)) continue;
    if (!unify(values_, path.state, a.inputs[i], b.inputs[i], pairs_)) {
      return fail(path, text(a) + " / " + text(b));
    }
    stale = path.state.heap.size() != containers;
  }
  refresh();
  const bool passes = passes_functions(a);
  if (!passes || !context_.extra_locals) settle_functions(context_, path.state, !passes, pairs_);
  if (!context_.extra_locals) {
    const auto kept = kept_longer(path.state);
    if (kept)
      return fail(path, "the local " + std::string(values_.text(*kept)) + " keeps an object");
  }
  if (path.state[Side::A].exceptions != path.state[Side::B].exceptions) {
    return fail(path, text(a) + ": another exception is being handled");
  }
  return true;
}

// Returns true for calls that are ordered only among themselves, since the callee's effects concern
// no other code (object/facts.h).
bool Walk::stands_apart(const Effect& effect) const {
  if (effect.op != Op::Call || effect.handler.valid() || effect.results != 1) return false;
  if (!context_.assumed.is_apart(values_, effect.inputs[0])) return false;
  return std::none_of(effect.inputs.begin(), effect.inputs.end(),
                      [&](Value input) { return values_.is(input, Kind::Fresh); });
}

void Walk::keep_apart(Path path, Side side, const Effect& effect) {
  Value result;
  if (!path.ahead.empty() && path.leader != side) {
    if (path.ahead.front().first != effect.inputs) {
      fail(path, text(effect) + ": another call that stands apart comes first");
      return;
    }
    result = path.ahead.front().second;
    path.ahead.erase(path.ahead.begin());
    path.quiet = false;
  } else {
    const Name hint = values_.name("<apart>");
    const bool is_some = context_.assumed.gives_object(values_, effect.inputs[0]);
    result = is_some ? values_.fresh(Kind::Unknown, hint, Known::NotNone)
                     : values_.fresh(Kind::Unknown, hint);
    path.ahead.emplace_back(effect.inputs, result);
    path.leader = side;
  }
  Machine& machine = side == Side::A ? a_ : b_;
  machine.finish(path.state, side == Side::A ? path.a : path.b, {result}, 0);
  todo_.push_back(std::move(path));
}

bool Walk::may_be_passed(const Effect& effect) const {
  return effect.op == Op::LoadGlobal || effect.op == Op::LoadDeref || effect.op == Op::LoadAttr ||
         effect.op == Op::Subscr ||
         (effect.op == Op::Call && context_.assumed.is_read(values_, effect.inputs[0]));
}

// Checks that B has dropped all objects that A has dropped. Not at the end of the function, where
// all locals go, nor while an exception is handled: its traceback keeps the frame and all its
// locals.
bool Walk::same_lifetimes(const Path& path, const Effect& effect) {
  if (!context_.assumed.any() || effect.exit == ExitKind::Return) return true;
  if (!path.state[Side::A].exceptions.empty()) return true;
  const Value callee = effect.op == Op::Call ? effect.inputs[0] : Value();
  const Value value = context_.assumed.lifetimes().outlives(values_, path.state, callee);
  if (!value.valid()) return true;
  return fail(path, describe(values_, value) + " is still held at " + text(effect));
}

std::string Walk::text(const Effect& effect) const {
  std::string out(bytecode::name_of(effect.op));
  switch (bytecode::operand_of(effect.op)) {
    case bytecode::Operand::Name:
    case bytecode::Operand::Local:
    case bytecode::Operand::Cell:
      out += ' ';
      out += values_.text(Name(effect.a));
      break;
    case bytecode::Operand::Operator:
    case bytecode::Operand::Flags:
    case bytecode::Operand::Kind:
      out += ' ' + std::to_string(effect.a);
      if (effect.b != 0) out += ' ' + std::to_string(effect.b);
      break;
    case bytecode::Operand::None:
    case bytecode::Operand::Const:
    case bytecode::Operand::Target:
    case bytecode::Operand::Count:
    case bytecode::Operand::Depth:
      break;
  }
  out += '(';
  for (size_t i = 0; i < effect.inputs.size(); ++i) {
    if (i == kMostInputsShown) {
      out += ", ...";
      break;
    }
    if (i > 0) out += ", ";
    out += describe(values_, effect.inputs[i]);
  }
  return out + ')';
}

}  // namespace pellucid::verify
