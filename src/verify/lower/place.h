// SPDX-License-Identifier: Apache-2.0
// Conditions for CPython to read a tree from its text (spelling.h): what they depend on at a place.
#pragma once

#include <cstdint>

#include "ast/tree.h"

namespace pellucid::verify::lower {

using ast::NodeId;

// What the rules of shapes.h depend on.
struct ShapePlace {
  NodeId scope;
  NodeId parent;
  NodeId first_generator;  // of the innermost comprehension
  uint32_t brackets = 0;
  uint32_t levels = 0;
  bool in_class = false;
  bool in_async = false;
  bool in_comprehension = false;
  bool in_outer_comprehension = false;  // the innermost comprehension is in another one
  bool in_iterable = false;             // in the iterable of a comprehension
  bool in_star_handler = false;         // of this function
  bool in_loop_of_handler = false;
};

// The context of a place in the text.
struct Place {
  NodeId scope;
  NodeId elif;  // an `if` written as `elif`, on the level of the enclosing one
  uint32_t indents = 0;
  uint32_t blocks = 0;  // loops, `try` and `with` of this function
  bool in_function = false;
  bool in_async = false;
  bool in_class = false;
  bool in_loop = false;
  ShapePlace shape = {};
};

}  // namespace pellucid::verify::lower
