// SPDX-License-Identifier: Apache-2.0
#include "pickle/machine.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "object/utf8.h"
#include "pickle/arrays.h"
#include "pickle/changes.h"
#include "pickle/fold.h"
#include "pickle/literals.h"
#include "pickle/reader.h"
#include "pickle/stack.h"

namespace pellucid::pickle {

namespace {

constexpr int kNewestProtocol = 5;
constexpr int kDeepestArrays = 16;  // arrays of objects in arrays of objects

class Machine {
 public:
  Machine(Graph& graph, uint64_t at, int depth, uint64_t& steps, size_t most_values)
      : graph_(graph),
        in_(graph.input, at),
        depth_(depth),
        changes_(graph, steps),
        steps_(steps),
        most_values_(most_values) {}

  // Runs to STOP; returns false after a failure.
  bool run() {
    while (!is_done_) {
      at_ = in_.at();
      const std::optional<uint8_t> byte = in_.byte();
      if (!byte) return fail("unexpected end without STOP", ErrorCode::Truncated);
      if (!is_opcode(*byte)) return fail("unknown opcode");
      const Op op = static_cast<Op>(*byte);
      Result<Argument> argument = in_.argument(op);
      if (!argument.ok()) return fail(argument.error().message, argument.error().code);
      if (!step(op, *argument)) return false;
      if (graph_.values.size() > most_values_ || graph_.places.size() > kMostPlaces ||
          stack_.size_with_marks() + memo_.size() > 2 * most_values_) {
        return fail("more values than pellucid reads", ErrorCode::Limit);
      }
    }
    return true;
  }

  ValueId result() const { return result_; }
  uint64_t end() const { return in_.at(); }
  size_t left_over() const { return stack_.size(); }

 private:
  bool fail(std::string message, ErrorCode code = ErrorCode::Malformed) {
    graph_.has_failed = true;
    graph_.failure = {code, at_, std::move(message)};
    return false;
  }
  bool underflow() {
    return fail(stack_.has_mark() ? "a mark where a value should be" : "the stack is empty");
  }

  // --- the stack
  bool has(size_t count) const { return stack_.has(count); }
  bool push(ValueId id) {
    stack_.push(id);
    return true;
  }
  ValueId pop() { return stack_.take(1)[0]; }
  ValueId top() const { return stack_.top(); }
  std::optional<Items> take_marked() {
    std::optional<Items> items = stack_.take_marked();
    if (!items) fail("no mark on the stack");
    return items;
  }

  void effect(Effect::Kind kind, ValueId value, ValueId detail = {}) {
    graph_.effects.push_back({kind, at_, value, detail});
  }
  Kind kind(ValueId id) const { return graph_[id].kind; }

  // --- opcodes
  bool step(Op op, const Argument& argument) {
    switch (op) {
      case Op::Proto:
        if (argument.number > kNewestProtocol) return fail("unsupported protocol");
        graph_.protocol = std::max(graph_.protocol, static_cast<int>(argument.number));
        return true;
      case Op::Frame:
        return argument.number >= 0 && static_cast<uint64_t>(argument.number) <= in_.left()
                   ? true
                   : fail("a frame is longer than the file", ErrorCode::Truncated);
      case Op::Stop:
        if (!has(1)) return underflow();
        result_ = pop();
        is_done_ = true;
        return true;
      case Op::Mark:
        stack_.mark();
        return true;
      case Op::Pop:
        if (stack_.drop_mark()) return true;
        if (!has(1)) return underflow();
        pop();
        return true;
      case Op::PopMark:
        return take_marked().has_value();
      case Op::Dup:
        return has(1) ? push(top()) : underflow();
      case Op::Put:
      case Op::BinPut:
      case Op::LongBinPut:
      case Op::Memoize:
      case Op::Get:
      case Op::BinGet:
      case Op::LongBinGet:
        return memo(op, argument);
      case Op::None:
      case Op::NewTrue:
      case Op::NewFalse:
      case Op::Int:
      case Op::Long:
      case Op::Float:
      case Op::BinInt:
      case Op::BinInt1:
      case Op::BinInt2:
      case Op::Long1:
      case Op::Long4:
      case Op::BinFloat:
      case Op::String:
      case Op::BinString:
      case Op::ShortBinString:
      case Op::Unicode:
      case Op::BinUnicode:
      case Op::ShortBinUnicode:
      case Op::BinUnicode8:
      case Op::BinBytes:
      case Op::ShortBinBytes:
      case Op::BinBytes8:
      case Op::ByteArray8:
        return literal(op, argument);
      case Op::EmptyTuple:
      case Op::EmptyList:
      case Op::EmptyDict:
      case Op::EmptySet:
      case Op::Tuple1:
      case Op::Tuple2:
      case Op::Tuple3:
      case Op::Tuple:
      case Op::List:
      case Op::Dict:
      case Op::FrozenSet:
        return container(op);
      case Op::Append:
      case Op::Appends:
      case Op::SetItem:
      case Op::SetItems:
      case Op::AddItems:
        return change(op);
      case Op::Global:
      case Op::StackGlobal:
      case Op::Inst:
      case Op::Ext1:
      case Op::Ext2:
      case Op::Ext4:
      case Op::PersId:
      case Op::BinPersId:
      case Op::NextBuffer:
      case Op::ReadonlyBuffer:
        return outside(op, argument);
      case Op::Reduce:
      case Op::Obj:
      case Op::NewObj:
      case Op::NewObjEx:
        return call(op);
      case Op::Build:
        return build();
    }
    return fail("unknown opcode");
  }

