// SPDX-License-Identifier: Apache-2.0
// `if a if b` and `if a and b` in a comprehension compile to the same code. From 3.11 on, the
// columns show the word between two tests; on two lines, a test after an `if` starts in the column
// of the one before it that also does, as the word at the start of each line is the same.
#include "polish/keywords.h"
#include "polish/negations.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

// `first`: of the tests before that were written as one.
bool is_if_between(const ast::Tree& tree, const Starts& starts, NodeId first, NodeId before,
                   NodeId after) {
  const int32_t gap = starts.gap(before, after);
  const int32_t nots = is_not(tree, after) ? width_of("not ") : 0;
  if (gap != Starts::kUnknown) return gap == width_of(" if ") + nots;
  const Starts::At one = starts.of_operand(first), other = starts.of_operand(after);
  const bool is_known = one.column != Starts::kUnknown && other.column != Starts::kUnknown;
  const int32_t shift = nots - (is_not(tree, first) ? width_of("not ") : 0);
  return is_known && one.line < other.line && other.column - one.column == shift;
}

// Appends the tests of a comprehension that were written as one.
void append_tests(ast::Tree& tree, const Starts& starts, NodeId test, Statements& tests) {
  const Statements values = operands_of(tree, test, kAnd);
  if (values.empty()) return tests.push_back(test);
  size_t first = 0;
  for (size_t i = 1; i <= values.size(); ++i) {
    if (i < values.size() &&
        !is_if_between(tree, starts, values[first], values[i - 1], values[i])) {
      continue;
    }
    const auto own = std::span(values).subspan(first, i - first);
    if (own.size() == values.size()) return tests.push_back(test);
    tests.push_back(joined(tree, own, kAnd));
    first = i;
  }
}

}  // namespace

void split_filters(ast::Tree& tree, const std::vector<NodeId>& nodes, const Starts& starts) {
  if (!starts.known()) return;
  for (const NodeId node : nodes) {
    if (!tree.is(node, Kind::comprehension)) continue;
    auto each = tree.as<ast::comprehension>(node);
    const auto list = tree.items(each.ifs);
    const Statements before(list.begin(), list.end());
    Statements tests;
    for (const NodeId test : before) append_tests(tree, starts, test, tests);
    if (tests.size() == before.size()) continue;
    each.ifs = tree.list(tests);
    tree.set(node, each);
  }
}

}  // namespace pellucid::polish
