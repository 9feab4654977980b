// SPDX-License-Identifier: Apache-2.0
// Writes an expression of the tree in the canonical notation (notation.h).
#include "verify/lower/interpolation.h"
#include "verify/lower/notation.h"

namespace pellucid::verify::lower {

namespace {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

class Writer {
 public:
  Writer(const ast::Tree& tree, const Mangle& mangle) : tree_(tree), mangle_(mangle) {}

  std::string write(NodeId node) {
    if (++depth_ > kDeepestMeaning) throw NotKnown{};
    std::string meaning = write_in(node);
    --depth_;
    return meaning;
  }

 private:
  std::string name(Symbol id) const { return mangle_(tree_.text(id)); }

  std::vector<std::string> all(ListId list) {
    std::vector<std::string> parts;
    for (NodeId node : tree_.items(list)) parts.push_back(write(node));
    return parts;
  }
  std::string maybe(NodeId node) { return node.valid() ? write(node) : "-"; }

  std::string constant(object::ConstId id) {
    const object::Const& value = tree_.module()[id];
    switch (value.kind) {
      case object::ConstKind::None:
        return "None";
      case object::ConstKind::True:
        return "True";
      case object::ConstKind::False:
        return "False";
      case object::ConstKind::Ellipsis:
        return "...";
      case object::ConstKind::Int:
        return integer(value.integer);
      case object::ConstKind::Float:
        return float_constant(value.real);
      case object::ConstKind::Str:
        return text_constant('s', tree_.text(value.text));
      case object::ConstKind::Tuple: {
        if (++depth_ > kDeepestMeaning) throw NotKnown{};
        std::vector<std::string> parts;
        for (const object::ConstId item : value.items) parts.push_back(constant(item));
        --depth_;
        return made("tuple", parts);
      }
      default:  // NOLINT: not read from texts either
        throw NotKnown{};
    }
  }

  std::string write_in(NodeId node) {
    switch (tree_.kind(node)) {
      case Kind::Constant:
        return constant(tree_.as<ast::Constant>(node).value);
      case Kind::Name:
        return name(tree_.as<ast::Name>(node).id);
      case Kind::Attribute: {
        const auto attribute = tree_.as<ast::Attribute>(node);
        return made("attribute", {write(attribute.value), name(attribute.attr)});
      }
      case Kind::Subscript: {
        const auto item = tree_.as<ast::Subscript>(node);
        return made("item", {write(item.value), write(item.slice)});
      }
      case Kind::Slice: {
        const auto slice = tree_.as<ast::Slice>(node);
        return made("slice", {maybe(slice.lower), maybe(slice.upper), maybe(slice.step)});
      }
      case Kind::Starred:
        return made("star", {write(tree_.as<ast::Starred>(node).value)});
      case Kind::Tuple:
        return made("tuple", all(tree_.as<ast::Tuple>(node).elts));
      case Kind::List:
        return made("list", all(tree_.as<ast::List>(node).elts));
      case Kind::Set:
        return made("set", all(tree_.as<ast::Set>(node).elts));
      case Kind::Dict:
        return dictionary(tree_.as<ast::Dict>(node));
      case Kind::IfExp: {
        const auto choice = tree_.as<ast::IfExp>(node);
        return made("if", {write(choice.test), write(choice.body), write(choice.orelse)});
      }
      case Kind::BoolOp: {
        const auto operation = tree_.as<ast::BoolOp>(node);
        const bool is_and = operation.op == static_cast<uint32_t>(ast::BoolOperator::And);
        return made(is_and ? "and" : "or", all(operation.values));
      }
      case Kind::UnaryOp: {
        const auto operation = tree_.as<ast::UnaryOp>(node);
        return unary(symbol(static_cast<ast::UnaryOperator>(operation.op)),
                     write(operation.operand));
      }
      case Kind::BinOp: {
        const auto operation = tree_.as<ast::BinOp>(node);
        const std::string left = write(operation.left);
        return binary(symbol(static_cast<ast::Operator>(operation.op)), left,
                      write(operation.right));
      }
      case Kind::Compare:
        return comparison(tree_.as<ast::Compare>(node));
      case Kind::Call:
        return call(tree_.as<ast::Call>(node));
      default:  // NOLINT: not read from texts either
        throw NotKnown{};
    }
  }

