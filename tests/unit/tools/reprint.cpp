// SPDX-License-Identifier: Apache-2.0
// reprint VERSION [--keep-lines] [--polish REWRITE]: prints programs whose syntax trees come on
// standard input; with --polish, what a rewrite of polish makes of them.
//
// tests/python/reprint.py writes the trees and compares what CPython parses from our text with what
// it was made of. A tree is a program for a stack machine, one instruction a line:
//
//   n              an absent child               i NUMBER   a number
//   s HEX          a name                        l COUNT    a list of the nodes on top
//   m NUMBERS      a list of numbers             @ LINE [BEGIN [END]]
//                                                where the next node comes from, with its columns
//   k Kind         a node of the slots on top    p          print the node on top
//   c KIND ...     a constant; tuples and the like take those on top
//   q              print the constant on top
//
// Each program's answer is a line with the length of the text and the number of problems, then the
// text.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "ast/nodes.h"
#include "ast/tree.h"
#include "polish/rewrites.h"
#include "print/print.h"

namespace pellucid {
namespace {

using object::ConstKind;

std::string bytes_of(const std::string& hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return out;
}

const std::unordered_map<std::string, ConstKind> kConstKinds = {
    {"None", ConstKind::None},   {"False", ConstKind::False},
    {"True", ConstKind::True},   {"Ellipsis", ConstKind::Ellipsis},
    {"Int", ConstKind::Int},     {"BigInt", ConstKind::BigInt},
    {"Float", ConstKind::Float}, {"Complex", ConstKind::Complex},
    {"Str", ConstKind::Str},     {"Bytes", ConstKind::Bytes},
    {"Tuple", ConstKind::Tuple}, {"FrozenSet", ConstKind::FrozenSet},
    {"Slice", ConstKind::Slice}, {"Opaque", ConstKind::Opaque},
};

// The rewrites by their names; of the body of a function, in code that says nothing of columns but
// to those that need them.
using Columns = std::vector<object::Columns>;
using Rewrite = void (*)(ast::Tree& tree, polish::Statements& body, const Columns& columns);

std::vector<ast::NodeId> nodes_of(const ast::Tree& tree, const polish::Statements& body) {
  return polish::own_nodes(tree, body);
}

template <void rewrite(ast::Tree&, polish::Statements&, polish::Outline&)>
void without_columns(ast::Tree& tree, polish::Statements& body, const Columns&) {
  polish::Outline outline(tree, body);
  rewrite(tree, body, outline);
}

const std::unordered_map<std::string, Rewrite> kRewrites = {
    {"join_try", without_columns<polish::join_try>},
    {"join_with",
     [](ast::Tree& tree, polish::Statements& body, const Columns& columns) {
       polish::Outline outline(tree, body);
       polish::join_with(tree, body, outline, polish::Starts(tree, body, {columns, -1}));
     }},
    {"join_conditions",
     [](ast::Tree& tree, polish::Statements& body, const Columns& columns) {
       polish::Outline outline(tree, body);
       polish::join_conditions(tree, body, outline, polish::Starts(tree, body, {columns, -1}));
     }},
    {"join_lines", without_columns<polish::join_lines>},
    {"chain_elif", without_columns<polish::chain_elif>},
    {"join_ends", without_columns<polish::join_ends>},
    {"end_if", without_columns<polish::end_if>},
    {"end_try",
     [](ast::Tree& tree, polish::Statements& body, const Columns&) {
       polish::end_try(tree, body, polish::Starts(tree, body, {}));
     }},
    {"flatten_rows",
     [](ast::Tree& tree, polish::Statements& body, const Columns&) {
       polish::flatten_rows(tree, body, true, polish::Starts(tree, body, {}));
     }},
    {"lay_out",
     [](ast::Tree& tree, polish::Statements& body, const Columns& columns) {
       polish::lay_out(tree, body, true, polish::Starts(tree, body, {columns, -1}));
     }},
    {"take_inside",
     [](ast::Tree& tree, polish::Statements& body, const Columns& columns) {
       polish::Outline outline(tree, body);
       polish::take_inside(tree, body, outline, true, polish::Starts(tree, body, {columns, -1}));
     }},
    {"leave_loops",
     [](ast::Tree& tree, polish::Statements& body, const Columns& columns) {
       polish::leave_loops(tree, body, true, polish::Starts(tree, body, {columns, -1}));
     }},
    {"split_asserts",
     [](ast::Tree& tree, polish::Statements& body, const Columns& columns) {
       polish::split_asserts(tree, body, true, polish::Starts(tree, body, {columns, -1}));
     }},
    {"split_tests",
     [](ast::Tree& tree, polish::Statements& body, const Columns& columns) {
       polish::Outline outline(tree, body);
       polish::split_tests(tree, body, outline, true, polish::Starts(tree, body, {columns, -1}));
     }},
    {"split_returns",
     [](ast::Tree& tree, polish::Statements& body, const Columns& columns) {
       polish::Outline outline(tree, body);
       polish::split_returns(tree, body, outline, polish::Starts(tree, body, {columns, -1}));
     }},
    {"place_names",
     [](ast::Tree& tree, polish::Statements& body, const Columns&) {
       polish::place_names(tree, body, polish::Starts(tree, body, {{}, 1}));
     }},
    {"lay_out_by_lines",
     [](ast::Tree& tree, polish::Statements& body, const Columns&) {
       polish::lay_out_by_lines(tree, body, true, polish::Starts(tree, body, {}));
     }},
    {"join_negations",
     [](ast::Tree& tree, polish::Statements& body, const Columns& columns) {
       const polish::Starts starts(tree, body, {columns, -1});
       polish::join_negations(tree, nodes_of(tree, body), starts);
     }},
    {"keep_dropped_constants", [](ast::Tree& tree, polish::Statements& body,
                                  const Columns&) { polish::keep_dropped_constants(tree, body); }},
    {"negate_comparisons",
     [](ast::Tree& tree, polish::Statements& body, const Columns&) {
       polish::negate_comparisons(tree, nodes_of(tree, body), true);
     }},
    {"negate_comparisons_before_3_10",
     [](ast::Tree& tree, polish::Statements& body, const Columns&) {
       polish::negate_comparisons(tree, nodes_of(tree, body), false);
     }},
    {"percent_formats",
     [](ast::Tree& tree, polish::Statements& body, const Columns&) {
       polish::percent_formats(tree, nodes_of(tree, body));
     }},
    {"drop_tail_jumps",
     [](ast::Tree& tree, polish::Statements& body, const Columns&) {
       const polish::Starts starts(tree, body, {});
       polish::Outline outline(tree, body);
       polish::drop_tail_jumps(tree, body, outline, polish::Body::Function, true, starts);
     }},
    {"drop_tail_jumps_before_3_10",
     [](ast::Tree& tree, polish::Statements& body, const Columns&) {
       const polish::Starts starts(tree, body, {});
       polish::Outline outline(tree, body);
       polish::drop_tail_jumps(tree, body, outline, polish::Body::Function, false, starts);
     }},
};

class Machine {
 public:
  explicit Machine(const print::Style& style, Rewrite rewrite) : style_(style), rewrite_(rewrite) {
    // Every kind by its name, with one empty node to copy.
#define FIELD(type, name)
#define NODE(kind, category, fields) \
  kinds_[#kind] = [](ast::Tree& tree) { return tree.add(ast::kind{}); };
#include "ast/nodes.def"
#undef NODE
#undef FIELD
    reset();
  }

  void execute(const std::string& line) {
    std::istringstream in(line);
    std::string op;
    std::string word;
    in >> op;
    if (op == "n") {
      stack_.push_back(ast::NodeId::kInvalid);
    } else if (op == "s") {
      in >> word;
      stack_.push_back(tree_->intern(bytes_of(word)).value);
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
    } else if (op == "p") {
      print_tree();
    } else if (op == "q") {
      answer(print::to_literal(*module_, object::ConstId(pop()), style_), 0);
    }
  }

 private:
  void reset() {
    stack_.clear();
    module_ = std::make_unique<object::Module>();
    tree_ = std::make_unique<ast::Tree>(*module_);
    columns_.clear();
  }

  uint32_t pop() {
    PELLUCID_CHECK(!stack_.empty());
    const uint32_t top = stack_.back();
    stack_.pop_back();
    return top;
  }

  // A node with columns gets a code unit of its own.
  void place(std::istringstream& in) {
    in >> where_.line;
    object::Columns columns;
    if (!(in >> columns.begin)) return;
    if (!(in >> columns.end)) columns.end = object::kNoColumn;
    where_.offset = static_cast<uint32_t>(2 * columns_.size());
    columns_.push_back(columns);
  }

  void list(std::istringstream& in) {
    size_t count = 0;
    in >> count;
    std::vector<ast::NodeId> items;
    for (size_t i = stack_.size() - count; i < stack_.size(); ++i) {
      items.push_back(ast::NodeId(stack_[i]));
    }
    stack_.resize(stack_.size() - count);
    stack_.push_back(tree_->list(items).value);
  }

  void node(const std::string& kind) {
    const ast::NodeId id = kinds_.at(kind)(*tree_);
    tree_->set_where(id, where_);
    where_ = {};
    const size_t count = ast::fields_of(tree_->kind(id)).size();
    for (size_t i = count; i-- > 0;) tree_->set_slot(id, i, pop());
    stack_.push_back(id.value);
  }

  void constant(std::istringstream& in) {
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
        value.text = tree_->intern(bytes_of(word));
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

  void print_tree() {
    const ast::NodeId root(pop());
    ast::check(*tree_, root);
    if (rewrite_ != nullptr) {
      const auto items = tree_->items(tree_->as<ast::Module>(root).body);
      polish::Statements body(items.begin(), items.end());
      rewrite_(*tree_, body, columns_);
      tree_->set(root, ast::Module{tree_->list(body)});
      ast::check(*tree_, root);
    }
    const print::Source source = print::to_source(*tree_, root, style_);
    answer(source.text, source.problems.size());
  }

  void answer(const std::string& text, size_t problems) {
    std::cout << text.size() << ' ' << problems << '\n' << text;
    reset();
  }

  print::Style style_;
  Rewrite rewrite_;
  std::unordered_map<std::string, ast::NodeId (*)(ast::Tree&)> kinds_;
  std::unique_ptr<object::Module> module_;
  std::unique_ptr<ast::Tree> tree_;
  std::vector<uint32_t> stack_;
  Columns columns_;  // of each node that has any, where its offset says
  ast::Where where_;
};

}  // namespace
}  // namespace pellucid

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: pellucid_reprint VERSION [--keep-lines] [--polish REWRITE]\n");
    return 2;
  }
  pellucid::print::Style style;
  style.version.minor = static_cast<uint8_t>(std::atoi(argv[1] + 2));
  pellucid::Rewrite rewrite = nullptr;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--keep-lines") {
      style.keep_lines = true;
    } else if (word == "--polish" && i + 1 < argc) {
      rewrite = pellucid::kRewrites.at(argv[++i]);
    }
  }
  std::ios::sync_with_stdio(false);
  pellucid::Machine machine(style, rewrite);
  for (std::string line; std::getline(std::cin, line);) machine.execute(line);
  return 0;
}
