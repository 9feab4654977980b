// SPDX-License-Identifier: Apache-2.0
// Reads the syntax trees that tests/python/reprint.py writes: programs for a stack machine, one
// instruction a line.
//
//   n              an absent child               i NUMBER   a number
//   s HEX          a name                        l COUNT    a list of the nodes on top
//   m NUMBERS      a list of numbers             @ LINE [BEGIN [END]]
//                                                where the next node comes from, with its columns
//   k Kind         a node of the slots on top    c KIND ... a constant; tuples and the like take
//                                                           those on top
//
// What ends a program is for those who have the reader: `p` for a tree, `q` for a constant.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "ast/nodes.h"
#include "ast/tree.h"
#include "object/places.h"

namespace pellucid::polish {

std::string bytes_of_hex(const std::string& hex);

class TreeReader {
 public:
  TreeReader() { clear(); }

  // Executes an instruction; returns false for what is none of those above.
  bool execute(const std::string& line);

  // Takes what is on top: the id of a node or of a constant.
  uint32_t pop();

  object::Module& module() { return *module_; }
  ast::Tree& tree() { return *tree_; }
  // Of the nodes that have any, where their offsets say.
  object::Places places() const { return {places_, {}, {}}; }

  // Forgets everything, for the next program.
  void clear();

 private:
  void place(std::istringstream& in);
  void list(std::istringstream& in);
  void node(const std::string& kind);
  void constant(std::istringstream& in);

  std::unique_ptr<object::Module> module_;
  std::unique_ptr<ast::Tree> tree_;
  std::vector<uint32_t> stack_;
  std::vector<object::Places::Run> places_;  // each of one code unit
  ast::Where where_;
};

}  // namespace pellucid::polish
