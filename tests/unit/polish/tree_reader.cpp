// SPDX-License-Identifier: Apache-2.0
#include "polish/tree_reader.h"

#include <cstdlib>
#include <sstream>
#include <unordered_map>

namespace pellucid::polish {

using object::ConstKind;

std::string bytes_of_hex(const std::string& hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return out;
}

namespace {

const std::unordered_map<std::string, ConstKind> kConstKinds = {
    {"None", ConstKind::None},   {"False", ConstKind::False},
    {"True", ConstKind::True},   {"Ellipsis", ConstKind::Ellipsis},
    {"Int", ConstKind::Int},     {"BigInt", ConstKind::BigInt},
    {"Float", ConstKind::Float}, {"Complex", ConstKind::Complex},
    {"Str", ConstKind::Str},     {"Bytes", ConstKind::Bytes},
    {"Tuple", ConstKind::Tuple}, {"FrozenSet", ConstKind::FrozenSet},
    {"Slice", ConstKind::Slice}, {"Opaque", ConstKind::Opaque},
};

// Every kind by its name, with what adds an empty node of it.
const std::unordered_map<std::string, ast::NodeId (*)(ast::Tree&)> kEmptyNodes = {
#define FIELD(type, name)
#define NODE(kind, category, fields) {#kind, [](ast::Tree& tree) { return tree.add(ast::kind{}); }},
#include "ast/nodes.def"
#undef NODE
#undef FIELD
};

}  // namespace

bool TreeReader::execute(const std::string& line) {
  std::istringstream in(line);
  std::string op;
  std::string word;
  in >> op;
  if (op == "n") {
    stack_.push_back(ast::NodeId::kInvalid);
  } else if (op == "s") {
    in >> word;
    stack_.push_back(tree_->intern(bytes_of_hex(word)).value);
  } else if (op == "i") {
    uint32_t number = 0;
    in >> number;
    stack_.push_back(number);
  } else if (op == "l") {
    list(in);
  } else if (op == "m") {
    std::vector<uint32_t> numbers;
    for (uint32_t number = 0; in >> number;) numbers.push_back(number);
    stack_.push_back(tree_->numbers(numbers).value);
  } else if (op == "@") {
    place(in);
  } else if (op == "k") {
    in >> word;
    node(word);
  } else if (op == "c") {
    constant(in);
  } else {
    return false;
  }
  return true;
}

void TreeReader::clear() {
  stack_.clear();
  module_ = std::make_unique<object::Module>();
  tree_ = std::make_unique<ast::Tree>(*module_);
  places_.clear();
}

uint32_t TreeReader::pop() {
  PELLUCID_CHECK(!stack_.empty());
  const uint32_t top = stack_.back();
  stack_.pop_back();
  return top;
}

void TreeReader::place(std::istringstream& in) {
  in >> where_.line;
  object::Columns columns;
  if (!(in >> columns.begin)) return;
  if (!(in >> columns.end)) columns.end = object::kNoColumn;
  where_.offset = static_cast<uint32_t>(2 * places_.size());
  const auto end = static_cast<uint32_t>(places_.size()) + 1;
  places_.push_back({{where_.line, where_.line, columns}, end});
}

void TreeReader::list(std::istringstream& in) {
  size_t count = 0;
  in >> count;
  std::vector<ast::NodeId> items;
  for (size_t i = stack_.size() - count; i < stack_.size(); ++i) {
    items.push_back(ast::NodeId(stack_[i]));
  }
  stack_.resize(stack_.size() - count);
  stack_.push_back(tree_->list(items).value);
}

void TreeReader::node(const std::string& kind) {
  const ast::NodeId id = kEmptyNodes.at(kind)(*tree_);
  tree_->set_where(id, where_);
  where_ = {};
  const size_t count = ast::fields_of(tree_->kind(id)).size();
  for (size_t i = count; i-- > 0;) tree_->set_slot(id, i, pop());
  stack_.push_back(id.value);
}

void TreeReader::constant(std::istringstream& in) {
  std::string kind;
  std::string word;
  in >> kind;
  object::Const value;
  value.kind = kConstKinds.at(kind);
  switch (value.kind) {
    case ConstKind::Int:
      in >> value.integer;
      break;
    case ConstKind::BigInt:
      in >> word;
      value.text = tree_->intern(word);
      break;
    case ConstKind::Float:
    case ConstKind::Complex:
      in >> word;
      value.real = std::strtod(word.c_str(), nullptr);
      in >> word;
      value.imag = std::strtod(word.c_str(), nullptr);
      break;
    case ConstKind::Str:
    case ConstKind::Bytes:
    case ConstKind::Opaque:
      in >> word;
      value.text = tree_->intern(bytes_of_hex(word));
      break;
    case ConstKind::Tuple:
    case ConstKind::FrozenSet:
    case ConstKind::Slice: {
      size_t count = 0;
      in >> count;
      for (size_t i = stack_.size() - count; i < stack_.size(); ++i) {
        value.items.push_back(object::ConstId(stack_[i]));
      }
      stack_.resize(stack_.size() - count);
      break;
    }
    default:
      break;
  }
  stack_.push_back(module_->add(std::move(value)).value);
}

}  // namespace pellucid::polish
