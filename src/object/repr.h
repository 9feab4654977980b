// SPDX-License-Identifier: Apache-2.0
// object: constants as Python would write them, for dumps. Not for source: print has its own.
#pragma once

#include <string>
#include <string_view>

#include "object/code.h"

namespace pellucid::object {

// 'text' with escapes; always ASCII.
std::string repr_of_text(std::string_view text);

// The text as it is, but for what a reader could not see or what would change how the rest is shown
// (identifiers.h), which is escaped: one line, whatever the bytes.
std::string on_one_line(std::string_view text);

// Constants that hold others are cut after about a thousand characters.
std::string repr(const Module& module, ConstId id);

}  // namespace pellucid::object
