// SPDX-License-Identifier: Apache-2.0
// ast: finds misfits, nodes with a child that no text can have there.
#pragma once

#include <cstdint>
#include <vector>

#include "ast/tree.h"

namespace pellucid::ast {

// Finds nodes that no text can spell although each part is valid, such as a definition in an
// expression. For a growing tree: each node is checked once, however often find() is called.
class Misfits {
 public:
  explicit Misfits(const Tree& tree) : tree_(tree) {}

  // Returns a node at or below the list that has a child it cannot have, or lacks a required one;
  // invalid if there is none.
  NodeId find(ListId body);

 private:
  void visit(NodeId id);

  const Tree& tree_;
  std::vector<NodeId> work_;    // of find(): the nodes to be checked, which all have children
  std::vector<NodeId> seen_;    // those and the checked ones
  std::vector<uint8_t> known_;  // by node: 1 if it was checked, or is to be
};

}  // namespace pellucid::ast
