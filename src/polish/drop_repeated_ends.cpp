// SPDX-License-Identifier: Apache-2.0
// Undoes tail duplication. Compilers copy a short exit of a function or a loop to each of its
// predecessors: if an arm of an `if` ends with the statements on the same lines that follow the
// `if`, they were written there alone.
#include <algorithm>
#include <span>

#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

constexpr size_t kLongest = 4;  // statements that are copied

bool is_one(const ast::Tree& tree, NodeId a, NodeId b) {
  const int32_t line = tree.where(a).line;
  return line >= 0 && line == tree.where(b).line && tree.kind(a) == tree.kind(b) &&
         ast::same(tree, a, b);
}

// Returns how many statements are left of a list that ends as control would go on after it.
size_t count_before(const ast::Tree& tree, std::span<const NodeId> list,
                    std::span<const NodeId> rest) {
  if (rest.empty() || list.size() <= rest.size()) return list.size();
  const auto end = list.last(rest.size());
  const bool are_same =
      std::ranges::equal(end, rest, [&](NodeId a, NodeId b) { return is_one(tree, a, b); });
  return are_same ? list.size() - rest.size() : list.size();
}

}  // namespace

void drop_repeated_ends(ast::Tree& tree, Statements& body, Outline& outline) {
  for_each_list(tree, body, outline, {Kind::If}, [&](Statements& items) {
    // A long list ends in no copy.
    const size_t first = items.size() > kLongest ? items.size() - kLongest : 0;
    for (size_t i = first; i + 1 < items.size(); ++i) {
      if (!tree.is(items[i], Kind::If)) continue;
      const auto rest = std::span<const NodeId>(items).subspan(i + 1);
      auto branch = tree.as<ast::If>(items[i]);
      for (ast::ListId* arm : {&branch.body, &branch.orelse}) {
        const auto list = tree.items(*arm);
        const size_t count = count_before(tree, list, rest);
        if (count == list.size()) continue;
        const Statements left(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
        *arm = tree.list(left);
        tree.set(items[i], branch);
      }
    }
  });
}

}  // namespace pellucid::polish
