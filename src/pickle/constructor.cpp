// SPDX-License-Identifier: Apache-2.0
#include "pickle/constructor.h"

#include <string_view>
#include <utility>
#include <vector>

#include "pickle/fold.h"

namespace pellucid::pickle {

namespace {

constexpr size_t kLeastArguments = 14;  // arguments
constexpr size_t kMostArguments = 24;

// Takes arguments by their kinds, one after the other.
class ArgumentTaker {
 public:
  ArgumentTaker(Graph& graph, std::vector<ValueId> arguments)
      : graph_(graph), arguments_(std::move(arguments)) {
    for (ValueId& argument : arguments_) argument = folded(graph_, argument);
  }

  std::optional<CodeParts> run() {
    if (const auto old = before_38()) return old;
    // dill puts the line table of 3.9 first.
    if (is_bytes(0) && is(1, Kind::Int)) ++at_;
    CodeParts parts;
    for (int32_t& number : parts.numbers) {
      if (!take_number(number)) return std::nullopt;
    }
    bool is_fine = take_bytes(parts.bytecode) && take(Kind::Tuple, parts.consts) &&
                   take(Kind::Tuple, parts.names) && take(Kind::Tuple, parts.varnames) &&
                   take(Kind::Str, parts.filename) && take(Kind::Str, parts.name);
    if (!is_fine) return std::nullopt;
    parts.is_since_311 = take(Kind::Str, parts.qualname);
    if (!take_number(parts.firstlineno) || !take_bytes(parts.linetable)) return std::nullopt;
    if (parts.is_since_311) {
      if (!take_bytes(parts.exceptiontable)) return std::nullopt;
      // Pre-releases of 3.11 had two more tables between the two.
      while (is_bytes(at_)) take_bytes(parts.exceptiontable);
    }
    is_fine = take(Kind::Tuple, parts.freevars) && take(Kind::Tuple, parts.cellvars) &&
              at_ == arguments_.size();
    return is_fine ? std::optional(parts) : std::nullopt;
  }

 private:
  // Returns a code object of Python 2, or of 3.0 to 3.7: those had four or five numbers first.
  std::optional<CodeParts> before_38() const {
    size_t numbers = 0;
    while (is(numbers, Kind::Int)) ++numbers;
    const bool is_code = is(numbers, Kind::Bytes) || is(numbers, Kind::Str);
    const bool is_old = (numbers == 4 || numbers == 5) && is_code;
    if (!is_old || arguments_.size() != numbers + 10 || !is(numbers + 5, Kind::Str)) {
      return std::nullopt;
    }
    CodeParts parts;
    parts.is_too_old = true;
    parts.name = arguments_[numbers + 5];
    return parts;
  }

  bool is(size_t at, Kind kind) const {
    return at < arguments_.size() && graph_[arguments_[at]].kind == kind;
  }
  bool is_bytes(size_t at) const { return is(at, Kind::Bytes); }
  bool take(Kind kind, ValueId& into) {
    if (!is(at_, kind)) return false;
    into = arguments_[at_++];
    return true;
  }
  bool take_bytes(ValueId& into) { return take(Kind::Bytes, into); }
  bool take_number(int32_t& into) {
    if (!is(at_, Kind::Int)) return false;
    const int64_t number = graph_[arguments_[at_]].number;
    if (number < INT32_MIN || number > INT32_MAX) return false;
    into = static_cast<int32_t>(number);
    ++at_;
    return true;
  }

  Graph& graph_;
  std::vector<ValueId> arguments_;
  size_t at_ = 0;
};

constexpr size_t kMostCodeFields = 32;

// The state of an object that has the attributes of a code object, such as torch's SerializedCode.
class StateReader {
 public:
  StateReader(Graph& graph, ValueId dict)
      : graph_(graph), items_(graph.items(dict, 2 * kMostCodeFields)) {
    for (ValueId& item : items_) item = folded(graph, item);
  }

  std::optional<CodeParts> run() {
    CodeParts parts;
    constexpr std::string_view kNumbers[] = {"co_argcount",       "co_posonlyargcount",
                                             "co_kwonlyargcount", "co_nlocals",
                                             "co_stacksize",      "co_flags"};
    for (size_t i = 0; i < parts.numbers.size(); ++i) {
      if (!number(kNumbers[i], parts.numbers[i])) return std::nullopt;
    }
    parts.is_since_311 = value("co_exceptiontable", Kind::Bytes, parts.exceptiontable);
    const bool is_fine = number("co_firstlineno", parts.firstlineno) &&
                         value("co_code", Kind::Bytes, parts.bytecode) &&
                         value("co_consts", Kind::Tuple, parts.consts) &&
                         value("co_names", Kind::Tuple, parts.names) &&
                         value("co_varnames", Kind::Tuple, parts.varnames) &&
                         value("co_filename", Kind::Str, parts.filename) &&
                         value("co_name", Kind::Str, parts.name) &&
                         value("co_freevars", Kind::Tuple, parts.freevars) &&
                         value("co_cellvars", Kind::Tuple, parts.cellvars) &&
                         (value("co_linetable", Kind::Bytes, parts.linetable) ||
                          value("co_lnotab", Kind::Bytes, parts.linetable)) &&
                         (!parts.is_since_311 || value("co_qualname", Kind::Str, parts.qualname));
    return is_fine ? std::optional(parts) : std::nullopt;
  }

 private:
  bool value(std::string_view name, Kind kind, ValueId& into) const {
    for (size_t i = 0; i + 1 < items_.size(); i += 2) {
      if (!graph_.is(items_[i], Kind::Str) || graph_.text(items_[i]) != name) continue;
      if (graph_[items_[i + 1]].kind == kind) into = items_[i + 1];
    }
    return into.valid();
  }
  bool number(std::string_view name, int32_t& into) const {
    ValueId found;
    if (!value(name, Kind::Int, found)) return false;
    const int64_t given = graph_[found].number;
    into = static_cast<int32_t>(given);
    return into == given;
  }

  const Graph& graph_;
  std::vector<ValueId> items_;
};

}  // namespace

std::optional<CodeParts> code_of_call(Graph& graph, ValueId call) {
  if (graph[call].kind != Kind::Call) return std::nullopt;
  for (const ValueId change : graph.items(call, 4)) {
    const ValueId state = graph[change].kind == Kind::State ? graph.item(change, 0) : ValueId();
    if (!graph.is(state, Kind::Dict)) continue;
    if (const auto parts = StateReader(graph, state).run()) return parts;
  }
  const ValueId tuple = graph.item(call, 1);
  if (graph[tuple].kind != Kind::Tuple) return std::nullopt;
  std::vector<ValueId> arguments = graph.items(tuple, kMostArguments + 1);
  if (arguments.size() < kLeastArguments || arguments.size() > kMostArguments) return std::nullopt;
  return ArgumentTaker(graph, std::move(arguments)).run();
}

}  // namespace pellucid::pickle
