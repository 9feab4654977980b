// SPDX-License-Identifier: Apache-2.0
// At the end of a loop's body, `if c: a` is equivalent to `if not c: continue` with `a` after it,
// and `except E: pass` with an `else` to `except E: continue` with the rest after it; at the end of
// a function, the same with `return`. `structure` reads all of them in the first form. A row of
// such statements would be nested as deep as it is long, which is hard to read; and Python's limit
// is a hundred levels of indentation.
#include <algorithm>

#include "polish/ends.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

// The length from which a nest is a row: of statements followed by more (kRow), of any
// (kLongestNest).
constexpr size_t kRow = 8;
constexpr size_t kLongestNest = 60;

bool is_row(const ast::Tree& tree, NodeId statement) {
  size_t with_more = 0;
  for (size_t length = 1; length < kLongestNest; ++length) {
    const auto rest = tree.items(rest_in(tree, statement));
    if (rest.empty()) return false;
    with_more += rest.size() > 1 || is_try_without_finally(tree, statement) ? 1 : 0;
    if (with_more >= kRow) return true;
    statement = rest.back();
  }
  return true;
}

void flatten(ast::Tree& tree, Statements& items, End end) {
  bool in_row = false;
  for (;;) {
    const NodeId statement = items.back();
    const auto list = tree.items(rest_in(tree, statement));
    const Statements rest(list.begin(), list.end());
    if (rest.empty()) return;
    in_row = in_row || is_row(tree, statement);
    if (!in_row) return;
    // The last `if` of a row keeps its body.
    const bool is_last = tree.items(rest_in(tree, rest.back())).empty();
    if (is_last && tree.is(statement, Kind::If)) return;
    skip_rest(tree, statement, end);
    items.insert(items.end(), rest.begin(), rest.end());
  }
}

}  // namespace

void flatten_rows(ast::Tree& tree, Statements& body, bool is_function) {
  for_each_suite(tree, body, is_function, [&](Statements& items, const List& here) {
    if (here.end != End::Other && !items.empty()) flatten(tree, items, here.end);
  });
}

}  // namespace pellucid::polish
