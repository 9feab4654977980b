// SPDX-License-Identifier: Apache-2.0
// verify::lower: an ast::Tree -> the flow graphs that CPython would make of it.
//
//   Lowered relower(const ast::Tree&, ast::NodeId root)
//
// The second tier of validation needs no interpreter: the tree that is about to be printed is
// compiled here, for the version of its module, and compared with the original's graphs. It checks
// `structure` and `polish` independently and shares no code with them; it does not check `print`,
// for which the text has to be recompiled.
//
// The graphs need not be CPython's instruction by instruction. They are made for compare(), which
// ignores everything that is not an effect: jumps, stack shuffles, constants, how containers are
// built. The order of effects, their handlers and which names are cells have to be exact. Versions
// differ in these, so the compiler depends on the version.
//
// A Program (program.h) is what is shared, a Unit (unit.h) a code object under construction; its
// code is written by an Emitter, its constants made by Constants, its names resolved by Symbols.
// The rest are free functions that lower one construct each into a Unit, in files that are named by
// the construct: expressions.h and statements.h say where to look. How versions differ is in
// features.h.
//
// If a code object cannot be compiled, a problem is recorded and its verdict is `unproven`: it is
// never guessed.
#pragma once

#include <string>
#include <vector>

#include "ast/tree.h"
#include "flow/graph.h"

namespace pellucid::verify {

struct Lowered {
  object::Module& module;                  // the tree's: the code objects, without bytecode
  std::vector<flow::Graph> graphs = {};    // by CodeId
  std::vector<std::string> problems = {};  // by CodeId; empty: none
};

// Lowers the tree below `root`, a Module node. Spends the tree's module: what was lowered takes the
// place of its code objects, and shares its strings and constants, to which it adds the few that it
// needs.
Lowered relower(ast::Tree& tree, ast::NodeId root);

}  // namespace pellucid::verify
