// SPDX-License-Identifier: Apache-2.0
// object: constants in Python's notation, for dumps. Not for source, which `print` writes.
#pragma once

#include <string>
#include <string_view>

#include "object/code.h"

namespace pellucid::object {

// Returns 'text' with escapes; always ASCII.
std::string repr_of_text(std::string_view text);

// Returns the text with invisible characters and those that affect others (is_visible) escaped: one
// line, whatever the bytes.
std::string on_one_line(std::string_view text);

// Returns a constant in Python's notation; containers are cut after about a thousand characters.
std::string repr(const Module& module, ConstId id);

}  // namespace pellucid::object
