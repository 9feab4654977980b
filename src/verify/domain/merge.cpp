// SPDX-License-Identifier: Apache-2.0
// merge: the join of two states at one pair of points.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/check.h"
#include "verify/domain/state.h"

namespace pellucid::verify {

namespace {

using Pair = std::pair<Value, Value>;

bool both_tested(const Half& known, const Half& next) {
  return known.tested.valid() && next.tested.valid();
}

bool is_structured(Kind kind) {
  return kind == Kind::Not || kind == Kind::Is || kind == Kind::Method;
}

// The pairs of values in the same slot, without the locals that both states share (Locals::zip). A
// simple value in both states goes to `same`: a deep stack has many of them, and each only maps to
// itself.
struct Slots {
  std::vector<Pair> pairs;
  std::vector<Value> same;
};

Slots slots_of(const Values& values, const State& known, const State& next) {
  Slots slots;
  const auto add = [&](Value x, Value y) {
    const Kind kind = values[x].kind;
    if (x != y || kind == Kind::Fresh || is_structured(kind)) {
      slots.pairs.emplace_back(x, y);
    } else if (slots.same.empty() || slots.same.back() != x) {
      slots.same.push_back(x);
    }
  };
  const auto zip = [&](const std::vector<Value>& x, const std::vector<Value>& y) {
    PELLUCID_CHECK(x.size() == y.size());
    for (size_t i = 0; i < x.size(); ++i) add(x[i], y[i]);
  };
  for (size_t side = 0; side < 2; ++side) {
    zip(known.half[side].stack, next.half[side].stack);
    Locals::zip(known.half[side].locals, next.half[side].locals, add);
    zip(known.half[side].exceptions, next.half[side].exceptions);
    zip(known.half[side].released, next.half[side].released);
  }
  // Both have the same cells (merge).
  for (size_t i = 0; i < known.cells.size(); ++i) {
    add(known.cells[i].content, next.cells[i].content);
  }
  return slots;
}

// Returns the pairs of the slots, of the tested values and of their truths.
std::vector<Pair> pairs_of(const Slots& slots, const State& known, const State& next) {
  std::vector<Pair> pairs = slots.pairs;
  for (size_t side = 0; side < 2; ++side) {
    const Half &x = known.half[side], &y = next.half[side];
    if (!both_tested(x, y)) continue;
    pairs.emplace_back(x.tested, y.tested);
    pairs.emplace_back(x.truth, y.truth);
  }
  return pairs;
}

// Returns the operands of two values in pairs; nothing if their structures differ.
std::optional<std::vector<Pair>> operands_of(Values& values, Value o, Value n) {
  const Node x = values[o];
  const Node y = values[n];
  if (x.kind == Kind::Not) {
    if (y.kind == Kind::Not) return std::vector<Pair>{{Value(x.x), Value(y.x)}};
    if (const auto truth = constant_truth(values, n)) {
      if (values.is_boolean(n)) return std::vector<Pair>{{Value(x.x), values.boolean(!*truth)}};
    }
    return std::nullopt;
  }
  if (x.kind != y.kind) return std::nullopt;
  if (x.kind == Kind::Method) {
    if (x.y != y.y) return std::nullopt;
    return std::vector<Pair>{{Value(x.x), Value(y.x)}};
  }
  if (x.kind == Kind::Is) {
    return std::vector<Pair>{{Value(x.x), Value(y.x)}, {Value(x.y), Value(y.y)}};
  }
  return std::nullopt;
}

bool same_shape(const Values& values, const Container& x, const Container& y) {
  if (x.shape != y.shape || x.side != y.side || x.items.size() != y.items.size()) return false;
  // Dictionaries need the same keys,
  for (size_t i = 0; x.shape == Container::kDict && i < x.items.size(); i += 2) {
    if (x.items[i] != y.items[i]) return false;
  }
  // functions the same code and the same set of attributes.
  for (size_t i = 0; x.shape == Container::kFunction && i < x.items.size(); ++i) {
    const bool is_part = i < Container::kFirstAttribute;
    const bool is_same =
        is_part ? x.items[i] == y.items[i]
                : values.is(x.items[i], Kind::Null) == values.is(y.items[i], Kind::Null);
    if (!is_same) return false;
  }
  return true;
}

bool is_dictionary(const Container* container) {
  return container != nullptr && container->shape == Container::kDict;
}

// Returns the container that a method or an identity test refers to; invalid if there is none.
Value container_in(const Values& values, const State& state, Value value) {
  while (values.is(value, Kind::Not) || values.is(value, Kind::Method)) {
    value = Value(values[value].x);
  }
  const auto known = [&](Value part) { return state.container(part) ? part : Value(); };
  if (!values.is(value, Kind::Is)) return known(value);
  const Value first = known(Value(values[value].x));
  return first.valid() ? first : known(Value(values[value].y));
}

// Gives up one pair of containers that do not correspond; returns false if there is none. First
// unifies containers with equal contents of both sides where dictionaries are involved, so that
// both sides continue with one object.
bool give_up_one(Values& values, const Slots& slots, State& known, State& next, CodePairs& pairs,
                 bool& known_changed) {
  std::unordered_map<uint32_t, Value> partner_of_known;
  std::unordered_map<uint32_t, Value> partner_of_next;
  std::vector<Pair> todo = pairs_of(slots, known, next);
  while (!todo.empty()) {
    const auto [o, n] = todo.back();
    todo.pop_back();
    if (is_structured(values[o].kind) || is_structured(values[n].kind)) {
      if (const auto operands = operands_of(values, o, n)) {
        todo.insert(todo.end(), operands->begin(), operands->end());
        continue;
      }
      // The same for the operand of an identity test.
      const auto lose = [&](State& state, Value whole, Value part) {
        const bool is_asked = part.valid() && !values.is(whole, Kind::Method);
        if (is_asked && settle_heap(values, state, pairs, Settle::kAll)) return;
        if (part.valid()) give_up(values, state, part);
      };
      const Value in_known =
          is_structured(values[o].kind) ? container_in(values, known, o) : Value();
      const Value in_next = is_structured(values[n].kind) ? container_in(values, next, n) : Value();
      lose(known, o, in_known);
      lose(next, n, in_next);
      known_changed = known_changed || in_known.valid();
      if (in_known.valid() || in_next.valid()) return true;
    }
    const Container* x = known.container(o);
    const Container* y = next.container(n);
    if (x == nullptr && y == nullptr) continue;
    bool fits = x != nullptr && y != nullptr && same_shape(values, *x, *y);
    if (fits) {
      const auto [p, p_new] = partner_of_known.try_emplace(o.value, n);
      const auto [q, q_new] = partner_of_next.try_emplace(n.value, o);
      fits = p->second == n && q->second == o;
      if (fits && p_new) {
        for (size_t i = 0; i < x->items.size(); ++i) todo.emplace_back(x->items[i], y->items[i]);
      }
    }
    if (fits) continue;
    const bool in_known = x != nullptr;
    const bool in_next = y != nullptr;
    if (is_dictionary(x) || is_dictionary(y)) {
      const bool known_settled = settle_heap(values, known, pairs, Settle::kAll);
      const bool next_settled = settle_heap(values, next, pairs, Settle::kAll);
      known_changed = known_changed || known_settled;
      if (known_settled || next_settled) return true;
    }
    known_changed = known_changed || in_known;
    if (in_known) give_up(values, known, o);
    if (in_next) give_up(values, next, n);
    return true;
  }
  return false;
}

// Returns true if the values of `known` can be renamed to those of `next`.
bool covers(Values& values, const Slots& slots, const State& known, const State& next) {
  std::unordered_map<uint32_t, Value> renamed;
  std::vector<Pair> todo = pairs_of(slots, known, next);
  while (!todo.empty()) {
    const auto [o, n] = todo.back();
    todo.pop_back();
    const Kind kind = values[o].kind;
    if (is_structured(kind)) {
      const auto operands = operands_of(values, o, n);
      if (!operands) return false;
      todo.insert(todo.end(), operands->begin(), operands->end());
      continue;
    }
    if (kind == Kind::Unknown || kind == Kind::Bool || kind == Kind::Maybe || kind == Kind::Fresh) {
      const auto [it, is_new] = renamed.try_emplace(o.value, n);
      if (!is_new && it->second != n) return false;
      if (kind == Kind::Unknown && !values.is_object(n)) return false;
      if (is_some(values, o) && !is_some(values, n)) return false;
      if (kind == Kind::Bool && !values.is_boolean(n)) return false;
      if (kind == Kind::Fresh && is_new) {
        const Container* x = known.container(o);
        const Container* y = next.container(n);
        PELLUCID_CHECK(x != nullptr && y != nullptr);
        for (size_t i = 0; i < x->items.size(); ++i) todo.emplace_back(x->items[i], y->items[i]);
      }
      continue;
    }
    if (o != n) return false;
  }
  // In the slots that were left out each value maps to itself.
  uint32_t oldest = UINT32_MAX, newest = 0;
  for (const auto& [o, n] : renamed) {
    if (Value(o) == n) continue;
    oldest = std::min(oldest, o);
    newest = std::max(newest, o);
  }
  if (newest < oldest) return true;
  const auto is_another = [&](Value value) {
    if (value.value < oldest || value.value > newest) return false;
    const auto found = renamed.find(value.value);
    return found != renamed.end() && found->second != value;
  };
  for (size_t side = 0; side < 2; ++side) {
    const Locals &x = known.half[side].locals, &y = next.half[side].locals;
    if (Locals::shares(x, y, oldest, newest, is_another)) return false;
  }
  return std::none_of(slots.same.begin(), slots.same.end(), is_another);
}

class Weakening {
 public:
  Weakening(Values& values, const State& known, const State& next)
      : values_(values), known_(known), next_(next) {}

