// The compiler itself makes `a is not b` of `not a is b`. For `<` and `==` this would not be the
// same: a class may define both sides as it likes.
#include <optional>

#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::CmpOperator;
using ast::Kind;

namespace {

std::optional<CmpOperator> opposite(CmpOperator op) {
  switch (op) {
    case CmpOperator::Is:
      return CmpOperator::IsNot;
    case CmpOperator::IsNot:
      return CmpOperator::Is;
    case CmpOperator::In:
      return CmpOperator::NotIn;
    case CmpOperator::NotIn:
      return CmpOperator::In;
    case CmpOperator::Lt:
    case CmpOperator::LtE:
    case CmpOperator::Eq:
    case CmpOperator::NotEq:
    case CmpOperator::Gt:
    case CmpOperator::GtE:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

void negate_comparisons(ast::Tree& tree, const std::vector<ast::NodeId>& nodes) {
  for (size_t i = nodes.size(); i-- > 0;) {
    if (!tree.is(nodes[i], Kind::UnaryOp)) continue;
    const auto unary = tree.as<ast::UnaryOp>(nodes[i]);
    if (unary.op != static_cast<uint32_t>(ast::UnaryOperator::Not)) continue;
    if (!tree.is(unary.operand, Kind::Compare)) continue;
    auto compare = tree.as<ast::Compare>(unary.operand);
    const auto ops = tree.numbers(compare.ops);
    if (ops.size() != 1) continue;
    const auto op = opposite(static_cast<CmpOperator>(ops[0]));
    if (!op) continue;
    const uint32_t number = static_cast<uint32_t>(*op);
    compare.ops = tree.numbers(std::span<const uint32_t>(&number, 1));
    tree.set(nodes[i], compare);
  }
}

}  // namespace pellucid::polish
