// SPDX-License-Identifier: Apache-2.0
// Misfits: nodes that hold what no text can say there.
#pragma once

#include <cstdint>
#include <vector>

#include "ast/tree.h"

namespace pellucid::ast {

// What no text can say, though each part of it was computed: a definition in an expression, say.
// For a tree that grows: a node is looked at once, however many ask.
class Misfits {
 public:
  explicit Misfits(const Tree& tree)
      : tree_(tree), answers_((kKinds + 1) * kFields * (kKinds + 1)) {}

  // A node at or below the list that holds what cannot stand there, or lacks what must; invalid:
  // there is none.
  NodeId find(ListId body);

 private:
  static constexpr size_t kFields = 7;
  static constexpr size_t kKinds = 0
#define FIELD(type, name)
#define NODE(kind, category, fields) +1
#include "ast/nodes.def"
#undef NODE
#undef FIELD
      ;

  template <typename Visit>
  bool has_its_parts(NodeId id, const Visit& visit);
  bool may_hold(Kind parent, size_t field, NodeId child);

  const Tree& tree_;
  std::vector<bool> known_;
  std::vector<uint8_t> answers_;  // by parent, field and child; 0: not asked yet
};

}  // namespace pellucid::ast
