// SPDX-License-Identifier: Apache-2.0
#include "pickle/constructor.h"

#include <string_view>

#include "pickle/fold.h"

namespace pellucid::pickle {

namespace {

constexpr size_t kLeastArguments = 16;  // arguments
constexpr size_t kMostArguments = 24;

// Takes arguments by their kinds, one after the other.
class ArgumentTaker {
 public:
  ArgumentTaker(Graph& graph, std::vector<ValueId> arguments)
      : graph_(graph), arguments_(std::move(arguments)) {
    for (ValueId& argument : arguments_) argument = folded(graph_, argument);
  }

  std::optional<CodeParts> run() {
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

}  // namespace

std::optional<CodeParts> code_of_call(Graph& graph, ValueId call) {
  if (graph[call].kind != Kind::Call) return std::nullopt;
  const ValueId tuple = graph.item(call, 1);
  if (graph[tuple].kind != Kind::Tuple) return std::nullopt;
  std::vector<ValueId> arguments = graph.items(tuple, kMostArguments + 1);
  if (arguments.size() < kLeastArguments || arguments.size() > kMostArguments) return std::nullopt;
  return ArgumentTaker(graph, std::move(arguments)).run();
}

}  // namespace pellucid::pickle
