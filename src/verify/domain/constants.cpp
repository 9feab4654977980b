// SPDX-License-Identifier: Apache-2.0
// What values are, where it follows from constants.
#include <algorithm>

#include "verify/domain/values.h"

namespace pellucid::verify {

using object::ConstKind;

namespace {

// Returns the items of a constant of this kind.
std::optional<std::vector<Value>> items_of(Values& values, Value value, ConstKind kind) {
  const Constant* constant = values.as_constant(value);
  if (constant == nullptr || constant->kind != kind) return std::nullopt;
  std::vector<Value> items;
  for (const uint32_t item : constant->items) items.push_back(values.constant_number(item));
  return items;
}

}  // namespace

std::optional<int64_t> as_integer(const Values& values, Value value) {
  const Constant* constant = values.as_constant(value);
  if (constant == nullptr || constant->kind != ConstKind::Int) return std::nullopt;
  return constant->integer;
}

bool is_number(const Values& values, Value value) {
  const Constant* constant = values.as_constant(value);
  if (constant == nullptr) return false;
  return constant->kind == ConstKind::Int || constant->kind == ConstKind::BigInt ||
         constant->kind == ConstKind::Float || constant->kind == ConstKind::Complex;
}

std::optional<std::vector<Value>> tuple_items(Values& values, Value value) {
  return items_of(values, value, ConstKind::Tuple);
}

std::optional<std::vector<Value>> slice_items(Values& values, Value value) {
  return items_of(values, value, ConstKind::Slice);
}

std::optional<std::vector<Value>> set_items(Values& values, Value value) {
  auto items = items_of(values, value, ConstKind::FrozenSet);
  if (!items) return std::nullopt;
  for (const Value item : *items) {
    if (values.as_constant(item)->kind == ConstKind::Opaque) return std::nullopt;
  }
  std::sort(items->begin(), items->end());
  return items;
}

std::optional<Value> slice_of(Values& values, std::vector<Value> items) {
  if (items.size() == 2) items.push_back(values.none());
  return values.constant_of(ConstKind::Slice, items);
}

Value sorted(Values& values, Value tuple) {
  auto items = tuple_items(values, tuple);
  if (!items) return tuple;
  std::sort(items->begin(), items->end());
  return *values.constant_of(ConstKind::Tuple, *items);
}

std::optional<bool> constant_truth(const Values& values, Value value) {
  const Constant* constant = values.as_constant(value);
  if (constant == nullptr) return std::nullopt;
  switch (constant->kind) {
    case ConstKind::None:
    case ConstKind::False:
      return false;
    case ConstKind::True:
    case ConstKind::Ellipsis:
    case ConstKind::StopIteration:
    case ConstKind::BigInt:
    case ConstKind::Slice:
      return true;
    case ConstKind::Int:
    case ConstKind::Float:
    case ConstKind::Complex:
      return constant->integer != 0;
    case ConstKind::Str:
    case ConstKind::Bytes:
      return !values.text(constant->text).empty();
    case ConstKind::Tuple:
    case ConstKind::FrozenSet:
      return !constant->items.empty();
    case ConstKind::List:
    case ConstKind::Set:
    case ConstKind::Dict:
    case ConstKind::Code:
    case ConstKind::Opaque:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string describe(const Values& values, Value value) {
  const Node& node = values[value];
  switch (node.kind) {
    case Kind::Null:
      return "nothing";
    case Kind::Const:
      return values.repr(value);
    case Kind::Code: {
      const object::Module& owner = values.module(node.y == 0 ? Side::A : Side::B);
      return "<code " + std::string(owner.text(owner[object::CodeId(node.x)].name)) + ">";
    }
    case Kind::Cell:
      return "<cell " + std::string(values.text(Name(node.x))) + ">";
    case Kind::Special:
      return std::string(bytecode::name_of(static_cast<bytecode::Op>(node.x)));
    case Kind::Not:
      return "not " + describe(values, Value(node.x));
    case Kind::Is:
      return describe(values, Value(node.x)) + " is " + describe(values, Value(node.y));
    case Kind::Fresh:
      return node.hint.valid() ? std::string(values.text(node.hint)) : "<new container>";
    case Kind::Method:
      return "<list>." + std::string(values.text(Name(node.y)));
    case Kind::Unknown:
    case Kind::Bool:
    case Kind::Maybe:
      return node.hint.valid() ? std::string(values.text(node.hint)) : "<value>";
  }
  return "<value>";
}

}  // namespace pellucid::verify
