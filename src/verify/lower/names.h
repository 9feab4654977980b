// SPDX-License-Identifier: Apache-2.0
// verify::lower: how a unit reads, binds and deletes a name.
#pragma once

#include <string_view>

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

void load_name(Unit& unit, Symbol name);
void store_name(Unit& unit, Symbol name);
void delete_name(Unit& unit, Symbol name);
void load_name(Unit& unit, std::string_view name);
void store_name(Unit& unit, std::string_view name);
// Binds a name to None, and deletes it, as the end of an `except` clause does.
void unbind(Unit& unit, Symbol name);
// Pushes the cell of a variable.
void load_closure(Unit& unit, Symbol name);

// Gives up if an inlined comprehension of the unit binds a cell that another one takes for a name
// of the module (3.12). Called at the end of the unit.
void check_shared_names(const Unit& unit);

}  // namespace pellucid::verify::lower
