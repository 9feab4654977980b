// SPDX-License-Identifier: Apache-2.0
#include "verify/domain/values.h"

#include <algorithm>

namespace pellucid::verify {

using object::Const;
using object::ConstId;
using object::ConstKind;

bool qualname_fits(std::string_view a, std::string_view b) {
  constexpr std::string_view separator = ".<locals>.";
  const size_t inside = b.find(separator);
  if (inside != std::string_view::npos) {
    b.remove_prefix(inside + separator.size());
  } else if (const size_t dot = b.rfind('.'); dot != std::string_view::npos) {
    b.remove_prefix(dot + 1);
  }
  if (!a.ends_with(b)) return false;
  return a.size() == b.size() || a[a.size() - b.size() - 1] == '.';
}

Values::Values(const object::Module& a, const object::Module& b, bool moved)
    : modules_{&a, &b}, moved_(moved) {
  for (Side side : {Side::A, Side::B}) {
    unified_[index(side)].assign(module(side).strings.size(), Name());
  }
  null_ = shared(Kind::Null, 0, 0);
  const auto plain = [&](ConstKind kind) {
    Const value;
    value.kind = kind;
    return constant_number(intern_one(Side::A, value));
  };
  none_ = plain(ConstKind::None);
  true_ = plain(ConstKind::True);
  false_ = plain(ConstKind::False);
  for (size_t i = 0; i < a.consts.size(); ++i) {
    const Const& value = a.consts[i];
    const bool has_items = value.kind == ConstKind::FrozenSet || value.kind == ConstKind::Slice ||
                           value.kind == ConstKind::Tuple;
    const bool is_named = has_items && value.text.valid();
    if (value.kind != ConstKind::Opaque && !is_named) continue;
    opaques_[name(Side::A, value.text).value] = number(Side::A, ConstId(i));
  }
  // A name that the original uses was not invented for an object.
  for (const object::Code& code : a.codes) {
    for (Symbol symbol : code.names) opaques_.erase(name(Side::A, symbol).value);
  }
}

Name Values::name(Side side, Symbol symbol) {
  std::vector<Name>& known = unified_[index(side)];
  if (symbol.index() >= known.size()) known.resize(symbol.index() + 1);
  Name& slot = known[symbol.index()];
  if (!slot.valid()) slot = names_.intern(module(side).text(symbol));
  return slot;
}

Value Values::shared(Kind kind, uint32_t x, uint32_t y) {
  auto& known = shared_[static_cast<size_t>(kind)];
  const auto [it, is_new] = known.try_emplace((static_cast<uint64_t>(x) << 32) | y, Value());
  if (is_new) {
    it->second = Value(nodes_.size());
    nodes_.push_back({kind, x, y, Name()});
  }
  return it->second;
}

Value Values::fresh(Kind kind, Name hint) {
  nodes_.push_back({kind, 0, 0, hint});
  return Value(nodes_.size() - 1);
}

Value Values::fresh_some(Name hint) {
  nodes_.push_back({Kind::Unknown, 1, 0, hint});
  return Value(nodes_.size() - 1);
}

Value Values::fresh_of_frame(Name hint) {
  nodes_.push_back({Kind::Unknown, 0, 1, hint});
  return Value(nodes_.size() - 1);
}

Value Values::constant(Side side, ConstId id) {
  const Const& value = module(side)[id];
  if (value.kind == ConstKind::Code) {
    return shared(Kind::Code, value.code.value, static_cast<uint32_t>(index(side)));
  }
  return constant_number(number(side, id));
}

std::optional<Value> Values::opaque(Name name) {
  const auto it = opaques_.find(name.value);
  if (it == opaques_.end()) return std::nullopt;
  return constant_number(it->second);
}

Value Values::negation(Value truth) {
  if (const auto known = this->truth(truth)) return boolean(!*known);
  const Node node = (*this)[truth];
  return node.kind == Kind::Not ? Value(node.x) : shared(Kind::Not, truth.value, 0);
}

Value Values::identity(Value x, Value y) {
  // Equal tuples have one value although they may be different objects (built, or constants); so do
  // slices, of which a code object may have several.
  const Constant* in_x = as_constant(x);
  const bool is_any =
      in_x != nullptr && (in_x->kind == ConstKind::Tuple || in_x->kind == ConstKind::Slice);
  if (x == y && !is_any) return boolean(true);
  if (x == y) return shared(Kind::Is, x.value, y.value);
  if (is(x, Kind::Const) && is(y, Kind::Const)) return boolean(false);
  const auto single = [&](Value value) {
    const Constant* constant = as_constant(value);
    return constant != nullptr && constant->kind <= ConstKind::StopIteration;
  };
  // Only singletons have an identity that no other object can have.
  const auto elsewhere = [&](Value value) {
    const Kind kind = (*this)[value].kind;
    return kind == Kind::Const || kind == Kind::Fresh || kind == Kind::Code || kind == Kind::Cell ||
           kind == Kind::Method;
  };
  if ((single(x) && elsewhere(y)) || (single(y) && elsewhere(x))) return boolean(false);
  if (x == none_ && (is_boolean(y) || is_some(y))) return boolean(false);
  if (y == none_ && (is_boolean(x) || is_some(x))) return boolean(false);
  return shared(Kind::Is, x.value, y.value);
}

bool Values::is_boolean(Value value) const {
  const Kind kind = (*this)[value].kind;
  return kind == Kind::Bool || kind == Kind::Not || kind == Kind::Is || value == true_ ||
         value == false_;
}

const Constant* Values::as_constant(Value value) const {
  const Node& node = (*this)[value];
  return node.kind == Kind::Const ? &constants_[node.x] : nullptr;
}

std::optional<int64_t> Values::as_integer(Value value) const {
  const Constant* constant = as_constant(value);
  if (constant == nullptr || constant->kind != ConstKind::Int) return std::nullopt;
  return constant->integer;
}

bool Values::is_number(Value value) const {
  const Constant* constant = as_constant(value);
  if (constant == nullptr) return false;
  return constant->kind == ConstKind::Int || constant->kind == ConstKind::BigInt ||
         constant->kind == ConstKind::Float || constant->kind == ConstKind::Complex;
}

std::optional<std::vector<Value>> Values::tuple_items(Value value) {
  const Constant* constant = as_constant(value);
  if (constant == nullptr || constant->kind != ConstKind::Tuple) return std::nullopt;
  std::vector<Value> items;
  for (uint32_t item : std::vector<uint32_t>(constant->items)) {
    items.push_back(constant_number(item));
  }
  return items;
}

std::optional<std::vector<Value>> Values::slice_items(Value value) {
  const Constant* constant = as_constant(value);
  if (constant == nullptr || constant->kind != ConstKind::Slice) return std::nullopt;
  const std::vector<uint32_t> numbers = constant->items;
  std::vector<Value> items;
  for (const uint32_t item : numbers) items.push_back(constant_number(item));
  return items;
}

std::optional<std::vector<Value>> Values::set_items(Value value) {
  const Constant* constant = as_constant(value);
  if (constant == nullptr || constant->kind != ConstKind::FrozenSet) return std::nullopt;
  const std::vector<uint32_t> numbers = constant->items;
  std::vector<Value> items;
  for (const uint32_t item : numbers) {
    if (constants_[item].kind == ConstKind::Opaque) return std::nullopt;
    items.push_back(constant_number(item));
  }
  std::sort(items.begin(), items.end());
  return items;
}

std::optional<Value> Values::constant_of(ConstKind kind, const std::vector<Value>& items) {
  Constant made;
  made.kind = kind;
  for (Value item : items) {
    if (!is(item, Kind::Const)) return std::nullopt;
    made.items.push_back((*this)[item].x);
  }
  std::string key(1, static_cast<char>(kind));
  for (uint32_t item : made.items) key += ' ' + std::to_string(item);
  return constant_number(intern(std::move(made), key));
}

std::optional<Value> Values::tuple_of(const std::vector<Value>& items) {
  return constant_of(ConstKind::Tuple, items);
}

std::optional<Value> Values::slice_of(std::vector<Value> items) {
  if (items.size() == 2) items.push_back(none());
  return constant_of(ConstKind::Slice, items);
}

Value Values::sorted(Value tuple) {
  auto items = tuple_items(tuple);
  if (!items) return tuple;
  std::sort(items->begin(), items->end());
  return *tuple_of(*items);
}

bool Values::same_qualname(Value of_a, Value of_b) const {
  const Constant* a = as_constant(of_a);
  const Constant* b = as_constant(of_b);
  return moved_ && a != nullptr && b != nullptr && a->kind == ConstKind::Str &&
         b->kind == ConstKind::Str && qualname_fits(text(a->text), text(b->text));
}

std::optional<bool> Values::truth(Value value) const {
  const Constant* constant = as_constant(value);
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
      return !text(constant->text).empty();
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

}  // namespace pellucid::verify
