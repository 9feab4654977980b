// SPDX-License-Identifier: Apache-2.0
// Displays of tuples and dicts, comprehensions, and lists of any kind.
#include <algorithm>

#include "ast/lines.h"
#include "print/expressions.h"

namespace pellucid::print {

using ast::Kind;
using ast::NodeId;

void Expressions::list(std::span<const NodeId> items, Place place, bool breakable) {
  for (size_t i = 0; i < items.size(); ++i) {
    const bool is_one_store = !before(13) && place.has(Place::kTarget) && i > 0 &&
                              ast::is_one_store(*tree_, items[i - 1], items[i]);
    if (i > 0) comma(breakable && !is_one_store);
    expr(items[i], place);
  }
}

void Expressions::dict(NodeId id) {
  const auto node = tree_->as<ast::Dict>(id);
  const auto keys = tree_->items(node.keys);
  const auto values = tree_->items(node.values);
  open("{");
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) separator();
    // Keys that are all constants are one constant together and have no separate lines.
    if (!keys[i].valid() || tree_->is(keys[i], Kind::Constant)) line_before(values[i]);
    if (keys[i].valid()) {
      expr(keys[i], kTest);
      text(": ");
      expr(values[i], kTest);
    } else {
      text("**");
      expr(values[i], at(Level::BitOr));
    }
  }
  close("}", !values.empty());
}

bool Expressions::has_star(std::span<const NodeId> items) const {
  return std::any_of(items.begin(), items.end(),
                     [&](NodeId item) { return tree_->is(item, Kind::Starred); });
}

void Expressions::tuple(NodeId id, Place place) {
  const auto items = tree_->items(tree_->as<ast::Tuple>(id).elts);
  const bool starred = has_star(items);
  const bool sliced = std::any_of(items.begin(), items.end(),
                                  [&](NodeId item) { return tree_->is(item, Kind::Slice); });
  bool bare = !items.empty() && !needs_parentheses(Level::Tuple, place);
  if (place.has(Place::kSubscript)) {
    // x[*a] came with 3.11.
    bare = bare && (sliced || !starred || !before(11));
  } else {
    bare = bare && items.size() > 1 && !(starred && place.has(Place::kNoStar));
  }
  const bool apart = place.has(Place::kApart) || (!before(13) && ast::stores_twice(*tree_, items));
  bare = bare && !apart;
  // A tuple that is unpacked nowhere has the line of a store of its own.
  const NodeId start = apart ? items[0] : id;
  if (!bare && keeps_lines_ && !inside_) go_to_line(tree_->where(start).line);
  const bool may_break = bare && !place.has(Place::kSubscript) && !place.has(Place::kTarget);
  if (!bare) push(apart ? Task::OpenLine : Task::Open, 0, {}, "(");
  if (may_break) push(Task::OpenBare);
  const bool slices = bare && place.has(Place::kSubscript);
  const uint32_t handed_on = place.flags & Place::kTarget;
  const uint32_t flags = slices ? handed_on | Place::kSlice : handed_on;
  list(items, {Level::Test, static_cast<uint16_t>(flags)}, !bare || slices || may_break);
  if (items.size() == 1 && !(bare && starred)) text(",");
  if (!bare) close(")", items.size() > 1);
  if (may_break) push(Task::CloseBare);
}

void Expressions::comprehension_of(const char* opening, NodeId elt, ast::ListId generators,
                                   const char* closing) {
  if (before(15) && tree_->is(elt, Kind::Starred)) {
    problem("unpacking in a comprehension needs Python 3.15");
  }
  const bool is_bare = *opening == '\0';  // the enclosing brackets serve it
  if (!is_bare) open(opening);
  expr(elt, kTest);
  for (const NodeId generator : tree_->items(generators)) {
    push(Task::Comprehension, generator.value);
  }
  if (!is_bare) close(closing);
}

void Expressions::comprehension(NodeId id) {
  const auto node = tree_->as<ast::comprehension>(id);
  separator(" ");
  line_before(node.target);
  text(node.is_async != 0 ? "async for " : "for ");
  expr(node.target, {Level::BitOr, Place::kTuple | Place::kTarget});
  text(" in ");
  expr(node.iter, {Level::Or, Place::kMembership});
  for (const NodeId condition : tree_->items(node.ifs)) {
    separator(" ");
    line_before(condition);
    text("if ");
    expr(condition, {Level::Or, Place::kBranch});
  }
}

}  // namespace pellucid::print
