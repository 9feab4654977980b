// SPDX-License-Identifier: Apache-2.0
// polish: rewrites that change how a tree reads and not what it means.
//
// Each rewrite is a free function in a file of its own; run() applies them in one order, in which
// every line says why it stands there.
#pragma once

#include <span>

#include "ast/tree.h"
#include "object/columns.h"

namespace pellucid::polish {

// What the compiler that made the code does to what it compiles.
struct Compiler {
  bool makes_f_strings_of_percent = false;  // 3.11+
  bool leaves_dropped = false;              // 3.12, 3.13: see keep_dropped_constants
  bool copies_exits = false;       // 3.10+: falling off the end compiles to a `return` there
  bool looks_into_walrus = false;  // 3.10+: it folds the value of a walrus, too
};

// What becomes of a body: the statements of a module or class, of a function, or those from which
// an expression is made afterwards (lambdas, comprehensions).
enum class Body : uint8_t { Block, Function, Expression };

// Where the source of a code object stands.
struct Source {
  std::span<const object::Columns> columns;  // of each code unit; none before 3.11
  int32_t first_line = -1;
};

// Polishes the statements of one body.
ast::ListId run(ast::Tree& tree, ast::ListId body, Body kind, const Compiler& compiler,
                const Source& source);

}  // namespace pellucid::polish
