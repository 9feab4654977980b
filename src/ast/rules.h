// SPDX-License-Identifier: Apache-2.0
// What nodes.def does not say of the fields of a node: which children may be absent, and of what
// category they are.
#pragma once

#include <string_view>

#include "ast/tree.h"

namespace pellucid::ast {

// ASDL's `?`. An absent `args` of a FunctionDef or Lambda means no parameters.
bool may_be_absent(Kind kind, std::string_view field);

// Returns true if items of the list may be absent.
bool items_may_be_absent(Kind kind, std::string_view field);

// Returns true if a node of kind `child` may stand in `field` of a node of kind `parent`.
bool fits(Kind parent, const FieldInfo& field, Kind child);

}  // namespace pellucid::ast
