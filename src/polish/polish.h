// SPDX-License-Identifier: Apache-2.0
// polish: rewrites that change how a tree reads but not what it means.
//
// Each rewrite is a free function in its own file; run() applies them in one order, with a reason
// for each place.
#pragma once

#include "ast/tree.h"
#include "object/left_jump.h"
#include "object/places.h"

namespace pellucid::polish {

// Properties of the compiler that made the code.
struct Compiler {
  bool makes_f_strings_of_percent = false;  // 3.11+
  bool joins_long_f_strings = false;        // 3.11+: see join_long_f_strings
  bool leaves_dropped = false;              // 3.12, 3.13: see keep_dropped_constants
  bool copies_exits = false;       // 3.10+: falling off the end compiles to a `return` there
  bool looks_into_walrus = false;  // 3.10+: it also folds inside the value of a walrus
};

// The kind of a body: the statements of a module or class, of a function, or those from which an
// expression is made afterwards (lambdas, comprehensions).
enum class Body : uint8_t { Block, Function, Expression };

// The place of a code object in its source.
struct Source {
  const object::Places& places;  // none are known before 3.11
  int32_t first_line = -1;
  const object::LeftCode* left = nullptr;  // up to 3.9
  bool has_endless_ones = false;           // 3.10, 3.11: endless loops were rather `while 1`
  object::CodeId code = {};                // invalid: nothing is known of the header
  bool says_lost = false;                  // comments say what the tree cannot have
};

// Polishes the statements of one body.
ast::ListId run(ast::Tree& tree, ast::ListId body, Body kind, const Compiler& compiler,
                const Source& source);

}  // namespace pellucid::polish
