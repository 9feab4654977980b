// SPDX-License-Identifier: Apache-2.0
// Dictionaries that have not escaped, with constant strings, ints and None as keys.
//
// Hashing and comparing these runs no user code, so building such a dictionary cannot fail and is
// observed only by its contents. Items are key, value, key, value, ... in insertion order, which is
// observable. Any other key makes the instruction an effect.
#include <algorithm>

#include "base/check.h"
#include "verify/machine/machine.h"

namespace pellucid::verify {

namespace {

// Of so few a search is as fast.
constexpr size_t kFewKeys = 16;

class Dictionaries {
 public:
  Dictionaries(Values& values, State& state, Side side, size_t largest)
      : values_(values), state_(state), side_(side), stack_(state[side].stack), largest_(largest) {}

  bool run(const Instr& instr) {
    switch (instr.op) {
      case Op::BuildMap:
        return build(instr.a);
      case Op::BuildConstKeyMap:
        return build_with_keys(instr.a);
      case Op::MapAdd:
        return add(instr.a);
      case Op::DictUpdate:
      case Op::DictMerge:
        return update(instr);
      case Op::Subscr:
        return subscribe();
      case Op::StoreSubscr:
        return store();
      default:
        return false;
    }
  }

 private:
  Value top(size_t depth) const {
    PELLUCID_CHECK(depth >= 1 && depth <= stack_.size());
    return stack_[stack_.size() - depth];
  }
  void pop(size_t count) { stack_.resize(stack_.size() - count); }

  // Returns true for a key that equals no other one but itself, of those for which this is true.
  bool is_key(Value value) const {
    const Constant* constant = values_.as_constant(value);
    return constant != nullptr &&
           (constant->kind == object::ConstKind::Str || constant->kind == object::ConstKind::Int ||
            constant->kind == object::ConstKind::None);
  }

  Container* dictionary(Value value) {
    Container* found = state_.container(value);
    return found != nullptr && found->shape == Container::kDict ? found : nullptr;
  }

  // Returns the value of a key, or nullptr. In a large dictionary the place of each key is noted:
  // keys are never removed, and nothing takes the place of a constant.
  static Value* find(Container& dict, Value key) {
    std::vector<Value>& items = dict.items;
    if (items.size() <= 2 * kFewKeys) {
      for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (items[i] == key) return &items[i + 1];
      }
      return nullptr;
    }
    for (size_t i = 2 * dict.places.size(); i + 1 < items.size(); i += 2) {
      dict.places.emplace(items[i].value, static_cast<uint32_t>(i));
    }
    const auto found = dict.places.find(key.value);
    if (found == dict.places.end()) return nullptr;
    PELLUCID_CHECK(items[found->second] == key);
    return &items[found->second + 1];
  }

  static void put(Container& dict, Value key, Value value) {
    if (Value* old = find(dict, key)) {
      *old = value;
    } else {
      dict.items.insert(dict.items.end(), {key, value});
    }
  }

  bool finish(size_t slots, const std::vector<std::pair<Value, Value>>& pairs) {
    Container made{Value(), side_, Container::kDict, {}, {}};
    for (const auto& [key, value] : pairs) {
      if (!is_key(key)) return false;
      put(made, key, value);
    }
    pop(slots);
    made.self = values_.fresh(Kind::Fresh, values_.name("{...}"));
    stack_.push_back(made.self);
    state_.heap.push_back(std::move(made));
    return true;
  }

  bool build(uint32_t count) {
    if (count > largest_) return false;
    std::vector<std::pair<Value, Value>> pairs;
    for (size_t i = count; i > 0; --i) pairs.emplace_back(top(2 * i), top(2 * i - 1));
    return finish(2 * size_t{count}, pairs);
  }

  bool build_with_keys(uint32_t count) {
    const auto keys = tuple_items(values_, top(1));
    if (count > largest_ || !keys || keys->size() != count) return false;
    std::vector<std::pair<Value, Value>> pairs;
    for (size_t i = 0; i < count; ++i) pairs.emplace_back((*keys)[i], top(count + 1 - i));
    return finish(size_t{count} + 1, pairs);
  }

  bool add(uint32_t depth) {
    Container* target = dictionary(top(depth + 2));
    if (target == nullptr || !is_key(top(2)) || target->items.size() >= 2 * largest_) return false;
    put(*target, top(2), top(1));
    pop(2);
    return true;
  }

  bool update(const Instr& instr) {
    Container* target = dictionary(top(instr.a + 1));
    Container* source = dictionary(top(1));
    if (target == nullptr || source == nullptr || target == source ||
        target->items.size() + source->items.size() > 2 * largest_) {
      return false;
    }
    for (size_t i = 0; i + 1 < source->items.size(); i += 2) {
      // A repeated keyword argument is an error.
      if (instr.op == Op::DictMerge && find(*target, source->items[i])) return false;
    }
    for (size_t i = 0; i + 1 < source->items.size(); i += 2) {
      put(*target, source->items[i], source->items[i + 1]);
    }
    pop(1);
    return true;
  }

  bool subscribe() {
    Container* source = dictionary(top(2));
    const Value* found = source != nullptr ? find(*source, top(1)) : nullptr;
    if (found == nullptr) return false;
    const Value value = *found;
    pop(2);
    stack_.push_back(value);
    return true;
  }

  // On the stack: value, dictionary, key.
  bool store() {
    Container* target = dictionary(top(2));
    if (target == nullptr || !is_key(top(1)) || target->items.size() >= 2 * largest_) return false;
    put(*target, top(1), top(3));
    pop(3);
    return true;
  }

  Values& values_;
  State& state_;
  Side side_;
  std::vector<Value>& stack_;
  const size_t largest_;  // in pairs
};

}  // namespace

bool execute_on_dictionary(const SideCode& on, State& state, const Instr& instr) {
  return Dictionaries(on.values(), state, on.side, on.context.largest).run(instr);
}

}  // namespace pellucid::verify
