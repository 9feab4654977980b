// SPDX-License-Identifier: Apache-2.0
// `if a: b else: raise` with statements after it: only the first arm reaches them, so they are read
// as its last statements. Their lines are after those of the other arm, which no statement of the
// first arm can be.
#include <algorithm>

#include "polish/ends.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

constexpr int32_t kNoLine = -1;

class IfEnds {
 public:
  explicit IfEnds(ast::Tree& tree) : tree_(tree) {}

  void rewrite(Statements& items) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (!tree_.is(items[i], Kind::If)) continue;
      if (!tree_.items(tree_.as<ast::If>(items[i]).orelse).empty()) {
        move_past_else(items, i);
      } else {
        make_else(items, i);
      }
    }
  }

 private:
  int32_t line(NodeId statement) const { return tree_.where(statement).line; }

  int32_t first_line(std::span<const NodeId> items) const {
    return items.empty() ? kNoLine : line(items.front());
  }

  // Returns the number of statements at the front of the first arm; all others have lines after
  // that of the other arm. 0: that cannot be said.
  size_t count_before(std::span<const NodeId> body, int32_t other) const {
    if (other == kNoLine) return 0;
    const auto is_before = [&](NodeId item) { return line(item) < other; };
    const auto end = std::find_if_not(body.begin(), body.end(), is_before);
    const bool clear =
        std::all_of(end, body.end(), [&](NodeId item) { return line(item) > other; });
    return clear && end != body.end() ? static_cast<size_t>(end - body.begin()) : 0;
  }

  // Before: `if a: b; c else: raise`. After: `if a: b else: raise` and c.
  void move_past_else(Statements& items, size_t at) {
    auto branch = tree_.as<ast::If>(items[at]);
    const Statements body = of(branch.body);
    // What looks at the body alone comes first: the `else` may hold a long chain.
    const size_t count = count_before(body, first_line(tree_.items(branch.orelse)));
    if (count == 0 || !never_falls_through(tree_, branch.orelse)) return;
    branch.body = tree_.list(std::span(body).first(count));
    tree_.set(items[at], branch);
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                 body.begin() + static_cast<std::ptrdiff_t>(count), body.end());
  }

  // Before: `if a: b; c; return` and d; raise. After: `if a: b else: d; raise` and c; return.
  void make_else(Statements& items, size_t at) {
    auto branch = tree_.as<ast::If>(items[at]);
    if (at + 1 == items.size() || !never_falls_through(tree_, branch.body)) return;
    const auto rest = std::span<const NodeId>(items).subspan(at + 1);
    const Statements body = of(branch.body);
    // What looks at the body alone comes first: `rest` may be the rest of a long list.
    const size_t count = count_before(body, first_line(rest));
    if (count == 0 || !never_falls_through(tree_, rest)) return;
    const bool is_in_between = std::all_of(rest.begin(), rest.end(), [&](NodeId item) {
      return line(item) != kNoLine && line(item) < line(body[count]);
    });
    if (!is_in_between) return;
    branch.body = tree_.list(std::span(body).first(count));
    branch.orelse = tree_.list(rest);
    tree_.set(items[at], branch);
    items.resize(at + 1);
    items.insert(items.end(), body.begin() + static_cast<std::ptrdiff_t>(count), body.end());
  }

  Statements of(ast::ListId list) const {
    const auto items = tree_.items(list);
    return {items.begin(), items.end()};
  }

  ast::Tree& tree_;
};

}  // namespace

void end_if(ast::Tree& tree, Statements& body, Outline& outline) {
  IfEnds ends(tree);
  for_each_list(tree, body, outline, {Kind::If}, [&](Statements& items) { ends.rewrite(items); });
}

}  // namespace pellucid::polish
