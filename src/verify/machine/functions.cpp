// SPDX-License-Identifier: Apache-2.0
// Functions that have not escaped from the frame are containers (state.h) of what they were made
// from.
#include "base/check.h"
#include "verify/machine/silent.h"

namespace pellucid::verify {

namespace {

// Returns the index of an attribute in the container.
std::optional<size_t> item_of(uint32_t flag, object::Version version) {
  switch (flag) {
    case bytecode::kDefaults:
      return Container::kFirstAttribute;
    case bytecode::kKwDefaults:
      return Container::kFirstAttribute + 1;
    case bytecode::kAnnotations:
      return Container::kFirstAttribute + 2;
    case bytecode::kClosure:
      return Container::kFirstAttribute + 3;
    case bytecode::kAnnotate:
      if (version.minor < 14) return std::nullopt;
      return Container::kFirstAttribute + 4;
    default:
      return std::nullopt;
  }
}

bool is_string(const Values& values, Value value) {
  const Constant* constant = values.as_constant(value);
  return constant != nullptr && constant->kind == object::ConstKind::Str;
}

}  // namespace

// On the stack: code, and up to 3.10 the qualified name.
bool make_function(const SideCode& on, State& state, const Instr& instr) {
  constexpr uint32_t kOnStack =
      bytecode::kDefaults | bytecode::kKwDefaults | bytecode::kAnnotations | bytecode::kClosure;
  Values& values = on.values();
  std::vector<Value>& stack = state[on.side].stack;
  if ((instr.a & ~kOnStack) != 0 || instr.b > 1) return false;
  const uint32_t count = bytecode::stack_effect(instr).pops;
  PELLUCID_CHECK(count <= stack.size());
  const std::vector<Value> given(stack.end() - count, stack.end());
  const Value code = given[count - 1 - instr.b];
  if (!values.is(code, Kind::Code)) return false;
  if (instr.b == 1 && !is_string(values, given.back())) return false;
  std::vector<Value> items(Container::kFirstAttribute + 5, values.null());
  items[Container::kCode] = code;
  if (instr.b == 1) items[Container::kQualname] = given.back();
  size_t next = 0;
  for (uint32_t flag = bytecode::kDefaults; flag <= bytecode::kClosure; flag <<= 1) {
    if (!(instr.a & flag)) continue;
    if (!values.is_object(given[next])) return false;
    items[*item_of(flag, on.code.version)] = given[next++];
  }
  stack.resize(stack.size() - count);
  const object::Module& module = values.module(on.side);
  const Name name = values.name(on.side, module[object::CodeId(values[code].x)].name);
  stack.push_back(values.fresh(Kind::Fresh, name));
  state.heap.push_back({stack.back(), on.side, Container::kFunction, std::move(items)});
  return true;
}

// On the stack: attribute, function.
bool set_function_attribute(const SideCode& on, State& state, const Instr& instr) {
  Values& values = on.values();
  std::vector<Value>& stack = state[on.side].stack;
  PELLUCID_CHECK(stack.size() >= 2);
  Container* function = state.container(stack.back());
  const Value attribute = stack[stack.size() - 2];
  const auto at = item_of(instr.a, on.code.version);
  if (function == nullptr || function->shape != Container::kFunction || !at) return false;
  // A previous attribute would be released.
  if (!values.is(function->items[*at], Kind::Null) || !values.is_object(attribute)) return false;
  function->items[*at] = attribute;
  stack.erase(stack.end() - 2);
  return true;
}

bool take_cell(const SideCode& on, State& state, Point& point) {
  const flow::Block& here = on.block(point);
  Values& values = on.values();
  std::vector<Value>& stack = state[on.side].stack;
  uint32_t at = point.at;
  const auto next = [&](Op op) -> const Instr* {
    if (at >= here.count || on.graph.instrs[here.first + at].op != op) return nullptr;
    return &on.graph.instrs[here.first + at++];
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
  if (values.text(on.local(*attribute)) != "__closure__" || stack.size() < pops) return false;
  const auto cells = items_of(values, state, stack[stack.size() - depth]);
  const auto which = as_integer(values, values.constant(on.side, number->constant()));
  if (!cells || !which || *which < 0 || static_cast<size_t>(*which) >= cells->size()) return false;
  const Value cell = (*cells)[static_cast<size_t>(*which)];
  stack.resize(stack.size() - pops);
  stack.push_back(cell);
  point.at = at;
  return true;
}

}  // namespace pellucid::verify