  State run() {
    State out;
    const auto zip = [&](const std::vector<Value>& x, const std::vector<Value>& y) {
      std::vector<Value> merged;
      merged.reserve(x.size());
      for (size_t i = 0; i < x.size(); ++i) merged.push_back(value(x[i], y[i]));
      return merged;
    };
    for (size_t side = 0; side < 2; ++side) {
      out.half[side].stack = zip(known_.half[side].stack, next_.half[side].stack);
      out.half[side].locals =
          Locals::joined(values_, known_.half[side].locals, next_.half[side].locals,
                         [&](Value x, Value y) { return value(x, y); });
      out.half[side].exceptions = zip(known_.half[side].exceptions, next_.half[side].exceptions);
      out.half[side].released = zip(known_.half[side].released, next_.half[side].released);
      out.half[side].stores = known_.half[side].stores;
      out.half[side].interrupted = known_.half[side].interrupted;
      if (!both_tested(known_.half[side], next_.half[side])) continue;
      out.half[side].tested = value(known_.half[side].tested, next_.half[side].tested);
      out.half[side].truth = value(known_.half[side].truth, next_.half[side].truth);
    }
    for (size_t i = 0; i < known_.cells.size(); ++i) {
      const auto [slot, content, is_taken] = known_.cells[i];
      out.cells.push_back({slot, value(content, next_.cells[i].content), is_taken});
    }
    for (size_t i = 0; i < fresh_.size(); ++i) {
      const auto [merged, o, n] = fresh_[i];
      const Container* x = known_.container(o);
      const Container* y = next_.container(n);
      out.heap.push_back({merged, x->side, x->shape, zip(x->items, y->items)});
    }
    return out;
  }