  // --- the memo
  bool memo(Op op, const Argument& argument) {
    const bool is_get = op == Op::Get || op == Op::BinGet || op == Op::LongBinGet;
    auto index = static_cast<uint64_t>(argument.number);
    if (op == Op::Put || op == Op::Get) {
      const auto written = int_of(argument.text, false);
      if (!written || !written->big.empty()) return fail("a memo index that is not a number");
      if (written->number < 0) return fail("a negative memo index");
      index = static_cast<uint64_t>(written->number);
    }
    if (is_get) {
      const ValueId* const found = memo_.find(index);
      return found ? push(*found) : fail("no memo value at index " + std::to_string(index));
    }
    if (!has(1)) return underflow();
    memo_.put(op == Op::Memoize ? memo_.size() : index, top());
    return true;
  }

  bool literal(Op op, const Argument& argument) {
    const Result<ValueId> made = literal_of(graph_, op, argument);
    return made.ok() ? push(*made) : fail(made.error().message);
  }

  // --- containers
  bool container(Op op) {
    switch (op) {
      case Op::EmptyTuple:
        return push(graph_.add(Kind::Tuple));
      case Op::EmptyList:
        return push(graph_.add(Kind::List));
      case Op::EmptyDict:
        return push(graph_.add(Kind::Dict));
      case Op::EmptySet:
        return push(graph_.add(Kind::Set));
      case Op::Tuple1:
      case Op::Tuple2:
      case Op::Tuple3: {
        const size_t count = op == Op::Tuple1 ? 1 : op == Op::Tuple2 ? 2 : 3;
        if (!has(count)) return underflow();
        return push(graph_.add_with(Kind::Tuple, stack_.take(count)));
      }
      default:
        break;
    }
    const std::optional<Items> items = take_marked();
    if (!items) return false;
    if (op == Op::Dict && items->size() % 2 != 0) return fail("a key without a value");
    const size_t step = op == Op::Dict ? 2 : 1;
    if ((op == Op::Dict || op == Op::FrozenSet) && !are_hashable(graph_, *items, step)) {
      return fail("an unhashable key");
    }
    return push(graph_.add_with(op == Op::Tuple  ? Kind::Tuple
                                : op == Op::List ? Kind::List
                                : op == Op::Dict ? Kind::Dict
                                                 : Kind::FrozenSet,
                                *items));
  }

  bool is_object(ValueId id) const { return pickle::is_object(graph_, id); }

  bool change(Op op) {
    Items items;
    if (op == Op::Append || op == Op::SetItem) {
      const size_t count = op == Op::Append ? 1 : 2;
      if (!has(count + 1)) return underflow();
      items = stack_.take(count);
    } else {
      std::optional<Items> taken = take_marked();
      if (!taken) return false;
      if (!has(1)) return underflow();
      items = std::move(*taken);
    }
    const bool stores = op == Op::SetItem || op == Op::SetItems;
    const Failure failure = stores               ? changes_.store(top(), items, at_)
                            : op == Op::AddItems ? changes_.add(top(), items, at_)
                                                 : changes_.append(top(), items, at_);
    return !failure || fail(failure->message, failure->code);
  }

  // --- what the program that loads the pickle, or a module, gives
  ValueId global(ValueId module, ValueId name) {
    const ValueId id = graph_.add_with(Kind::Global, Items{module, name});
    effect(Effect::Kind::Import, id);
    return id;
  }

  // Returns the Global that two lines name; invalid after a failure.
  ValueId named(const Argument& argument) {
    for (const std::string_view line : {argument.text, argument.more}) {
      if (line.empty()) {
        fail("an empty name");
        return {};
      }
      if (!object::is_utf8_with_surrogates(line)) {
        fail("a name that is not UTF-8");
        return {};
      }
    }
    const auto size = argument.text.size();
    const ValueId module = graph_.add_text(Kind::Str, argument.offset, size);
    const ValueId name =
        graph_.add_text(Kind::Str, argument.offset + size + 1, argument.more.size());
    return global(module, name);
  }

