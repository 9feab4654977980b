// SPDX-License-Identifier: Apache-2.0
// Graphs of structure as text that can be read back: what structure::dump() says, and with it what
// the steps look at besides. A step's test is such a text before it and one after it.
//
//   python 3.10              the compiler; 3.12 if nothing is said
//   line 4                   the line of what comes next, until another is named
//   at 20                    the offset of what comes next; each instruction counts 2
//   b1(v3) in h0             a block with its parameters, and what protects it
//     v4 = LoadFast x        an item: a constant as Python writes it, a name, or up to two numbers,
//                            then its operands
//     let v5 = item v4       a value that is no item
//     v6 = And v4            a region: its parts lie below it, each with its result. Of a Pattern,
//                            which a plan asks for, the text says no more than that
//       | v7 = LoadFast y
//       = v7
//     branch v4 -> b2 -> b3  how the block ends
//   h0: finally at b4        a handler
//   joins b5                 a block that an earlier step has made of endings
//
// A `;` comes before what is not as usual: `; uses 2` where a recount says something else,
// `; jump 1`, `; stack v1 v2`, ....
#pragma once

#include <memory>
#include <string>

#include "structure/steps.h"

namespace pellucid::structure {

// A graph with all that it refers to.
struct TextGraph {
  std::unique_ptr<object::Module> module;
  std::unique_ptr<ast::Tree> tree;
  std::unique_ptr<Reduction> reduction;
};

// Throws InternalError with the line that it cannot read.
TextGraph read_graph(const std::string& text);

std::string graph_text(const object::Module& module, const Reduction& reduction);

// Numbers lines from that of the `def`, and gives all offsets their rank, twice: what the steps ask
// is which of two comes first.
void number_places(ir::Function& function, int32_t first_line);

}  // namespace pellucid::structure
