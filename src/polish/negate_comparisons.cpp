// The compiler itself makes `a is not b` of `not a is b`.
#include "polish/negations.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

void negate_comparisons(ast::Tree& tree, const std::vector<ast::NodeId>& nodes) {
  for (size_t i = nodes.size(); i-- > 0;) {
    if (!is_not(tree, nodes[i])) continue;
    const ast::NodeId operand = tree.as<ast::UnaryOp>(nodes[i]).operand;
    const auto op = opposite_operator(tree, operand);
    if (!op) continue;
    auto compare = tree.as<ast::Compare>(operand);
    const auto number = static_cast<uint32_t>(*op);
    compare.ops = tree.numbers(std::span<const uint32_t>(&number, 1));
    tree.set(nodes[i], compare);
  }
}

}  // namespace pellucid::polish
