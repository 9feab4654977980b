// SPDX-License-Identifier: Apache-2.0
#include "pickle/functions.h"

#include <string_view>

#include "object/repr.h"
#include "object/utf8.h"
#include "pickle/fold.h"
#include "pickle/names.h"
#include "pickle/text.h"

namespace pellucid::pickle {

namespace {

constexpr size_t kMostAttributes = 64;
constexpr size_t kMostShown = 20;     // values of one line
constexpr size_t kLongestShown = 60;  // characters of a value
constexpr size_t kLongestFunctionName = 200;

bool is_none(const Graph& graph, ValueId id) { return !id.valid() || graph[id].kind == Kind::None; }

// Returns the member that an attribute fills: `__defaults__`, `defaults`, `func_defaults`.
ValueId* member(Function& function, std::string_view name) {
  if (name.starts_with("func_")) name.remove_prefix(5);
  while (name.starts_with('_')) name.remove_prefix(1);
  while (name.ends_with('_')) name.remove_suffix(1);
  if (name == "name") return &function.name;
  if (name == "qualname") return &function.qualname;
  if (name == "module") return &function.module;
  if (name == "doc") return &function.doc;
  if (name == "defaults") return &function.defaults;
  if (name == "kwdefaults") return &function.kwdefaults;
  if (name == "closure" || name == "closure_values") return &function.closure;
  if (name == "globals") return &function.globals;
  if (name == "annotations") return &function.annotations;
  return nullptr;
}

class FunctionFinder {
 public:
  FunctionFinder(Graph& graph, const std::unordered_set<uint32_t>& codes)
      : graph_(graph), codes_(codes) {}

  Functions run() {
    const size_t count = graph_.values.size();
    for (size_t i = 0; i < count; ++i) {
      if (graph_.values[i].kind == Kind::Call) look(ValueId(i));
    }
    return std::move(found_);
  }

 private:
  void look(ValueId call) {
    const ValueId tuple = graph_.item(call, 1);
    if (graph_[tuple].kind != Kind::Tuple) return;
    const std::vector<ValueId> arguments = graph_.items(tuple, 9);
    if (arguments.empty()) return;
    if (codes_.contains(arguments[0].value)) return make(call, arguments);
    const auto made = by_call_.find(arguments[0].value);
    if (made != by_call_.end()) return complete(found_.list[made->second], arguments);
    const bool sets_cell = arguments.size() == 3 && graph_.is(arguments[1], Kind::Str) &&
                           graph_.text(arguments[1]) == "cell_contents";
    if (sets_cell) found_.cells[arguments[0].value] = arguments[2];
  }

  // The arguments of types.FunctionType, of the makers of cloudpickle, and of dill.
  void make(ValueId call, const std::vector<ValueId>& arguments) {
    const std::string path = path_of(graph_, graph_.item(call, 0));
    Function function;
    function.code = arguments[0];
    const auto at = [&](size_t index) {
      return index < arguments.size() ? arguments[index] : ValueId();
    };
    if (last_part(path) == "_make_skel_func") {
      function.globals = at(2);
    } else if (graph_.item(call, 0).valid() && arguments.size() > 1) {
      function.globals = at(1);
      if (graph_.is(at(2), Kind::Str)) function.name = at(2);
      function.defaults = at(3);
      function.closure = at(4);
      function.kwdefaults = at(6);
    } else {
      return;  // a call of something else with a code object: exec(code)
    }
    by_call_[call.value] = found_.list.size();
    const std::vector<ValueId> parts = graph_.items(call, kMostAttributes);
    for (size_t i = 2; i < parts.size(); ++i) {
      if (graph_[parts[i]].kind == Kind::State) state(function, graph_.item(parts[i], 0));
    }
    found_.list.push_back(function);
  }

  void complete(Function& function, const std::vector<ValueId>& arguments) {
    if (arguments.size() == 2) return state(function, arguments[1]);
    if (arguments.size() == 3 && graph_.is(arguments[1], Kind::Str)) {
      if (ValueId* const place = member(function, graph_.text(arguments[1]))) *place = arguments[2];
      return;
    }
    // cloudpickle until 0.4: function, globals, defaults, dict, module, closure values.
    if (arguments.size() < 5) return;
    function.globals = arguments[1];
    function.defaults = arguments[2];
    function.module = arguments[4];
    if (arguments.size() > 5) function.closure = arguments[5];
  }

  // A dict of attributes, or a tuple of two.
  void state(Function& function, ValueId state) {
    if (!state.valid()) return;
    if (graph_[state].kind == Kind::Tuple) {
      for (const ValueId part : graph_.items(state, 2)) {
        if (graph_[part].kind == Kind::Dict) attributes(function, part);
      }
    } else if (graph_[state].kind == Kind::Dict) {
      attributes(function, state);
    }
  }
  void attributes(Function& function, ValueId dict) {
    const std::vector<ValueId> items = graph_.items(dict, 2 * kMostAttributes);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      if (!graph_.is(items[i], Kind::Str)) continue;
      if (ValueId* const place = member(function, graph_.text(items[i]))) *place = items[i + 1];
    }
  }

