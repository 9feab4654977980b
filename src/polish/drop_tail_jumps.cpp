// A jump to where control goes anyway says nothing. It stays where it is all that an arm of an `if`
// does, and, but for compilers that copy the end of a function to where control comes from, in
// `try`, `with` and `match`, where leaving by a jump compiles to other code than falling off the
// end.
#include <algorithm>
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

class TailJumps {
 public:
  TailJumps(ast::Tree& tree, Kind jump, bool enters_all)
      : tree_(tree), jump_(jump), enters_all_(enters_all) {}

  // Takes jumps from the end of a list and of the lists in the statement that ends it.
  void drop(Statements& items) {
    clip(items);
    if (!items.empty()) todo_.push_back(items.back());
    while (!todo_.empty()) {
      const NodeId statement = todo_.back();
      todo_.pop_back();
      enter(statement);
    }
  }

  // `except E: return`  ->  `except E: pass`
  void pass_instead() {
    for (const NodeId jump : bare_) tree_.set(jump, ast::Pass{});
  }

 private:
  void clip(Statements& list) const {
    while (list.size() > 1 && is_jump(tree_, list.back(), jump_)) list.pop_back();
  }

  void enter(NodeId statement) {
    const Kind kind = tree_.kind(statement);
    if (kind == Kind::If) {
      enter(statement, "body");
      enter(statement, "orelse");
    } else if (!enters_all_) {
      return;
    } else if (kind == Kind::With) {
      enter(statement, "body");
    } else if (kind == Kind::Match) {
      enter_clauses(statement, "cases");
    } else if (kind == Kind::Try) {
      const bool has_else = !tree_.items(tree_.as<ast::Try>(statement).orelse).empty();
      enter(statement, has_else ? "orelse" : "body");
      enter_clauses(statement, "handlers");
    }
  }

  size_t field_of(NodeId owner, std::string_view name) const {
    const auto fields = ast::fields_of(tree_.kind(owner));
    const auto at =
        std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == name; });
    return static_cast<size_t>(at - fields.begin());
  }

  void enter(NodeId owner, std::string_view name) {
    const Place place{owner, field_of(owner, name)};
    Statements list = items_at(tree_, place);
    if (list.empty()) return;
    const size_t before = list.size();
    clip(list);
    if (list.size() != before) {
      tree_.set_slot(place.owner, place.field, tree_.list(list).value);
    }
    todo_.push_back(list.back());
  }

  void enter_clauses(NodeId statement, std::string_view name) {
    for (const NodeId clause : items_at(tree_, {statement, field_of(statement, name)})) {
      enter(clause, "body");
      const Statements body = items_at(tree_, {clause, field_of(clause, "body")});
      if (body.size() == 1 && is_jump(tree_, body[0], jump_)) bare_.push_back(body[0]);
    }
  }

  ast::Tree& tree_;
  Kind jump_;
  bool enters_all_;
  std::vector<NodeId> todo_;
  std::vector<NodeId> bare_;  // jumps that are all that a clause does
};

// Whether the body returns a value anywhere: then a bare `return` stands beside others.
bool returns_value(const ast::Tree& tree, const Statements& body) {
  const auto returns = [&](const Statements& items) {
    return std::any_of(items.begin(), items.end(), [&](NodeId item) {
      return tree.is(item, Kind::Return) && tree.as<ast::Return>(item).value.valid();
    });
  };
  const std::vector<Place> places = nested_lists(tree, body);
  return returns(body) || std::any_of(places.begin(), places.end(),
                                      [&](Place place) { return returns(items_at(tree, place)); });
}

}  // namespace

void drop_tail_jumps(ast::Tree& tree, Statements& body, bool copies_exits) {
  for (const Place place : nested_lists(tree, body)) {
    const Kind kind = tree.kind(place.owner);
    if ((kind != Kind::For && kind != Kind::While) ||
        std::string_view(ast::fields_of(kind)[place.field].name) != "body") {
      continue;
    }
    Statements items = items_at(tree, place);
    const size_t before = items.size();
    TailJumps(tree, Kind::Continue, false).drop(items);
    if (items.size() != before) tree.set_slot(place.owner, place.field, tree.list(items).value);
  }
  TailJumps returns(tree, Kind::Return, copies_exits);
  returns.drop(body);
  if (!returns_value(tree, body)) returns.pass_instead();
}

}  // namespace pellucid::polish
