// SPDX-License-Identifier: Apache-2.0
// verify::lower: an ast::Tree -> the flow graphs that CPython would make of it.
//
//   Lowered relower(const ast::Tree&, ast::NodeId root)
//
// The second tier of validation needs no interpreter: the tree that is about to be printed is
// compiled here, for the version of its module, and compared with the original's graphs. It is a
// second opinion on `structure` and `polish` and shares no code with them; it says nothing about
// `print`, which only recompiling the text does.
//
// The graphs need not be CPython's instruction by instruction. They are made to be compared, and
// compare() sees through everything that is no effect: jumps, stack shuffles, constants, the ways
// of building a container. What decides is the order of effects, what protects each, and which
// names are cells. Versions differ in that, so the compiler knows the version.
//
// What it cannot compile is a problem of that code object, and its verdict is `unproven`: never a
// guess.
#pragma once

#include <string>
#include <vector>

#include "ast/tree.h"
#include "flow/graph.h"

namespace pellucid::verify {

struct Lowered {
  object::Module module;              // the code objects, without bytecode
  std::vector<flow::Graph> graphs;    // by CodeId
  std::vector<std::string> problems;  // by CodeId; empty: none
};

// `root` is a Module node.
Lowered relower(const ast::Tree& tree, ast::NodeId root);

}  // namespace pellucid::verify
