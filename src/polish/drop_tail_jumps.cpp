// A jump to where control goes anyway says nothing. It stays where it is all that an arm does, and
// in `try` and `with`, where leaving by a jump compiles to other code than falling off the end.
#include <string_view>

#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

bool is_jump(const ast::Tree& tree, NodeId statement, Kind jump) {
  if (!tree.is(statement, jump)) return false;
  return jump != Kind::Return || !tree.as<ast::Return>(statement).value.valid();
}

// Takes `jump` from the end of a list and of the arms of an `if` that ends it.
void drop(ast::Tree& tree, Statements& items, Kind jump) {
  const auto clip = [&](Statements& list) {
    while (list.size() > 1 && is_jump(tree, list.back(), jump)) list.pop_back();
  };
  clip(items);
  std::vector<NodeId> todo;
  if (!items.empty()) todo.push_back(items.back());
  while (!todo.empty()) {
    const NodeId statement = todo.back();
    todo.pop_back();
    if (!tree.is(statement, Kind::If)) continue;
    auto branch = tree.as<ast::If>(statement);
    for (ListId* arm : {&branch.body, &branch.orelse}) {
      Statements list(tree.items(*arm).begin(), tree.items(*arm).end());
      if (list.empty()) continue;
      const size_t before = list.size();
      clip(list);
      if (list.size() != before) *arm = tree.list(list);
      todo.push_back(list.back());
    }
    tree.set(statement, branch);
  }
}

}  // namespace

void drop_tail_jumps(ast::Tree& tree, Statements& body) {
  for (const Place place : nested_lists(tree, body)) {
    const Kind kind = tree.kind(place.owner);
    if ((kind != Kind::For && kind != Kind::While) ||
        std::string_view(ast::fields_of(kind)[place.field].name) != "body") {
      continue;
    }
    Statements items = items_at(tree, place);
    const size_t before = items.size();
    drop(tree, items, Kind::Continue);
    if (items.size() != before) tree.set_slot(place.owner, place.field, tree.list(items).value);
  }
  drop(tree, body, Kind::Return);
}

}  // namespace pellucid::polish
