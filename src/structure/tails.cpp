// Returns that cannot be written: a module or class body ends where its code returns None.
#include "structure/blocks.h"
#include "structure/expressions.h"

namespace pellucid::structure {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

using Statements = std::vector<NodeId>;

bool is_end(const ast::Tree& tree, NodeId statement) {
  if (!tree.is(statement, Kind::Return)) return false;
  const NodeId value = tree.as<ast::Return>(statement).value;
  return !value.valid() || is_none(tree, value);
}

bool ends(const ast::Tree& tree, ListId list) {
  const auto items = tree.items(list);
  return !items.empty() && is_end(tree, items.back());
}

Statements to_vector(const ast::Tree& tree, ListId list) {
  return {tree.items(list).begin(), tree.items(list).end()};
}

class Tails {
 public:
  explicit Tails(ast::Tree& tree) : tree_(tree) {}

  void run(Statements& body) {
    clip(body, true);
    while (!todo_.empty()) {
      const Place place = todo_.back();
      todo_.pop_back();
      Statements items = to_vector(tree_, ListId(tree_.slot(place.owner, place.field)));
      const Statements before = items;
      if (place.in_loop) {
        leave_loop(items);
      } else {
        clip(items, place.may_be_empty);
      }
      if (items != before) tree_.set_slot(place.owner, place.field, tree_.list(items).value);
    }
  }

 private:
  struct Place {
    NodeId owner;
    size_t field;
    bool may_be_empty = false;
    bool in_loop = false;    // of a loop that stands at the end: to return is to break
  };

  // A list in tail position.
  void clip(Statements& items, bool may_be_empty) {
    nest_what_follows(items);
    if (!items.empty() && is_end(tree_, items.back())) {
      const ast::Where at = tree_.where(items.back());
      items.pop_back();
      if (items.empty() && !may_be_empty) items.push_back(tree_.add(ast::Pass{}, at));
    }
    if (items.empty()) return;
    const NodeId last = items.back();
    const Kind kind = tree_.kind(last);
    const bool is_loop = kind == Kind::For || kind == Kind::While;
    const bool has_else = kind == Kind::Try && !tree_.items(tree_.as<ast::Try>(last).orelse).empty();
    for_each_block(tree_, last, [&](size_t field, ListId list) {
      const std::string_view name = ast::fields_of(kind)[field].name;
      if (name == "handlers" || name == "cases") {
        for (const NodeId part : tree_.items(list)) {
          for_each_block(tree_, part, [&](size_t i, ListId) { todo_.push_back({part, i}); });
        }
      } else if (is_loop && name == "body") {
        todo_.push_back({last, field, false, true});
      } else if (name == "finalbody" || (has_else && name == "body")) {
        return;
      } else {
        todo_.push_back({last, field, name == "orelse"});
      }
    });
  }

  // `if c: a; return` in front of others: they are its else.
  void nest_what_follows(Statements& items) {
    for (size_t i = 0; i + 1 < items.size(); ++i) {
      if (!tree_.is(items[i], Kind::If)) continue;
      auto branch = tree_.as<ast::If>(items[i]);
      const bool then_ends = ends(tree_, branch.body);
      if (then_ends == ends(tree_, branch.orelse)) continue;
      Statements other = to_vector(tree_, then_ends ? branch.orelse : branch.body);
      other.insert(other.end(), items.begin() + static_cast<std::ptrdiff_t>(i) + 1, items.end());
      (then_ends ? branch.orelse : branch.body) = tree_.list(other);
      tree_.set(items[i], branch);
      items.resize(i + 1);
      return;
    }
  }

  void leave_loop(Statements& items) {
    for (NodeId& statement : items) {
      if (is_end(tree_, statement)) {
        statement = tree_.add(ast::Break{}, tree_.where(statement));
        continue;
      }
      const Kind kind = tree_.kind(statement);
      if (kind == Kind::For || kind == Kind::While) continue;
      for_each_block(tree_, statement, [&](size_t field, ListId) {
        todo_.push_back({statement, field, false, true});
      });
    }
  }

  ast::Tree& tree_;
  std::vector<Place> todo_;
};

}  // namespace

void strip_tail_returns(ast::Tree& tree, std::vector<NodeId>& body) { Tails(tree).run(body); }

}  // namespace pellucid::structure
