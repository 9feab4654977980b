// SPDX-License-Identifier: Apache-2.0
// Displays of tuples and dicts, comprehensions, and lists of any kind.
#include <algorithm>

#include "ast/lines.h"
#include "print/expand.h"

namespace pellucid::print {

using ast::Kind;
using ast::NodeId;

namespace {

bool has_star(const Writer& writer, std::span<const NodeId> items) {
  return std::any_of(items.begin(), items.end(),
                     [&](NodeId item) { return writer.tree->is(item, Kind::Starred); });
}

}  // namespace

void list(Writer& writer, std::span<const NodeId> items, Place place, bool breakable) {
  for (size_t i = 0; i < items.size(); ++i) {
    const bool is_one_store = !writer.before(13) && place.has(Place::kTarget) && i > 0 &&
                              ast::is_one_store(*writer.tree, items[i - 1], items[i]);
    if (i > 0) writer.comma(breakable && !is_one_store);
    writer.expr(items[i], place);
  }
}

void dict(Writer& writer, NodeId id) {
  const auto node = writer.tree->as<ast::Dict>(id);
  const auto keys = writer.tree->items(node.keys);
  const auto values = writer.tree->items(node.values);
  writer.open("{");
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) writer.separator();
    // Keys that are all constants are one constant together and have no separate lines.
    if (!keys[i].valid() || writer.tree->is(keys[i], Kind::Constant)) writer.line_before(values[i]);
    if (keys[i].valid()) {
      writer.expr(keys[i], kTest);
      writer.text(": ");
      writer.expr(values[i], kItem);
    } else {
      writer.text("**");
      writer.expr(values[i], at(Level::BitOr));
    }
  }
  writer.close("}", values.size() > 1);
}

void tuple(Writer& writer, NodeId id, Place place) {
  const auto items = writer.tree->items(writer.tree->as<ast::Tuple>(id).elts);
  const bool starred = has_star(writer, items);
  const bool sliced = std::any_of(items.begin(), items.end(),
                                  [&](NodeId item) { return writer.tree->is(item, Kind::Slice); });
  bool bare = !items.empty() && !needs_parentheses(Level::Tuple, place);
  if (place.has(Place::kSubscript)) {
    // x[*a] came with 3.11.
    bare = bare && (sliced || !starred || !writer.before(11));
  } else {
    bare = bare && items.size() > 1 && !(starred && place.has(Place::kNoStar));
  }
  const bool apart =
      place.has(Place::kApart) || (!writer.before(13) && ast::stores_twice(*writer.tree, items));
  bare = bare && !apart;
  if (place.has(Place::kSubscript)) writer.open_call("[");
  // A tuple that is unpacked nowhere has the line of a store of its own.
  const NodeId start = apart ? items[0] : id;
  if (!bare && writer.keeps_lines && !writer.inside)
    writer.go_to_line(writer.tree->where(start).line);
  const bool may_break = bare && !place.has(Place::kSubscript);
  if (!bare) writer.put(apart ? Task::OpenLine : Task::Open, 0, {}, "(");
  if (may_break) writer.put(Task::OpenBare);
  const bool slices = bare && place.has(Place::kSubscript);
  const uint32_t handed_on = place.flags & Place::kTarget;
  const uint32_t flags = handed_on | kItem.flags | (slices ? Place::kSlice : 0);
  list(writer, items, {Level::Test, static_cast<uint16_t>(flags)}, !bare || slices || may_break);
  if (items.size() == 1 && !(bare && starred)) writer.text(",");
  if (!bare) writer.close(")", items.size() > 1);
  if (may_break) writer.put(Task::CloseBare);
  if (place.has(Place::kSubscript)) writer.close("]", bare && items.size() > 1);
}

void comprehension_of(Writer& writer, const char* opening, NodeId elt, ast::ListId generators,
                      const char* closing) {
  if (writer.before(15) && writer.tree->is(elt, Kind::Starred)) {
    writer.problem("unpacking in a comprehension needs Python 3.15");
  }
  const bool is_bare = *opening == '\0';  // the enclosing brackets serve it
  if (!is_bare) writer.open(opening);
  writer.expr(elt, kItem);
  for (const NodeId generator : writer.tree->items(generators)) {
    writer.put(Task::Comprehension, generator.value);
  }
  if (!is_bare) writer.close(closing);
}

void comprehension(Writer& writer, NodeId id) {
  const auto node = writer.tree->as<ast::comprehension>(id);
  writer.separator(" ");
  writer.line_before(node.target);
  writer.text(node.is_async != 0 ? "async for " : "for ");
  writer.expr(node.target, {Level::BitOr, Place::kTuple | Place::kTarget});
  writer.text(" in ");
  writer.expr(node.iter, {Level::Or, Place::kMembership | kItem.flags});
  for (const NodeId condition : writer.tree->items(node.ifs)) {
    writer.separator(" ");
    writer.line_before(condition);
    writer.text("if ");
    writer.expr(condition, {Level::Or, Place::kBranch | kItem.flags});
  }
}

}  // namespace pellucid::print