 private:
  struct Merged {
    Value value, known, next;
  };

  // Structures are at most three deep: not, is, value.
  Value value(Value o, Value n) {
    // A simple value of both stays; containers become as many as there are pairs.
    const Kind kind = values_[o].kind;
    if (o == n && kind != Kind::Fresh && !is_structured(kind)) return o;
    const auto [it, is_new] = memo_.try_emplace({o, n}, Value());
    if (is_new) it->second = make(o, n);
    return it->second;
  }

  Value make(Value o, Value n) {
    const Node x = values_[o];
    const Node y = values_[n];
    if (is_structured(x.kind)) {
      if (const auto operands = operands_of(values_, o, n)) {
        const Value first = value((*operands)[0].first, (*operands)[0].second);
        if (x.kind == Kind::Not) return values_.negation(first);
        if (x.kind == Kind::Method) return values_.method(first, Name(x.y));
        return values_.identity(first, value((*operands)[1].first, (*operands)[1].second));
      }
    }
    if (o == n && x.kind != Kind::Fresh) return o;
    if (x.kind == Kind::Fresh && y.kind == Kind::Fresh) {
      const Value merged = values_.fresh(Kind::Fresh, x.hint);
      fresh_.push_back({merged, o, n});
      return merged;
    }
    const Name hint = x.hint == y.hint ? x.hint : Name();
    if (!values_.is_object(o) || !values_.is_object(n)) return values_.fresh(Kind::Maybe, hint);
    // A flag that is True on one path and False on another becomes an unknown boolean.
    const bool is_constant = x.kind == Kind::Const || y.kind == Kind::Const;
    if (!is_constant && values_.is_boolean(o) && values_.is_boolean(n)) {
      return values_.fresh(Kind::Bool, hint);
    }
    return values_.fresh(Kind::Unknown, hint);
  }