  bool outside(Op op, const Argument& argument) {
    switch (op) {
      case Op::Global: {
        const ValueId id = named(argument);
        return id.valid() && push(id);
      }
      case Op::StackGlobal:
        return stack_global();
      case Op::Inst: {
        std::optional<Items> items = take_marked();
        if (!items) return false;
        const ValueId function = named(argument);
        return function.valid() && instance(function, *items);
      }
      case Op::Ext1:
      case Op::Ext2:
      case Op::Ext4: {
        if (argument.number <= 0) return fail("an extension code that is not positive");
        const ValueId id = graph_.add(Kind::Extension, argument.number);
        effect(Effect::Kind::Extension, id);
        return push(id);
      }
      case Op::PersId: {
        if (!object::is_ascii(argument.text)) return fail("a persistent id that is not ASCII");
        return persistent(graph_.add_text(Kind::Str, argument.offset, argument.text.size()));
      }
      case Op::BinPersId:
        return has(1) ? persistent(pop()) : underflow();
      case Op::NextBuffer: {
        const ValueId id = graph_.add(Kind::Buffer, buffers_++);
        effect(Effect::Kind::Buffer, id);
        return push(id);
      }
      default:  // READONLY_BUFFER
        return has(1) || underflow();
    }
  }

  bool persistent(ValueId pid) {
    const ValueId id = graph_.add_with(Kind::Persistent, Items{pid});
    effect(Effect::Kind::Persistent, id);
    return push(id);
  }

  bool stack_global() {
    if (!has(2)) return underflow();
    ValueId name = pop();
    ValueId module = pop();
    for (ValueId* const part : {&module, &name}) {
      if (kind(*part) == Kind::Str) continue;
      if (!is_object(*part)) return fail("STACK_GLOBAL needs two strings");
      *part = folded(graph_, *part);
    }
    return push(global(module, name));
  }

  // --- calls
  ValueId add_call(Form form, const Items& parts) {
    const ValueId id = graph_.add_with(Kind::Call, parts);
    graph_.values[id.index()].form = form;
    effect(Effect::Kind::Call, id);
    return id;
  }

  bool instance(ValueId function, const Items& arguments) {
    if (!is_object(function)) return fail("a call of a value that is not callable");
    const ValueId tuple = graph_.add_with(Kind::Tuple, arguments);
    return push(add_call(Form::Instance, {function, tuple}));
  }

  bool call(Op op) {
    if (op == Op::Obj) {
      std::optional<Items> items = take_marked();
      if (!items) return false;
      if (items->empty()) return fail("a call without a class");
      const ValueId function = items->front();
      items->erase(items->begin());
      return instance(function, *items);
    }
    const size_t count = op == Op::NewObjEx ? 3 : 2;
    if (!has(count)) return underflow();
    const Items parts = stack_.take(count);
    if (!is_object(parts[0])) return fail("a call of a value that is not callable");
    if (kind(parts[1]) != Kind::Tuple && !is_object(parts[1])) {
      return fail("arguments that are not a tuple");
    }
    if (count == 3 && kind(parts[2]) != Kind::Dict && !is_object(parts[2])) {
      return fail("keywords that are not a dict");
    }
    return push(add_call(op == Op::Reduce   ? Form::Reduce
                         : op == Op::NewObj ? Form::New
                                            : Form::NewEx,
                         parts));
  }

  bool build() {
    if (!has(2)) return underflow();
    const ValueId state = pop();
    const ValueId target = top();
    if (!is_object(target)) {
      if (kind(state) == Kind::None) return true;
      return fail("BUILD of a value without attributes");
    }
    changes_.record(target, Kind::State, {state}, at_);
    return array(target, state);
  }

  // joblib writes an array into the stream, behind the object that describes it.
  bool array(ValueId wrapper, ValueId state) {
    const std::optional<ArrayShape> shape = array_of(graph_, wrapper, state);
    if (!shape) return true;
    if (shape->holds_objects) {
      if (depth_ == 0) return fail("arrays that are nested too deep", ErrorCode::Limit);
      Machine inner(graph_, in_.at(), depth_ - 1, steps_, most_values_);
      if (!inner.run()) return false;
      in_.skip(inner.end() - in_.at());
      graph_.append(wrapper, graph_.add_with(Kind::Appended, Items{inner.result()}));
      return true;
    }
    if (shape->is_aligned) {
      const std::optional<uint8_t> padding = in_.byte();
      if (!padding || *padding > in_.left()) return cut_off();
      in_.skip(*padding);
    }
    if (shape->size > in_.left()) return cut_off();
    in_.skip(shape->size);
    return true;
  }
  bool cut_off() { return fail("an array is cut off", ErrorCode::Truncated); }

  Graph& graph_;
  Reader in_;
  int depth_;
  Changes changes_;
  uint64_t& steps_;
  size_t most_values_;
  uint64_t at_ = 0;  // of the opcode that runs
  Stack stack_;
  Memo memo_;
  int64_t buffers_ = 0;
  ValueId result_;
  bool is_done_ = false;
};

}  // namespace

Graph run(std::span<const uint8_t> bytes, uint64_t at, size_t most_values) {
  Graph graph;
  graph.input = bytes;
  graph.start = at;
  uint64_t steps = 0;
  Machine machine(graph, at, kDeepestArrays, steps, most_values);
  if (machine.run()) {
    graph.result = machine.result();
    graph.end = machine.end();
    if (machine.left_over() != 0) {
      graph.notes.push_back(std::to_string(machine.left_over()) +
                            " values are left on the stack at STOP");
    }
  } else {
    graph.end = graph.failure.offset;
  }
  return graph;
}

}  // namespace pellucid::pickle
