// SPDX-License-Identifier: Apache-2.0
// Dictionaries that have not escaped, with constant strings as keys.
//
// Hashing strings runs no user code, so building such a dictionary cannot fail and is observed only
// by its contents. Items are key, value, key, value, ... in insertion order, which is observable.
// Any other key makes the instruction an effect.
#include <algorithm>

#include "base/check.h"
#include "verify/machine/machine.h"

namespace pellucid::verify {

namespace {

// In pairs; growing a dictionary beyond this is an effect.
constexpr size_t kLargestDict = 256;

class Dictionaries {
 public:
  Dictionaries(Values& values, State& state, Side side)
      : values_(values), state_(state), side_(side), stack_(state[side].stack) {}

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

  bool is_text(Value value) const {
    const Constant* constant = values_.as_constant(value);
    return constant != nullptr && constant->kind == object::ConstKind::Str;
  }

  Container* dictionary(Value value) {
    Container* found = state_.container(value);
    return found != nullptr && found->shape == Container::kDict ? found : nullptr;
  }

  static Value* find(std::vector<Value>& items, Value key) {
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      if (items[i] == key) return &items[i + 1];
    }
    return nullptr;
  }

  static void put(std::vector<Value>& items, Value key, Value value) {
    if (Value* old = find(items, key)) {
      *old = value;
    } else {
      items.insert(items.end(), {key, value});
    }
  }

  bool finish(size_t slots, const std::vector<std::pair<Value, Value>>& pairs) {
    std::vector<Value> items;
    for (const auto& [key, value] : pairs) {
      if (!is_text(key)) return false;
      put(items, key, value);
    }
    pop(slots);
    const Value self = values_.fresh(Kind::Fresh, values_.name("{...}"));
    state_.heap.push_back({self, side_, Container::kDict, std::move(items)});
    stack_.push_back(self);
    return true;
  }

  bool build(uint32_t count) {
    if (count > kLargestDict) return false;
    std::vector<std::pair<Value, Value>> pairs;
    for (size_t i = count; i > 0; --i) pairs.emplace_back(top(2 * i), top(2 * i - 1));
    return finish(2 * size_t{count}, pairs);
  }

  bool build_with_keys(uint32_t count) {
    const auto keys = tuple_items(values_, top(1));
    if (count > kLargestDict || !keys || keys->size() != count) return false;
    std::vector<std::pair<Value, Value>> pairs;
    for (size_t i = 0; i < count; ++i) pairs.emplace_back((*keys)[i], top(count + 1 - i));
    return finish(size_t{count} + 1, pairs);
  }

  bool add(uint32_t depth) {
    Container* target = dictionary(top(depth + 2));
    if (target == nullptr || !is_text(top(2)) || target->items.size() >= 2 * kLargestDict)
      return false;
    put(target->items, top(2), top(1));
    pop(2);
    return true;
  }

  bool update(const Instr& instr) {
    Container* target = dictionary(top(instr.a + 1));
    const Container* source = dictionary(top(1));
    if (target == nullptr || source == nullptr || target == source ||
        target->items.size() + source->items.size() > 2 * kLargestDict) {
      return false;
    }
    for (size_t i = 0; i + 1 < source->items.size(); i += 2) {
      // A repeated keyword argument is an error.
      if (instr.op == Op::DictMerge && find(target->items, source->items[i])) return false;
    }
    for (size_t i = 0; i + 1 < source->items.size(); i += 2) {
      put(target->items, source->items[i], source->items[i + 1]);
    }
    pop(1);
    return true;
  }

  bool subscribe() {
    Container* source = dictionary(top(2));
    const Value* found = source != nullptr ? find(source->items, top(1)) : nullptr;
    if (found == nullptr) return false;
    const Value value = *found;
    pop(2);
    stack_.push_back(value);
    return true;
  }

  // On the stack: value, dictionary, key.
  bool store() {
    Container* target = dictionary(top(2));
    if (target == nullptr || !is_text(top(1)) || target->items.size() >= 2 * kLargestDict)
      return false;
    put(target->items, top(1), top(3));
    pop(3);
    return true;
  }

  Values& values_;
  State& state_;
  Side side_;
  std::vector<Value>& stack_;
};

}  // namespace

bool execute_on_dictionary(Values& values, State& state, Side side, const Instr& instr) {
  return Dictionaries(values, state, side).run(instr);
}

}  // namespace pellucid::verify