  Values& values_;
  const State& known_;
  const State& next_;
  std::map<Pair, Value> memo_;
  std::vector<Merged> fresh_;
};

// Treats a value of `other` with a known truth as tested if it is in the stack slot of the value
// that the other state has tested, with the same answer. Returns true if that replaces the test of
// another value.
bool share_test(const Values& values, const Half& tested, Half& other) {
  const std::optional<bool> truth = constant_truth(values, tested.truth);
  if (!truth) return false;
  size_t place = other.stack.size();
  for (size_t i = 0; i < other.stack.size(); ++i) {
    if (tested.stack[i] != tested.tested) continue;
    if (other.stack[i] == other.tested) return false;
    if (place == other.stack.size() && constant_truth(values, other.stack[i]) == truth) place = i;
  }
  if (place == other.stack.size()) return false;
  const bool forgets = other.tested.valid();
  other.tested = other.stack[place];
  other.truth = values.boolean(*truth);
  return forgets;
}

// Drops the cells whose contents only one state knows; returns true if `known` had such cells.
bool keep_common_cells(State& known, State& next) {
  const size_t before = known.cells.size();
  std::erase_if(known.cells, [&](const OwnCell& cell) { return !next.own_cell(cell.slot); });
  std::erase_if(next.cells, [&](const OwnCell& cell) { return !known.own_cell(cell.slot); });
  return known.cells.size() != before;
}

}  // namespace

bool merge(Values& values, State& known, State next, CodePairs& pairs) {
  bool changed = keep_common_cells(known, next);
  Slots slots = slots_of(values, known, next);
  while (give_up_one(values, slots, known, next, pairs, changed)) {
    slots = slots_of(values, known, next);
  }
  for (size_t side = 0; side < 2; ++side) {
    Half &x = known.half[side], &y = next.half[side];
    if (x.tested.valid()) share_test(values, x, y);
    if (y.tested.valid() && share_test(values, y, x)) changed = true;
    if (!x.tested.valid() || y.tested.valid()) continue;
    x.tested = x.truth = Value();
    changed = true;
  }
  if (covers(values, slots, known, next)) return changed;
  known = Weakening(values, known, next).run();
  return true;
}

}  // namespace pellucid::verify
