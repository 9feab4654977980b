// SPDX-License-Identifier: Apache-2.0
// `[a] = b` and `(a,) = b` unpack alike. From 3.11 on their widths differ: `(a,)` is two columns
// wider after a than `a`, `[a]` one, and `a,` starts where a does. Of several names, `[a, b]` is as
// wide as `(a, b)`, which most code has.
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

class ListTargets {
 public:
  ListTargets(ast::Tree& tree, const Starts& starts) : tree_(tree), starts_(starts) {}

  void look_at(NodeId node) {
    switch (tree_.kind(node)) {
      case Kind::Assign: {
        const auto targets = tree_.items(tree_.as<ast::Assign>(node).targets);
        todo_.assign(targets.begin(), targets.end());
        break;
      }
      case Kind::For:
        todo_ = {tree_.as<ast::For>(node).target};
        break;
      case Kind::comprehension:
        todo_ = {tree_.as<ast::comprehension>(node).target};
        break;
      case Kind::withitem:
        todo_ = {tree_.as<ast::withitem>(node).optional_vars};
        break;
      default:
        return;
    }
    while (!todo_.empty()) {
      const NodeId target = todo_.back();
      todo_.pop_back();
      if (!target.valid() || !tree_.is(target, Kind::Tuple)) continue;
      const ast::ListId list = tree_.as<ast::Tuple>(target).elts;
      const auto elements = tree_.items(list);
      todo_.insert(todo_.end(), elements.begin(), elements.end());
      if (elements.size() == 1 && is_in_brackets(elements[0])) {
        tree_.set(target, ast::List{list});
      }
    }
  }

 private:
  // The target itself is unpacked right before its element is stored.
  bool is_in_brackets(NodeId only) const {
    // So is the element, if it is a tuple: before those in it, which may nest as deep as they like.
    const bool is_unpacked = tree_.is(only, Kind::Tuple) || tree_.is(only, Kind::List);
    const uint32_t first = is_unpacked ? starts_.unit_of(only) : starts_.first_unit({&only, 1});
    if (first == Starts::kNoUnit || first == 0) return false;
    const object::Columns whole = starts_.places().columns(first - 1), inside = starts_.own(only);
    if (whole.end == object::kNoColumn || inside.end == object::kNoColumn) return false;
    const int32_t start = inside.begin - (tree_.is(only, Kind::Starred) ? 1 : 0);
    return start == whole.begin + 1 && whole.end == inside.end + 1;
  }

  ast::Tree& tree_;
  const Starts& starts_;
  std::vector<NodeId> todo_;
};

}  // namespace

void write_list_targets(ast::Tree& tree, const std::vector<NodeId>& nodes, const Starts& starts) {
  if (!starts.known()) return;
  ListTargets targets(tree, starts);
  for (const NodeId node : nodes) targets.look_at(node);
}

}  // namespace pellucid::polish
