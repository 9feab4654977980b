// SPDX-License-Identifier: Apache-2.0
// polish: how control leaves the lists of statements of a body, and other ways to say the same.
#pragma once

#include "polish/lists.h"

namespace pellucid::polish {

// How control leaves a list: by falling off its end, which this jump says as well.
enum class End : uint8_t { Other, Continue, Return };

struct List {
  Place place;  // no owner: the body itself
  End end = End::Other;
};

// Adds the lists in a statement whose own end is as `end` says.
void add_lists(const ast::Tree& tree, ast::NodeId statement, End end, std::vector<List>& lists);

// Returns true if no way leads to the end of a list: it ends in a jump, or in an `if` or a `try`
// all arms of which do.
bool never_goes_on(const ast::Tree& tree, ast::ListId list);

bool is_try_without_finally(const ast::Tree& tree, ast::NodeId statement);

// The rest of the body, which a statement at its end holds: what is in an `if` without `else`, or
// in the `else` of a `try`. Invalid or empty: there is none.
ast::ListId rest_in(const ast::Tree& tree, ast::NodeId statement);

// The jump that says how a list ends.
ast::NodeId jump(ast::Tree& tree, End end, ast::Where at);

// Leaves nothing but the jump in a statement that held the rest of the body:
// `if not a: continue`, `except E: return`.
void skip_rest(ast::Tree& tree, ast::NodeId statement, End end);

}  // namespace pellucid::polish
