// SPDX-License-Identifier: Apache-2.0
// dump: the text of a tree. Layout as CPython's ast.dump(indent=1), without absent and empty
// fields.
#include <algorithm>
#include <string_view>

#include "ast/tree.h"
#include "object/repr.h"

namespace pellucid::ast {

namespace {

constexpr const char* kBoolOperators[] = {"And", "Or"};
constexpr const char* kOperators[] = {"Add",    "Sub",    "Mult",    "MatMult", "Div",
                                      "Mod",    "Pow",    "LShift",  "RShift",  "BitOr",
                                      "BitXor", "BitAnd", "FloorDiv"};
constexpr const char* kUnaryOperators[] = {"USub", "UAdd", "Not", "Invert"};
constexpr const char* kCmpOperators[] = {"Lt",  "LtE", "Eq",    "NotEq", "Gt",
                                         "GtE", "Is",  "IsNot", "In",    "NotIn"};

const char* operator_name(Kind kind, uint32_t op) {
  switch (kind) {
    case Kind::BoolOp:
      return op < 2 ? kBoolOperators[op] : "?";
    case Kind::UnaryOp:
      return op < 4 ? kUnaryOperators[op] : "?";
    default:
      return op < 13 ? kOperators[op] : "?";
  }
}

class Dumper {
 public:
  explicit Dumper(const Tree& tree) : tree_(tree) {}

  std::string run(NodeId root) {
    push_node(root, 0);
    while (!work_.empty()) {
      const Step step = work_.back();
      work_.pop_back();
      const size_t mark = work_.size();
      switch (step.what) {
        case Step::Text:
          out_ += step.text;
          break;
        case Step::NewLine:
          new_line(step.depth);
          break;
        case Step::Node:
          node(NodeId(step.id), step.depth);
          break;
      }
      // Each step pushes its parts in reading order; the first has to be on top of the stack.
      std::reverse(work_.begin() + static_cast<std::ptrdiff_t>(mark), work_.end());
    }
    out_ += '\n';
    return std::move(out_);
  }

 private:
  struct Step {
    enum What : uint8_t { Text, NewLine, Node } what;
    uint32_t id = 0;
    uint32_t depth = 0;
    std::string_view text;
  };

  void push_text(std::string_view text) { work_.push_back({Step::Text, 0, 0, text}); }
  void push_line(uint32_t depth) { work_.push_back({Step::NewLine, 0, depth, {}}); }
  void push_node(NodeId id, uint32_t depth) { work_.push_back({Step::Node, id.value, depth, {}}); }

  void new_line(uint32_t depth) {
    out_ += '\n';
    out_.append(depth, ' ');
  }

  // Returns false for fields that are absent, empty, or a flag that is off.
  bool shown(const FieldInfo& field, uint32_t slot) const {
    switch (field.type) {
      case FieldType::List:
        return !tree_.items(ListId(slot)).empty();
      case FieldType::Number:
        return slot != 0 || std::string_view(field.name) == "op";
      case FieldType::Node:
      case FieldType::Name:
      case FieldType::Value:
      case FieldType::Numbers:
        return slot != NodeId::kInvalid;
    }
    return true;
  }

  bool is_simple(const FieldInfo& field, uint32_t slot) const {
    if (field.type == FieldType::List) return false;
    return field.type != FieldType::Node || fields_of(tree_.kind(NodeId(slot))).empty();
  }

  void node(NodeId id, uint32_t depth) {
    if (!id.valid()) {
      out_ += "None";
      return;
    }
    const Kind kind = tree_.kind(id);
    const auto fields = fields_of(kind);
    size_t count = 0;
    bool one_line = true;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!shown(fields[i], tree_.slot(id, i))) continue;
      ++count;
      one_line = one_line && is_simple(fields[i], tree_.slot(id, i));
    }
    one_line = one_line && count <= 3;
    out_ += name_of(kind);
    push_text("(");
    bool first = true;
    for (size_t i = 0; i < fields.size(); ++i) {
      const uint32_t slot = tree_.slot(id, i);
      if (!shown(fields[i], slot)) continue;
      if (!first) push_text(one_line ? ", " : ",");
      first = false;
      if (!one_line) push_line(depth + 1);
      push_text(fields[i].name);
      push_text("=");
      value(kind, fields[i], slot, depth + 1);
    }
    push_text(")");
  }

  void value(Kind kind, const FieldInfo& field, uint32_t slot, uint32_t depth) {
    switch (field.type) {
      case FieldType::Node:
        push_node(NodeId(slot), depth);
        break;
      case FieldType::List: {
        push_text("[");
        bool first = true;
        for (NodeId item : tree_.items(ListId(slot))) {
          if (!first) push_text(",");
          first = false;
          push_line(depth + 1);
          push_node(item, depth + 1);
        }
        push_text("]");
        break;
      }
      case FieldType::Name:
        push_owned(object::repr_of_text(tree_.text(Symbol(slot))));
        break;
      case FieldType::Value:
        push_owned(object::repr(tree_.module(), ConstId(slot)));
        break;
      case FieldType::Number:
        if (std::string_view(field.name) == "op") {
          push_text(operator_name(kind, slot));
        } else {
          push_owned(std::to_string(slot));
        }
        break;
      case FieldType::Numbers: {
        std::string text = "[";
        for (uint32_t op : tree_.numbers(NumbersId(slot))) {
          if (text.size() > 1) text += ", ";
          text += op < 10 ? kCmpOperators[op] : "?";
        }
        push_owned(text + "]");
        break;
      }
    }
  }

  // Pushes a text that has to live as long as the dump.
  void push_owned(const std::string& text) { push_text(owned_.view(owned_.intern(text))); }

  const Tree& tree_;
  std::string out_;
  std::vector<Step> work_;
  StringPool owned_;
};

}  // namespace

std::string dump(const Tree& tree, NodeId root) { return Dumper(tree).run(root); }

}  // namespace pellucid::ast
