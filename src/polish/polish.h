// SPDX-License-Identifier: Apache-2.0
// polish: rewrites that change how a tree reads but not what it means.
//
// Each rewrite is a free function in its own file; run() applies them in one order, with a reason
// for each place.
#pragma once

#include <span>

#include "ast/tree.h"
#include "object/columns.h"
#include "object/left_jump.h"

namespace pellucid::polish {

// Properties of the compiler that made the code.
struct Compiler {
  bool makes_f_strings_of_percent = false;  // 3.11+
  bool leaves_dropped = false;              // 3.12, 3.13: see keep_dropped_constants
  bool copies_exits = false;       // 3.10+: falling off the end compiles to a `return` there
  bool looks_into_walrus = false;  // 3.10+: it also folds inside the value of a walrus
};

// The kind of a body: the statements of a module or class, of a function, or those from which an
// expression is made afterwards (lambdas, comprehensions).
enum class Body : uint8_t { Block, Function, Expression };

// The place of a code object in its source.
struct Source {
  std::span<const object::Columns> columns = {};  // of each code unit; none before 3.11
  int32_t first_line = -1;
  std::span<const uint32_t> nops = {};     // the code units that hold a NOP
  std::span<const uint32_t> leaves = {};   // those that hold a jump, a return or a raise
  const object::LeftCode* left = nullptr;  // up to 3.9
  bool has_endless_ones = false;           // 3.10, 3.11: endless loops were rather `while 1`
  object::CodeId code = {};                // invalid: nothing is known of the header
};

// Polishes the statements of one body.
ast::ListId run(ast::Tree& tree, ast::ListId body, Body kind, const Compiler& compiler,
                const Source& source);

}  // namespace pellucid::polish
