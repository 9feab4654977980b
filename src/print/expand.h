// SPDX-License-Identifier: Apache-2.0
// print: replaces a piece by its pieces, in reading order. Private to the files of expressions.
#pragma once

#include <span>
#include <string_view>

#include "print/writer.h"

namespace pellucid::print {

// expressions.cpp
void expand(Writer& writer, ast::NodeId id, Place place);
void keyword(Writer& writer, ast::NodeId id);

// displays.cpp
void list(Writer& writer, std::span<const ast::NodeId> items, Place place, bool breakable = true);
void dict(Writer& writer, ast::NodeId id);
void tuple(Writer& writer, ast::NodeId id, Place place);
void comprehension_of(Writer& writer, const char* opening, ast::NodeId elt, ast::ListId generators,
                      const char* closing);
void comprehension(Writer& writer, ast::NodeId id);

// constants.cpp
void expand_constant(Writer& writer, object::ConstId id, Place place);

// parameters.cpp
void expand_parameters(Writer& writer, ast::NodeId id, std::string_view before_first);
void expand_parameter(Writer& writer, ast::NodeId id);
void expand_type_parameter(Writer& writer, ast::NodeId id);

// patterns.cpp
void expand_pattern(Writer& writer, ast::NodeId id, Place place);
// Goes to the line of a part, if lines are kept.
void go_to_pattern(Writer& writer, ast::NodeId id);
void begin_brackets(Writer& writer);
void end_brackets(Writer& writer, bool may_add_comma);

// fstrings.cpp
void format_string(Writer& writer, ast::NodeId id);
// Expands a replacement field; `equals`: what it shows of its own expression.
void format_value(Writer& writer, ast::NodeId id, Quote quote, std::string_view equals);
// Replaces the expression of an interpolation by its original text.
void finish_interpolation(Writer& writer, std::string_view source);

}  // namespace pellucid::print