  static const char* symbol(ast::UnaryOperator op) {
    switch (op) {
      case ast::UnaryOperator::Invert:
        return "~";
      case ast::UnaryOperator::Not:
        return "not";
      case ast::UnaryOperator::UAdd:
        return "+";
      case ast::UnaryOperator::USub:
        return "-";
    }
    throw NotKnown{};
  }

  static const char* symbol(ast::Operator op) {
    switch (op) {
      case ast::Operator::Add:
        return "+";
      case ast::Operator::Sub:
        return "-";
      case ast::Operator::Mult:
        return "*";
      case ast::Operator::MatMult:
        return "@";
      case ast::Operator::Div:
        return "/";
      case ast::Operator::Mod:
        return "%";
      case ast::Operator::Pow:
        return "**";
      case ast::Operator::LShift:
        return "<<";
      case ast::Operator::RShift:
        return ">>";
      case ast::Operator::BitOr:
        return "|";
      case ast::Operator::BitXor:
        return "^";
      case ast::Operator::BitAnd:
        return "&";
      case ast::Operator::FloorDiv:
        return "//";
    }
    throw NotKnown{};
  }

  static const char* symbol(ast::CmpOperator op) {
    switch (op) {
      case ast::CmpOperator::Eq:
        return "==";
      case ast::CmpOperator::NotEq:
        return "!=";
      case ast::CmpOperator::Lt:
        return "<";
      case ast::CmpOperator::LtE:
        return "<=";
      case ast::CmpOperator::Gt:
        return ">";
      case ast::CmpOperator::GtE:
        return ">=";
      case ast::CmpOperator::Is:
        return "is";
      case ast::CmpOperator::IsNot:
        return "is not";
      case ast::CmpOperator::In:
        return "in";
      case ast::CmpOperator::NotIn:
        return "not in";
    }
    throw NotKnown{};
  }

  std::string dictionary(const ast::Dict& node) {
    const auto keys = tree_.items(node.keys);
    const auto values = tree_.items(node.values);
    std::vector<std::string> parts;
    for (size_t i = 0; i < values.size(); ++i) {
      const std::string key = keys[i].valid() ? write(keys[i]) : "**";
      parts.push_back(made("pair", {key, write(values[i])}));
    }
    return made("dict", parts);
  }

  std::string comparison(const ast::Compare& node) {
    const auto ops = tree_.numbers(node.ops);
    const auto right = tree_.items(node.comparators);
    std::vector<std::string> parts = {write(node.left)};
    for (size_t i = 0; i < right.size(); ++i) {
      parts.push_back(symbol(static_cast<ast::CmpOperator>(ops[i])));
      parts.push_back(write(right[i]));
    }
    return made("compare", parts);
  }

  std::string call(const ast::Call& node) {
    std::vector<std::string> parts = {write(node.func)};
    for (const std::string& arg : all(node.args)) parts.push_back(arg);
    for (NodeId id : tree_.items(node.keywords)) {
      const auto keyword = tree_.as<ast::keyword>(id);
      const std::string name(keyword.arg.valid() ? tree_.text(keyword.arg) : "**");
      parts.push_back(made("keyword", {name, write(keyword.value)}));
    }
    return made("call", parts);
  }

  const ast::Tree& tree_;
  const Mangle& mangle_;
  uint32_t depth_ = 0;
};

}  // namespace

std::optional<std::string> meaning_of_tree(const ast::Tree& tree, NodeId node,
                                           const Mangle& mangle) {
  try {
    return Writer(tree, mangle).write(node);
  } catch (const NotKnown&) {
    return std::nullopt;
  }
}

}  // namespace pellucid::verify::lower
