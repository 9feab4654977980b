// SPDX-License-Identifier: Apache-2.0
#include "python/from_tree.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "python/from_code.h"
#include "python/literals.h"
#include "python/types.h"

namespace nb = nanobind;

namespace pellucid::python {
namespace {

using ast::FieldInfo;
using ast::FieldType;
using ast::Kind;
using ast::NodeId;

constexpr int kDeepest = 5000;

// Python's classes that are a kind with a flag here (nodes.def).
struct Variant {
  Kind kind;
  std::string_view flag;  // the field that is 1
};

const std::unordered_map<std::string, Variant>& kinds() {
  static const std::unordered_map<std::string, Variant> known = [] {
    std::unordered_map<std::string, Variant> made;
    for (size_t i = 0; i < ast::kKinds; ++i) {
      made.emplace(ast::name_of(static_cast<Kind>(i)), Variant{static_cast<Kind>(i), {}});
    }
    made.emplace("AsyncFunctionDef", Variant{Kind::FunctionDef, "is_async"});
    made.emplace("AsyncFor", Variant{Kind::For, "is_async"});
    made.emplace("AsyncWith", Variant{Kind::With, "is_async"});
    made.emplace("TryStar", Variant{Kind::Try, "is_star"});
    return made;
  }();
  return known;
}

// The numbers of operators, by their classes' names. Those of one field are of one enumeration.
const std::unordered_map<std::string, uint32_t>& operators() {
  static const std::unordered_map<std::string, uint32_t> known = [] {
    std::unordered_map<std::string, uint32_t> made;
    const auto add = [&](std::initializer_list<const char*> names) {
      uint32_t number = 0;
      for (const char* name : names) made.emplace(name, number++);
    };
    add({"And", "Or"});
    add({"Add", "Sub", "Mult", "MatMult", "Div", "Mod", "Pow", "LShift", "RShift", "BitOr",
         "BitXor", "BitAnd", "FloorDiv"});
    add({"USub", "UAdd", "Not", "Invert"});
    add({"Lt", "LtE", "Eq", "NotEq", "Gt", "GtE", "Is", "IsNot", "In", "NotIn"});
    return made;
  }();
  return known;
}

std::string class_of(nb::handle object) { return utf8(object.type().attr("__name__")); }

uint32_t operator_of(nb::handle object) {
  const auto found = operators().find(class_of(object));
  if (found == operators().end()) throw nb::value_error("not an operator of Python's syntax");
  return found->second;
}

class TreeReader {
 public:
  explicit TreeReader(ast::Tree& tree) : tree_(tree) {}

  NodeId node(nb::handle given) {
    if (given.is_none()) return {};
    if (++depth_ > kDeepest) {
      PyErr_SetString(PyExc_RecursionError, "the source nests too deep");
      throw nb::python_error();
    }
    const NodeId made = of_class(class_of(given), given);
    --depth_;
    return made;
  }

 private:
  NodeId of_class(const std::string& name, nb::handle given) {
    // Python 3.8 wraps what a subscript has.
    if (name == "Index") return node(given.attr("value"));
    if (name == "ExtSlice") {
      const ast::ListId parts = list(given.attr("dims"));
      return tree_.add(ast::Tuple{parts}, where_);
    }
    const auto found = kinds().find(name);
    if (found == kinds().end() || found->second.kind == Kind::Comment ||
        found->second.kind == Kind::Unstructured) {
      throw nb::value_error(("not a node of Python's syntax: " + name).c_str());
    }
    const auto [kind, flag] = found->second;
    const ast::Where around = where_;
    const nb::object line = nb::getattr(given, "lineno", nb::none());
    if (!line.is_none()) where_.line = nb::cast<int32_t>(line);
    const Kind enclosing = std::exchange(kind_, kind);
    // Of the operation around it (ast::is_apart).
    const bool is_on_other_line = enclosing == Kind::BoolOp && where_.line != around.line;
    ast::Tree::Record record;
    record.kind = kind;
    record.where = where_;
    size_t slot = 0;
    for (const FieldInfo& field : ast::fields_of(kind)) {
      const bool is_set = field.name == flag ||
                          (is_on_other_line && field.name == std::string_view("is_tested_again"));
      record.slots[slot++] = is_set ? 1 : value(kind, field, given);
    }
    where_ = around;
    kind_ = enclosing;
    return tree_.add_record(record);
  }

  // Returns the content of the slot of a field.
  uint32_t value(Kind kind, const FieldInfo& field, nb::handle given) {
    const nb::object value = nb::getattr(given, field.name, nb::none());
    const std::string_view name = field.name;
    switch (field.type) {
      case FieldType::Node:
        return slot_of(node(value));
      case FieldType::List:
        return slot_of(names_of(kind, name) ? list_of_names(value) : list(value));
      case FieldType::Name:
        return slot_of(value.is_none() ? Symbol() : tree_.intern(utf8(value)));
      case FieldType::Value:
        return slot_of(constant(value));
      case FieldType::Number:
        return number(name, value);
      case FieldType::Numbers:
        return slot_of(numbers(value));
    }
    return 0;
  }

  template <typename T>
  static uint32_t slot_of(T id) {
    return id.value;
  }

  // Returns true if Python has plain strings there.
  static bool names_of(Kind kind, std::string_view field) {
    const bool declares = kind == Kind::Global || kind == Kind::Nonlocal;
    return (declares && field == "names") || field == "kwd_attrs";
  }

  ast::ListId list(nb::handle given) {
    std::vector<NodeId> items;
    if (!given.is_none()) {
      for (const nb::handle item : nb::borrow<nb::list>(given)) items.push_back(node(item));
    }
    return tree_.list(items);
  }

  ast::ListId list_of_names(nb::handle given) {
    std::vector<NodeId> items;
    for (const nb::handle item : nb::borrow<nb::list>(given)) {
      items.push_back(tree_.add(ast::Name{tree_.intern(utf8(item))}, where_));
    }
    return tree_.list(items);
  }

  ast::ConstId constant(nb::handle value) {
    const std::optional<ast::ConstId> made = add_literal(tree_.module(), value);
    if (!made) throw nb::value_error("not a constant of Python's syntax");
    return *made;
  }

  static uint32_t number(std::string_view field, nb::handle value) {
    if (value.is_none()) return 0;
    if (field == "op") return operator_of(value);
    const auto given = nb::cast<int64_t>(value);
    return given < 0 ? 0 : static_cast<uint32_t>(given);  // no conversion is -1
  }

  ast::NumbersId numbers(nb::handle given) {
    std::vector<uint32_t> values;
    for (const nb::handle item : nb::borrow<nb::list>(given)) values.push_back(operator_of(item));
    return tree_.numbers(values);
  }

  ast::Tree& tree_;
  ast::Where where_;          // of the node that is being converted
  Kind kind_ = Kind::Module;  // of the same
  int depth_ = 0;
};

}  // namespace

ast::NodeId from_tree(nb::handle module, ast::Tree& tree) {
  if (class_of(module) != "Module") throw nb::value_error("an ast.Module is wanted");
  return TreeReader(tree).node(module);
}

}  // namespace pellucid::python
