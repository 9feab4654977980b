// SPDX-License-Identifier: Apache-2.0
// Deletes the temporaries that structuring made, after their last use.
//
// A value on the stack is gone once it is used; a name in its place would hold it until the
// function returns. That matters in code whose values are large, so each temporary is deleted after
// its last use, unless nothing is executed from there to the end, or an argument keeps the value
// alive anyway (Facts::owned).
#pragma once

#include "ast/tree.h"
#include "object/facts.h"

namespace pellucid::polish {

// Returns `body`, the body of `code`, with its temporaries deleted: the names that it assigns and
// the code does not have.
ast::ListId release_temporaries(ast::Tree& tree, ast::ListId body, object::CodeId code,
                                const object::Facts& facts);

}  // namespace pellucid::polish
