// SPDX-License-Identifier: Apache-2.0
#include "pickle/graph.h"

namespace pellucid::pickle {

namespace {
constexpr uint32_t kNone = Id<int>::kInvalid;
}  // namespace

bool Graph::is_text(ValueId id) const {
  const Kind kind = (*this)[id].kind;
  return kind == Kind::BigInt || kind == Kind::Str || kind == Kind::Bytes ||
         kind == Kind::ByteArray;
}

std::string_view Graph::text(ValueId id) const {
  const Value& value = (*this)[id];
  if (!is_text(id)) return {};
  const auto at = static_cast<size_t>(value.number);
  if (value.is_own) return std::string_view(own_text).substr(at, value.first);
  return {reinterpret_cast<const char*>(input.data()) + at, value.first};
}

std::vector<ValueId> Graph::items(ValueId id, size_t most) const {
  std::vector<ValueId> list;
  if (is_text(id)) return list;
  for (uint32_t at = (*this)[id].first; at != kNone && list.size() < most; at = places[at].next) {
    list.push_back(places[at].value);
  }
  return list;
}

ValueId Graph::item(ValueId id, size_t index) const {
  if (is_text(id)) return {};
  uint32_t at = (*this)[id].first;
  for (; at != kNone && index > 0; --index) at = places[at].next;
  return at == kNone ? ValueId() : places[at].value;
}

ValueId Graph::add(Kind kind, int64_t number) {
  Value& value = values.emplace_back();
  value.kind = kind;
  value.number = number;
  return ValueId(values.size() - 1);
}

ValueId Graph::add_text(Kind kind, uint64_t offset, size_t size) {
  const ValueId id = add(kind, static_cast<int64_t>(offset));
  values.back().first = static_cast<uint32_t>(size);
  return id;
}

ValueId Graph::add_own(Kind kind, std::string_view text) {
  const ValueId id = add_text(kind, own_text.size(), text.size());
  values.back().is_own = true;
  own_text += text;
  return id;
}

ValueId Graph::add_with(Kind kind, std::span<const ValueId> items) {
  const ValueId id = add(kind);
  for (const ValueId item : items) append(id, item);
  return id;
}

void Graph::append(ValueId to, ValueId item) {
  const auto at = static_cast<uint32_t>(places.size());
  places.push_back({item, kNone});
  Value& value = values[to.index()];
  if (value.first == kNone) {
    value.first = at;
  } else {
    places[value.last].next = at;
  }
  value.last = at;
}

}  // namespace pellucid::pickle
