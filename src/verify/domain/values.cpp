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
    : constants_(a, b), moved_(moved) {
  null_ = shared(Kind::Null, 0, 0);
  none_ = constant_number(constants_.number_of(ConstKind::None));
  true_ = constant_number(constants_.number_of(ConstKind::True));
  false_ = constant_number(constants_.number_of(ConstKind::False));
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

Value Values::fresh(Kind kind, Name hint, Known known) {
  nodes_.push_back(
      {kind, known == Known::NotNone ? 1u : 0u, known == Known::OfFrame ? 1u : 0u, hint});
  return Value(nodes_.size() - 1);
}

Value Values::constant(Side side, ConstId id) {
  const Const& value = module(side)[id];
  if (value.kind == ConstKind::Code) {
    return shared(Kind::Code, value.code.value, static_cast<uint32_t>(index(side)));
  }
  return constant_number(constants_.number(side, id));
}

std::optional<Value> Values::opaque(Name name) {
  const auto number = constants_.opaque(name);
  if (!number) return std::nullopt;
  return constant_number(*number);
}

std::optional<Value> Values::constant_of(ConstKind kind, const std::vector<Value>& items) {
  std::vector<uint32_t> numbers;
  for (const Value item : items) {
    if (!is(item, Kind::Const)) return std::nullopt;
    numbers.push_back((*this)[item].x);
  }
  return constant_number(constants_.number_of(kind, std::move(numbers)));
}

Value Values::negation(Value truth) {
  if (const auto known = constant_truth(*this, truth)) return boolean(!*known);
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
  if (x == none_ && (is_boolean(y) || is_some(*this, y))) return boolean(false);
  if (y == none_ && (is_boolean(x) || is_some(*this, x))) return boolean(false);
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

bool Values::same_qualname(Value of_a, Value of_b) const {
  const Constant* a = as_constant(of_a);
  const Constant* b = as_constant(of_b);
  return moved_ && a != nullptr && b != nullptr && a->kind == ConstKind::Str &&
         b->kind == ConstKind::Str && qualname_fits(text(a->text), text(b->text));
}

}  // namespace pellucid::verify
