// polish: rewrites that change how a tree reads and not what it means.
//
// Each rewrite is a free function in a file of its own; run() applies them in one order, in which
// every line says why it stands there.
#pragma once

#include "ast/tree.h"

namespace pellucid::polish {

// What the compiler that made the code does to what it compiles.
struct Compiler {
  bool makes_f_strings_of_percent = false;  // 3.11+
  bool copies_exits = false;  // 3.10+: falling off the end compiles to a `return` there
};

// Polishes the statements of one body.
ast::ListId run(ast::Tree& tree, ast::ListId body, bool is_function, const Compiler& compiler);

}  // namespace pellucid::polish
