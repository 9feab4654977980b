// SPDX-License-Identifier: Apache-2.0
// verify::lower: annotations, evaluated in place up to 3.13, since 3.14 by functions that are
// called on request (PEP 649). Under `from __future__ import annotations` they are strings.
#pragma once

#include <cstdint>
#include <string>

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

void annotated_assignment(Unit& unit, NodeId statement);
// Pushes the annotations of a function; returns their MAKE_FUNCTION flag, 0 if there are none.
uint32_t function_annotations(Unit& unit, NodeId node);

// -- 3.14 ----------------------------------------------------------------------------------------

// Compiles a function that evaluates annotations on request and checks the requested format.
CodeId lazy_code(Unit& unit, ScopeId scope, Symbol name, const char* argument, const Body& body,
                 const std::string& owner = {});
// Makes the set of the annotations of a module or class that were reached, if it needs one.
void make_conditional_set(Unit& unit);
// Stores the function that makes the dict of all annotations met in this module or class.
void lazy_annotations(Unit& unit);

}  // namespace pellucid::verify::lower
