// SPDX-License-Identifier: Apache-2.0
// print: expressions, patterns and parameters.
#pragma once

#include <cstddef>

#include "print/writer.h"

namespace pellucid::print {

void expression(Writer& writer, ast::NodeId id, Place place);
void constant(Writer& writer, object::ConstId id, Place place);
// Prints parameters with their parentheses; invalid: none.
void parameters(Writer& writer, ast::NodeId arguments);
void type_parameters(Writer& writer, ast::ListId params);
// Continued lines have at least `indent` columns.
void pattern(Writer& writer, ast::NodeId id, size_t indent);
// Prints the bases and keywords of a class in parentheses.
void class_arguments(Writer& writer, ast::ListId bases, ast::ListId keywords);

}  // namespace pellucid::print
