// SPDX-License-Identifier: Apache-2.0
// ast: rules about the fields of nodes that nodes.def lacks: which children may be absent, and
// their categories.
#pragma once

#include <string_view>

#include "ast/tree.h"

namespace pellucid::ast {

// Returns true if the field may be absent (ASDL's `?`). An absent `args` of a FunctionDef or Lambda
// means no parameters.
bool may_be_absent(Kind kind, std::string_view field);

// Returns true if items of the list may be absent.
bool items_may_be_absent(Kind kind, std::string_view field);

// Returns the kinds of children that `field` of a node of kind `parent` may have.
Kinds kinds_in(Kind parent, const FieldInfo& field);

}  // namespace pellucid::ast
