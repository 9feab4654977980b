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

// Returns true if a `try` may leave its clauses by a jump; two such, one in the other's `else`, are
// a row at the end of a loop. A clause that binds a name compiles to other code if it is left by a
// jump instead of falling off its end.
bool is_jump_alike(const ast::Tree& tree, NodeId statement) {
  if (!is_try_without_finally(tree, statement)) return false;
  const auto handlers = tree.items(tree.as<ast::Try>(statement).handlers);
  return std::all_of(handlers.begin(), handlers.end(), [&](NodeId handler) {
    const auto clause = tree.as<ast::ExceptHandler>(handler);
    return never_falls_through(tree, clause.body) || !clause.name.valid();
  });
}

bool is_row(const ast::Tree& tree, NodeId statement, bool is_of_loop) {
  size_t with_more = 0;
  for (size_t length = 1; length < kLongestNest; ++length) {
    const auto rest = tree.items(rest_in(tree, statement));
    if (rest.empty()) return false;
    if (is_of_loop && is_jump_alike(tree, statement) && is_jump_alike(tree, rest.back())) {
      return true;
    }
    with_more += rest.size() > 1 || is_try_without_finally(tree, statement) ? 1 : 0;
    if (with_more >= kRow) return true;
    is_of_loop = false;
    statement = rest.back();
  }
  return true;
}

// Guesses, without columns: returns true for a `try` that at least two statements depend on and
// whose clauses bind no name. In a loop, the iteration ends if it fails.
bool is_guard(const ast::Tree& tree, NodeId statement) {
  if (!is_try_without_finally(tree, statement) || tree.items(rest_in(tree, statement)).size() < 2)
    return false;
  const auto handlers = tree.items(tree.as<ast::Try>(statement).handlers);
  return std::none_of(handlers.begin(), handlers.end(), [&](NodeId handler) {
    return tree.as<ast::ExceptHandler>(handler).name.valid();
  });
}

void flatten(ast::Tree& tree, Statements& items, const List& here, const Starts& starts) {
  const Kind owner = here.place.owner.valid() ? tree.kind(here.place.owner) : Kind::Module;
  const bool is_of_loop = owner == Kind::For || owner == Kind::While;
  bool in_row = false;
  for (;;) {
    const NodeId statement = items.back();
    const auto list = tree.items(rest_in(tree, statement));
    const Statements rest(list.begin(), list.end());
    if (rest.empty()) return;
    in_row = in_row || is_row(tree, statement, is_of_loop);
    if (!in_row && !(is_of_loop && !starts.known() && is_guard(tree, statement))) return;
    // The last `if` of a row keeps its body.
    const bool is_last = tree.items(rest_in(tree, rest.back())).empty();
    if (is_last && tree.is(statement, Kind::If)) return;
    skip_rest(tree, statement, here.end);
    items.insert(items.end(), rest.begin(), rest.end());
  }
}

}  // namespace

void flatten_rows(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts) {
  for_each_suite(tree, body, is_function, [&](Statements& items, const List& here) {
    if (here.end != End::Other && !items.empty()) flatten(tree, items, here, starts);
  });
}

}  // namespace pellucid::polish
