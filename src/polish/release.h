// SPDX-License-Identifier: Apache-2.0
// Temporaries that structuring made are deleted where they are no longer wanted.
//
// A value on the stack is gone once it was used; a name that stands for it would hold it until the
// function returns. In code whose values are large that matters, so what has a name of ours is
// deleted after its last use, unless nothing happens from there to the end, or an argument keeps
// the value anyway (Facts::owned).
#pragma once

#include "ast/tree.h"
#include "object/facts.h"

namespace pellucid::polish {

// `body` is that of `code`; names that it assigns and the code does not know are temporaries.
ast::ListId release_temporaries(ast::Tree& tree, ast::ListId body, object::CodeId code,
                                const object::Facts& facts);

}  // namespace pellucid::polish
