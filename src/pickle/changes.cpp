// SPDX-License-Identifier: Apache-2.0
#include "pickle/changes.h"

namespace pellucid::pickle {

namespace {

constexpr uint64_t kMostSteps = 10'000'000;

Failure failed(const char* what, ErrorCode code = ErrorCode::Malformed) {
  return Error{code, 0, what};
}

Effect::Kind effect_of(Kind change) {
  switch (change) {
    case Kind::Appended:
      return Effect::Kind::Append;
    case Kind::Stored:
      return Effect::Kind::Store;
    case Kind::Added:
      return Effect::Kind::Add;
    default:
      return Effect::Kind::State;
  }
}

}  // namespace

bool is_object(const Graph& graph, ValueId id) {
  const Kind kind = graph[id].kind;
  return kind >= Kind::Global && kind <= Kind::Array;
}

bool are_hashable(const Graph& graph, const Items& items, size_t step) {
  for (size_t i = 0; i < items.size(); i += step) {
    const Kind kind = graph[items[i]].kind;
    if (kind == Kind::List || kind == Kind::Dict || kind == Kind::Set || kind == Kind::ByteArray) {
      return false;
    }
  }
  return true;
}

void Changes::record(ValueId target, Kind change, const Items& items, uint64_t at) {
  const ValueId detail = graph_.add_with(change, items);
  const Kind kind = graph_[target].kind;
  if (kind == Kind::Global || kind == Kind::Call || kind == Kind::Persistent) {
    graph_.append(target, detail);
  }
  graph_.effects.push_back({effect_of(change), at, target, detail});
}

Failure Changes::append(ValueId target, const Items& items, uint64_t at) {
  const Kind kind = graph_[target].kind;
  if (kind == Kind::List) {
    for (const ValueId item : items) graph_.append(target, item);
    return {};
  }
  if (kind != Kind::ByteArray && !is_object(graph_, target)) {
    return failed("append() of a value that has none");
  }
  if (!items.empty()) record(target, Kind::Appended, items, at);
  return {};
}

Failure Changes::add(ValueId target, const Items& items, uint64_t at) {
  if (graph_[target].kind == Kind::Set) {
    if (!are_hashable(graph_, items, 1)) return failed("an unhashable key");
    for (const ValueId item : items) graph_.append(target, item);
    return {};
  }
  if (!is_object(graph_, target)) return failed("add() of a value that has none");
  if (!items.empty()) record(target, Kind::Added, items, at);
  return {};
}

Failure Changes::store(ValueId target, const Items& items, uint64_t at) {
  if (items.size() % 2 != 0) return failed("a key without a value");
  const Kind kind = graph_[target].kind;
  if (kind == Kind::Dict) {
    if (!are_hashable(graph_, items, 2)) return failed("an unhashable key");
    for (const ValueId item : items) graph_.append(target, item);
    return {};
  }
  if (kind == Kind::List) return store_in_list(target, items, at);
  if (items.empty()) return {};
  if (kind != Kind::ByteArray && !is_object(graph_, target)) {
    return failed("an item is stored in a value that has none");
  }
  record(target, Kind::Stored, items, at);
  return {};
}

Failure Changes::store_in_list(ValueId list, const Items& items, uint64_t at) {
  for (size_t i = 0; i < items.size(); i += 2) {
    const Value& key = graph_[items[i]];
    if (is_object(graph_, items[i])) {
      record(list, Kind::Stored, {items[i], items[i + 1]}, at);
      continue;
    }
    const bool is_bool = key.kind == Kind::False || key.kind == Kind::True;
    if (key.kind != Kind::Int && !is_bool) return failed("an index that is not an integer");
    int64_t index = is_bool ? key.kind == Kind::True : key.number;
    if (index < 0) {
      const size_t length = graph_.items(list).size();
      steps_ += length;
      index += static_cast<int64_t>(length);
    }
    uint32_t place = graph_[list].first;
    for (; index > 0 && place != Id<int>::kInvalid; --index, ++steps_) {
      place = graph_.places[place].next;
    }
    if (index < 0 || place == Id<int>::kInvalid) return failed("an index out of range");
    if (++steps_ > kMostSteps) return failed("too many items are stored", ErrorCode::Limit);
    graph_.places[place].value = items[i + 1];
  }
  return {};
}

}  // namespace pellucid::pickle
