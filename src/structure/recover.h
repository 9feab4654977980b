// SPDX-License-Identifier: Apache-2.0
// structure::recover: values, effects and edges of one code object -> the statements of its body.
#pragma once

#include <vector>

#include "ast/tree.h"
#include "base/result.h"
#include "ir/function.h"
#include "object/places.h"

namespace pellucid::structure {

struct Trace;  // steps.h

// `bodies[c]`: the finished statements of nested code object c. With `joins`, what compilers have
// copied is one again; without, endings stay apart as they lie there. Errors carry the byte offset
// of the place for which no structured form was found. `places`: of the code, for evidence. What
// the steps change is told to `trace`.
Result<ast::ListId> recover(ir::Function function, ast::Tree& tree,
                            const std::vector<ast::ListId>& bodies, const object::Places& places,
                            bool joins = true, Trace* trace = nullptr);

}  // namespace pellucid::structure
