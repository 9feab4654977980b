// SPDX-License-Identifier: Apache-2.0
// What generated code does in place of literals and names: loads of objects that are assumed to
// stay, calls of constants, items of the outputs of a graph.
#include <algorithm>

#include "object/known.h"
#include "verify/machine/silent.h"

namespace pellucid::verify {

bool load_steady(const SideCode& on, State& state, const Instr& instr) {
  const Assumed& assumed = on.context.assumed;
  if (!assumed.any()) return false;
  Values& values = on.values();
  std::vector<Value>& stack = state[on.side].stack;
  if (instr.op == Op::LoadGlobal) {
    const auto value = assumed.global(values, on.local(instr));
    if (value) stack.push_back(*value);
    return value.has_value();
  }
  if (instr.op != Op::LoadAttr && instr.op != Op::LoadMethod) return false;
  const auto value = assumed.attribute(values, stack.back(), on.local(instr));
  if (!value) return false;
  stack.back() = *value;
  // A call uses whichever of the two slots is not NULL.
  if (instr.op == Op::LoadMethod) stack.insert(stack.end() - 1, values.null());
  return true;
}

bool call_nothing(const SideCode& on, State& state, const Instr& instr) {
  Values& values = on.values();
  std::vector<Value>& stack = state[on.side].stack;
  if (!on.context.assumed.any() || instr.a != 0 || stack.size() < instr.b) return false;
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

bool call_rotation(const SideCode& on, State& state, const Instr& instr) {
  Values& values = on.values();
  std::vector<Value>& stack = state[on.side].stack;
  // 3.14 passes NULL if there are no keyword arguments.
  const uint32_t above = instr.a & 1;
  if (!on.context.assumed.any() || stack.size() <= instr.b + above) return false;
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
  return execute_on_fresh(on, state, build, Name());
}

bool take_item(const SideCode& on, State& state, Point& point) {
  Assumed& assumed = on.context.assumed;
  const flow::Block& here = on.block(point);
  std::vector<Value>& stack = state[on.side].stack;
  if (!assumed.any() || on.instr(point).op != Op::Subscr || stack.size() < 2) return false;
  Values& values = on.values();
  const Value outputs = stack[stack.size() - 2];
  if (const auto index = as_integer(values, stack.back())) {
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
  const auto count = as_integer(values, (*parts)[1]);
  const Instr& next = on.graph.instrs[here.first + point.at + 1];
  if (!count || *count < 1 || *count > assumed.most() + 1 || next.op != Op::UnpackSequence ||
      next.a != static_cast<uint64_t>(*count) || !assumed.is_outputs(outputs)) {
    return false;
  }
  stack.resize(stack.size() - 2);
  for (int64_t i = *count; i-- > 0;) stack.push_back(*assumed.item(values, outputs, i));
  point.at += 2;
  return true;
}

}  // namespace pellucid::verify
