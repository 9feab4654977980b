// SPDX-License-Identifier: Apache-2.0
// Containers that have not escaped: operations on them are observed only by their contents.
//
// A tuple, list or slice made by this frame is Fresh, with known items, until it escapes by an
// effect (state.h: unify, give_up). Only operations that cannot fail are executed here; one with an
// unknown or out-of-range index is an effect. The objects are exact lists and tuples, whose methods
// cannot be replaced, so a method call on one is treated like an instruction.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "verify/machine/machine.h"

namespace pellucid::verify {

namespace {

class Containers {
 public:
  Containers(const SideCode& on, State& state)
      : values_(on.values()),
        state_(state),
        side_(on.side),
        stack_(state[side_].stack),
        largest_(on.context.largest),
        any_will_do_(on.context.assumed.any()) {}

  bool run(const Instr& instr, Name name) {
    switch (instr.op) {
      case Op::BuildTuple:
        return build(Container::kTuple, instr.a);
      case Op::BuildList:
        return build(Container::kList, instr.a);
      case Op::BuildSlice:
        return build(Container::kSlice, instr.a);
      case Op::ListAppend:
        return append(instr);
      case Op::ListExtend:
        return extend(instr);
      case Op::ListToTuple:
        return to_tuple();
      case Op::UnpackSequence:
        return unpack(instr.a);
      case Op::Subscr:
        return subscribe();
      case Op::StoreSubscr:
        return store();
      case Op::DeleteSubscr:
        return erase();
      case Op::LoadMethod:
        return method(name);
      case Op::Call:
        return call(instr);
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

  Container* list(Value value) {
    Container* found = state_.container(value);
    return found != nullptr && found->shape == Container::kList ? found : nullptr;
  }

  std::optional<std::vector<Value>> items_of(Value value) {
    return verify::items_of(values_, state_, value);
  }

  Value make(Container::Shape shape, std::vector<Value> items) {
    // All but the empty tuple are made anew each time, even of constants.
    std::optional<Value> constant;
    if (shape == Container::kTuple && (any_will_do_ || items.empty())) {
      constant = values_.constant_of(object::ConstKind::Tuple, items);
    } else if (shape == Container::kSlice && any_will_do_) {
      constant = slice_of(values_, items);
    }
    if (constant) return *constant;
    constexpr std::array names{"(...)", "[...]", "slice(...)", "{...}"};
    const Value self = values_.fresh(Kind::Fresh, values_.name(names[shape]));
    state_.heap.push_back({self, side_, shape, std::move(items)});
    return self;
  }

  bool build(Container::Shape shape, uint32_t count) {
    if (count > largest_) return false;
    PELLUCID_CHECK(count <= stack_.size());
    std::vector<Value> items(stack_.end() - count, stack_.end());
    pop(count);
    stack_.push_back(make(shape, std::move(items)));
    return true;
  }

  bool append(const Instr& instr) {
    Container* target = list(top(instr.a + 1));
    if (target == nullptr || target->items.size() >= largest_) return false;
    target->items.push_back(top(1));
    pop(1);
    return true;
  }

  bool extend(const Instr& instr) {
    const auto more = items_of(top(1));
    Container* target = list(top(instr.a + 1));
    if (target == nullptr || !more || target->items.size() + more->size() > largest_) return false;
    target->items.insert(target->items.end(), more->begin(), more->end());
    pop(1);
    return true;
  }

  bool to_tuple() {
    const Container* source = list(top(1));
    if (source == nullptr) return false;
    std::vector<Value> items = source->items;
    pop(1);
    stack_.push_back(make(Container::kTuple, std::move(items)));
    return true;
  }

  bool unpack(uint32_t count) {
    const auto items = items_of(top(1));
    if (!items || items->size() != count) return false;
    pop(1);
    stack_.insert(stack_.end(), items->rbegin(), items->rend());
    return true;
  }

  static std::optional<size_t> position(int64_t at, size_t size) {
    const auto length = static_cast<int64_t>(size);
    if (at < 0) at += length;
    if (at < 0 || at >= length) return std::nullopt;
    return static_cast<size_t>(at);
  }

  // Returns [begin, end) of a slice with step 1 and known bounds.
  std::optional<std::pair<size_t, size_t>> range(Value value, size_t size) {
    const auto parts = slice_parts(values_, state_, value);
    if (!parts) return std::nullopt;
    const auto length = static_cast<int64_t>(size);
    const auto bound = [&](Value item, int64_t otherwise) -> std::optional<int64_t> {
      if (item == values_.none()) return otherwise;
      auto at = as_integer(values_, item);
      if (!at) return std::nullopt;
      if (*at < 0) *at += length;
      return std::clamp<int64_t>(*at, 0, length);
    };
    if (parts->size() == 3 && (*parts)[2] != values_.none() &&
        as_integer(values_, (*parts)[2]) != 1) {
      return std::nullopt;
    }
    const auto begin = bound((*parts)[0], 0);
    const auto end = bound((*parts)[1], length);
    if (!begin || !end) return std::nullopt;
    return std::pair(static_cast<size_t>(*begin), static_cast<size_t>(std::max(*begin, *end)));
  }

  bool subscribe() {
    const Value key = top(1);
    const Value source = top(2);
    const Container* container = state_.container(source);
    const bool is_sequence = container != nullptr && (container->shape == Container::kTuple ||
                                                      container->shape == Container::kList);
    const auto constant = container == nullptr ? tuple_items(values_, source) : std::nullopt;
    if (!is_sequence && !constant) return false;
    // Not copied: there may be as many items as subscripts.
    const std::vector<Value>* items = constant ? &*constant : &container->items;
    Value result;
    if (const auto at = as_integer(values_, key)) {
      const auto found = position(*at, items->size());
      if (!found) return false;
      result = (*items)[*found];
    } else if (const auto part = range(key, items->size())) {
      result = make(container == nullptr ? Container::kTuple : container->shape,
                    {items->begin() + static_cast<ptrdiff_t>(part->first),
                     items->begin() + static_cast<ptrdiff_t>(part->second)});
    } else {
      return false;
    }
    pop(2);
    stack_.push_back(result);
    return true;
  }

  // On the stack: value, list, key.
  bool store() {
    Container* target = list(top(2));
    if (target == nullptr) return false;
    if (const auto at = as_integer(values_, top(1))) {
      const auto found = position(*at, target->items.size());
      if (!found) return false;
      target->items[*found] = top(3);
    } else if (const auto part = range(top(1), target->items.size())) {
      const auto items = items_of(top(3));
      if (!items || target->items.size() + items->size() > largest_) return false;
      auto& all = target->items;
      const auto from = all.erase(all.begin() + static_cast<ptrdiff_t>(part->first),
                                  all.begin() + static_cast<ptrdiff_t>(part->second));
      all.insert(from, items->begin(), items->end());
    } else {
      return false;
    }
    pop(3);
    return true;
  }

  // On the stack: list, key.
  bool erase() {
    Container* target = list(top(2));
    if (target == nullptr) return false;
    auto& all = target->items;
    if (const auto at = as_integer(values_, top(1))) {
      const auto found = position(*at, all.size());
      if (!found) return false;
      all.erase(all.begin() + static_cast<ptrdiff_t>(*found));
    } else if (const auto part = range(top(1), all.size())) {
      all.erase(all.begin() + static_cast<ptrdiff_t>(part->first),
                all.begin() + static_cast<ptrdiff_t>(part->second));
    } else {
      return false;
    }
    pop(2);
    return true;
  }

  // Loads a method that is called; one bound for other purposes is an object.
  bool method(Name name) {
    if (list(top(1)) == nullptr) return false;
    constexpr std::array known{"append", "extend", "pop", "clear", "copy", "insert", "reverse"};
    const auto wanted = values_.text(name);
    if (std::none_of(known.begin(), known.end(), [&](const char* k) { return wanted == k; })) {
      return false;
    }
    const Value found = values_.method(top(1), name);
    pop(1);
    stack_.push_back(values_.null());
    stack_.push_back(found);
    return true;
  }

  bool call(const Instr& instr) {
    const uint32_t count = instr.a;
    Value callable = top(count + 1);
    if (instr.b == 2) {
      const Value deeper = top(count + 2);
      if (values_.is(callable, Kind::Null)) {
        callable = deeper;
      } else if (!values_.is(deeper, Kind::Null)) {
        return false;
      }
    }
    if (!values_.is(callable, Kind::Method)) return false;
    const Node method = values_[callable];
    Container* target = list(Value(method.x));
    if (target == nullptr) return false;
    const std::vector<Value> arguments(stack_.end() - count, stack_.end());
    const auto result = apply(*target, values_.text(Name(method.y)), arguments);
    if (!result) return false;
    pop(count + instr.b);
    stack_.push_back(*result);
    return true;
  }

  std::optional<Value> apply(Container& target, std::string_view method,
                             const std::vector<Value>& arguments) {
    auto& all = target.items;
    const size_t count = arguments.size();
    if (method == "append" && count == 1 && all.size() < largest_) {
      all.push_back(arguments[0]);
      return values_.none();
    }
    if (method == "extend" && count == 1) {
      const auto more = items_of(arguments[0]);
      if (!more || all.size() + more->size() > largest_) return std::nullopt;
      all.insert(all.end(), more->begin(), more->end());
      return values_.none();
    }
    if (method == "pop" && count <= 1) {
      const auto at = count == 0 ? std::optional<int64_t>(-1) : as_integer(values_, arguments[0]);
      const auto found = at ? position(*at, all.size()) : std::nullopt;
      if (!found) return std::nullopt;
      const Value item = all[*found];
      all.erase(all.begin() + static_cast<ptrdiff_t>(*found));
      return item;
    }
    if (method == "insert" && count == 2 && all.size() < largest_) {
      auto at = as_integer(values_, arguments[0]);
      if (!at) return std::nullopt;
      const auto length = static_cast<int64_t>(all.size());
      if (*at < 0) *at = std::max<int64_t>(0, *at + length);
      all.insert(all.begin() + std::min(*at, length), arguments[1]);
      return values_.none();
    }
    if (method == "clear" && count == 0) {
      all.clear();
      return values_.none();
    }
    if (method == "reverse" && count == 0) {
      std::reverse(all.begin(), all.end());
      return values_.none();
    }
    if (method == "copy" && count == 0) return make(Container::kList, all);
    return std::nullopt;
  }

  Values& values_;
  State& state_;
  Side side_;
  std::vector<Value>& stack_;
  const size_t largest_;
  const bool any_will_do_;  // of equal constants (object/facts.h)
};

}  // namespace

std::optional<std::vector<Value>> items_of(Values& values, const State& state, Value value) {
  const Container* found = state.container(value);
  if (found == nullptr) return tuple_items(values, value);
  if (found->shape != Container::kTuple && found->shape != Container::kList) return std::nullopt;
  return found->items;
}

std::optional<std::vector<Value>> slice_parts(Values& values, const State& state, Value value) {
  const Container* found = state.container(value);
  if (found == nullptr) return slice_items(values, value);
  if (found->shape != Container::kSlice) return std::nullopt;
  return found->items;
}

bool execute_on_fresh(const SideCode& on, State& state, const Instr& instr, Name name) {
  return Containers(on, state).run(instr, name);
}

}  // namespace pellucid::verify