  Graph& graph_;
  const std::unordered_set<uint32_t>& codes_;
  std::unordered_map<uint32_t, size_t> by_call_;
  Functions found_;
};

// --- words ---------------------------------------------------------------------------------------

class Words {
 public:
  Words(const Graph& graph, const Functions& functions) : graph_(graph), functions_(functions) {}

  // Returns a value in a few words.
  std::string of(ValueId id) const {
    if (!id.valid()) return "?";
    const Kind kind = graph_[id].kind;
    if (kind != Kind::Call && kind != Kind::Global) return repr(graph_, id, kLongestShown);
    const std::string path = path_of(graph_, id);
    if (kind == Kind::Call && !path.empty()) {
      const std::string function = path_of(graph_, graph_.item(id, 0));
      const bool is_module = last_part(function).find("import") != std::string_view::npos;
      return (is_module ? "module " : "") + object::on_one_line(path);
    }
    return repr(graph_, id, kLongestShown);
  }

  // Returns the characters of a Str.
  std::string of_text(ValueId id) const {
    return object::on_one_line(object::front_of(graph_.text(id), kLongestShown));
  }

  // Returns what a cell holds, whoever made it.
  std::string of_cell(ValueId cell) const {
    if (const auto set = functions_.cells.find(cell.value); set != functions_.cells.end()) {
      return of(set->second);
    }
    if (graph_[cell].kind != Kind::Call) return of(cell);
    const std::string path = path_of(graph_, graph_.item(cell, 0));
    const std::string_view last = last_part(path);
    const ValueId arguments = graph_.item(cell, 1);
    if (last == "_make_empty_cell") return "?";
    if (last == "_make_cell" || last == "_create_cell" || last == "CellType" || last == "cell") {
      return of(graph_.item(arguments, 0));
    }
    return of(cell);
  }

 private:
  const Graph& graph_;
  const Functions& functions_;
};

// Returns "y = ", or nothing for a name that is not known.
std::string name_at(const std::vector<std::string>& names, size_t index) {
  return index < names.size() ? object::on_one_line(names[index]) + " = " : "";
}

}  // namespace

Functions functions_of(Graph& graph, const std::unordered_set<uint32_t>& codes) {
  return FunctionFinder(graph, codes).run();
}

std::string name_of(const Graph& graph, const Function& function) {
  for (const ValueId id : {function.qualname, function.name}) {
    if (graph.is(id, Kind::Str))
      return std::string(object::front_of(graph.text(id), kLongestFunctionName));
  }
  return {};
}

std::vector<std::string> about(const Graph& graph, const Functions& functions,
                               const Function& function, const VariableNames& names) {
  const Words words(graph, functions);
  std::vector<std::string> lines;
  const auto line = [&](const char* what, const std::vector<std::string>& parts) {
    if (parts.empty()) return;
    std::string text = std::string(what) + ": ";
    for (size_t i = 0; i < parts.size(); ++i) text += (i > 0 ? "; " : "") + parts[i];
    lines.push_back(text);
  };
  if (graph.is(function.module, Kind::Str)) line("module", {words.of_text(function.module)});
  std::vector<std::string> parts;
  if (!is_none(graph, function.defaults) && graph[function.defaults].kind == Kind::Tuple) {
    const std::vector<ValueId> values = graph.items(function.defaults, kMostShown);
    const size_t count = names.positional.size();
    const size_t first = count >= values.size() ? count - values.size() : count;
    for (size_t i = 0; i < values.size(); ++i) {
      parts.push_back(name_at(names.positional, first + i) + words.of(values[i]));
    }
  }
  const auto pairs = [&](ValueId dict, bool skips_hidden) {
    if (is_none(graph, dict) || graph[dict].kind != Kind::Dict) return;
    const std::vector<ValueId> items = graph.items(dict, 2 * kMostShown);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      if (!graph.is(items[i], Kind::Str)) continue;
      const std::string_view name = object::front_of(graph.text(items[i]), kLongestShown);
      if (skips_hidden && name.starts_with("__")) continue;
      parts.push_back(object::on_one_line(name) + " = " + words.of(items[i + 1]));
    }
  };
  pairs(function.kwdefaults, false);
  line("defaults", parts);
  parts.clear();
  pairs(function.globals, true);
  line("globals", parts);
  parts.clear();
  if (!is_none(graph, function.closure) && !graph.is_text(function.closure)) {
    const std::vector<ValueId> cells = graph.items(function.closure, kMostShown);
    for (size_t i = 0; i < cells.size(); ++i) {
      parts.push_back(name_at(names.free, i) + words.of_cell(cells[i]));
    }
  }
  line("closure", parts);
  return lines;
}

}  // namespace pellucid::pickle
