// SPDX-License-Identifier: Apache-2.0
// polish: how control leaves the statement lists of a body, and equivalent ways to write that.
#pragma once

#include "polish/lists.h"

namespace pellucid::polish {

// How control leaves a list: by falling off its end, which is equivalent to this jump.
enum class End : uint8_t { Other, Continue, Return };

struct List {
  Place place;  // no owner: the body itself
  End end = End::Other;
};

// Statements and clauses with lists of statements that belong to the body around them.
inline constexpr ast::Kinds kWithLists = {
    ast::Kind::If,  ast::Kind::For,   ast::Kind::While,         ast::Kind::With,
    ast::Kind::Try, ast::Kind::Match, ast::Kind::ExceptHandler, ast::Kind::match_case};

// Appends the lists in a statement, given how the statement itself ends.
void add_lists(const ast::Tree& tree, ast::NodeId statement, End end, std::vector<List>& lists);

// Calls rewrite(items, list) on every list, outer ones first, and stores those that it changed.
template <typename Rewrite>
void for_each_suite(ast::Tree& tree, Statements& body, bool is_function, Rewrite rewrite) {
  std::vector<List> todo{{Place{}, is_function ? End::Return : End::Other}};
  for (size_t k = 0; k < todo.size(); ++k) {
    const List list = todo[k];
    Statements items = list.place.owner.valid() ? items_at(tree, list.place) : body;
    rewrite(items, list);
    for (const ast::NodeId item : items) {
      add_lists(tree, item, item == items.back() ? list.end : End::Other, todo);
    }
    store_at(tree, body, list.place, items);
  }
}

// Returns the text of a body's docstring, or null.
const object::Const* docstring_of(const ast::Tree& tree, std::span<const ast::NodeId> body);

bool is_bare_return(const ast::Tree& tree, ast::NodeId node);

// Returns true for a `return` without a value, `break`, `continue` and `pass`.
bool is_bare_jump(const ast::Tree& tree, ast::NodeId node);

// Returns true if statements are one jump, which cannot raise.
bool is_quiet_jump(const ast::Tree& tree, std::span<const ast::NodeId> items);

// A list in which a jump concerns the loop around it. `in_region`: in a `with` or `try` of the
// loop.
struct LoopList {
  Place place;
  bool in_region = false;
};

// Appends those lists of a statement in the loop.
void add_lists_of_loop(const ast::Tree& tree, ast::NodeId statement, bool in_region,
                       std::vector<LoopList>& lists);

// Returns the lists in which a `break` leaves the loop.
std::vector<LoopList> breaks_of(const ast::Tree& tree, ast::NodeId loop);
inline bool has_break(const ast::Tree& tree, ast::NodeId loop) {
  return !breaks_of(tree, loop).empty();
}

// Returns true for `while True:` without `else`.
bool is_endless(const ast::Tree& tree, ast::NodeId statement);

// Returns true if control never falls off the end of a list: it ends in a jump, in `assert False`,
// in an `if` or a `try` all arms of which do, or in a loop without `break` whose `else` does.
bool never_falls_through(const ast::Tree& tree, ast::ListId list);
bool never_falls_through(const ast::Tree& tree, std::span<const ast::NodeId> items);

bool is_try_without_finally(const ast::Tree& tree, ast::NodeId statement);

// Returns true if each clause never falls through.
bool handlers_never_go_on(const ast::Tree& tree, const ast::Try& attempt);

// Returns true for an `if` or a `try` without `else` after which control gets to what follows as it
// would get to an `else`; puts statements there.
bool takes_else(const ast::Tree& tree, ast::NodeId statement);
void set_else(ast::Tree& tree, ast::NodeId statement, ast::ListId orelse);

// Returns the rest of a body, if the statement at its end holds it: the body of an `if` without
// `else`, or the `else` of a `try`. Invalid or empty if there is none.
ast::ListId rest_in(const ast::Tree& tree, ast::NodeId statement);

// Returns the jump that is equivalent to the end of a list.
ast::NodeId jump(ast::Tree& tree, End end, ast::Where at);

// Replaces the rest of the body, in the statement that holds it, by a jump: `if not a: continue`,
// `except E: return`.
void skip_rest(ast::Tree& tree, ast::NodeId statement, End end);

}  // namespace pellucid::polish
