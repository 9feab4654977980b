// SPDX-License-Identifier: Apache-2.0
// What follows an `if` or a `try` that never falls through may be its `else` or stand after it. Up
// to 3.10 no column tells which, but `else:` takes a line, and an `elif` follows its `if` on the
// next line. An empty line or a comment looks the same, so this is what most code has; counted over
// the standard libraries, a single statement that ends as the arm before it does is an `else` nine
// times in ten, and several statements hardly ever are.
#include <algorithm>
#include <span>

#include "polish/ends.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

constexpr int32_t kUnknown = -1;

class LineLayout {
 public:
  explicit LineLayout(ast::Tree& tree) : tree_(tree) {}

  void run(Statements& body, bool is_function) {
    const std::vector<Block> blocks = blocks_in(body, is_function);
    // Inner lists first, and each from its end, so that a chain of tests is one statement to the
    // test before it.
    for (size_t k = blocks.size(); k-- > 0;) {
      const Place place = blocks[k].list.place;
      Statements items = place.owner.valid() ? items_at(tree_, place) : body;
      const size_t before = items.size();
      for (size_t i = items.size(); i-- > 1;) {
        if (!takes_else(items[i - 1])) continue;
        const auto rest = std::span<const NodeId>(items).subspan(i);
        if (!was_else(items[i - 1], rest, blocks[k])) continue;
        set_else(items[i - 1], tree_.list(rest));
        items.resize(i);
      }
      if (items.size() == before) continue;
      if (place.owner.valid()) {
        tree_.set_slot(place.owner, place.field, tree_.list(items).value);
      } else {
        body = items;
      }
    }
  }

 private:
  struct Block {
    List list;
    bool in_loop = false;
  };

  // Returns all lists of statements, outer ones before inner ones.
  std::vector<Block> blocks_in(const Statements& body, bool is_function) const {
    std::vector<Block> found{{{Place{}, is_function ? End::Return : End::Other}, false}};
    std::vector<List> lists;
    for (size_t k = 0; k < found.size(); ++k) {
      const Block block = found[k];
      const Place place = block.list.place;
      const Statements items = place.owner.valid() ? items_at(tree_, place) : body;
      for (const NodeId item : items) {
        lists.clear();
        add_lists(tree_, item, item == items.back() ? block.list.end : End::Other, lists);
        const bool loops = tree_.is(item, Kind::For) || tree_.is(item, Kind::While);
        // No `return` is copied to where a `with` still has to be left.
        const bool is_with = tree_.is(item, Kind::With);
        for (const List& list : lists) {
          found.push_back({{list.place, is_with ? End::Other : list.end}, block.in_loop || loops});
        }
      }
    }
    return found;
  }

  // Returns the last of the lists that are written before an `else`; invalid: there are none.
  ListId arm_before_else(NodeId owner) const {
    if (tree_.is(owner, Kind::If)) return tree_.as<ast::If>(owner).body;
    return tree_.as<ast::ExceptHandler>(tree_.items(tree_.as<ast::Try>(owner).handlers).back())
        .body;
  }

  // Returns the line before that list.
  int32_t head_of_arm(NodeId owner) const {
    if (tree_.is(owner, Kind::If)) return last_line(tree_.as<ast::If>(owner).test);
    const NodeId handler = tree_.items(tree_.as<ast::Try>(owner).handlers).back();
    const NodeId type = tree_.as<ast::ExceptHandler>(handler).type;
    return type.valid() ? last_line(type) : tree_.where(handler).line;
  }

  bool takes_else(NodeId statement) const {
    if (tree_.is(statement, Kind::If)) {
      const auto branch = tree_.as<ast::If>(statement);
      return tree_.items(branch.orelse).empty() && never_falls_through(tree_, branch.body);
    }
    if (!is_try_without_finally(tree_, statement)) return false;
    const auto attempt = tree_.as<ast::Try>(statement);
    const auto handlers = tree_.items(attempt.handlers);
    return tree_.items(attempt.orelse).empty() && !never_falls_through(tree_, attempt.body) &&
           std::all_of(handlers.begin(), handlers.end(), [&](NodeId handler) {
             return never_falls_through(tree_, tree_.as<ast::ExceptHandler>(handler).body);
           });
  }

  void set_else(NodeId owner, ListId rest) {
    if (tree_.is(owner, Kind::If)) {
      auto branch = tree_.as<ast::If>(owner);
      branch.orelse = rest;
      tree_.set(owner, branch);
    } else {
      auto attempt = tree_.as<ast::Try>(owner);
      attempt.orelse = rest;
      tree_.set(owner, attempt);
    }
  }

  bool was_else(NodeId owner, std::span<const NodeId> rest, const Block& block) {
    const ListId arm = arm_before_else(owner);
    const NodeId next = rest[0];
    const int32_t start = first_line(next);
    int32_t end = std::max(last_line(tree_.items(arm).back()), line_before_last(arm, owner));
    if (end == kUnknown || start == kUnknown || start <= end) return false;
    if (is_before_its_line(arm, owner)) {
      // The `return` at the end of the function, which was copied (3.10), is no statement.
      const bool ends_function =
          block.list.end == End::Return && tree_.is(tree_.items(arm).back(), Kind::Return);
      if (ends_function && tree_.items(arm).size() > 1) return true;
      ++end;
    }
    if (rest.size() != 1) return false;
    if (start > end + 1) {
      return tree_.is(owner, Kind::Try) ||
             is_likely_else(arm, next, start == end + 2 && !block.in_loop);
    }
    return tree_.is(owner, Kind::If) && tree_.is(next, Kind::If) &&
           is_likely_elif(arm, next, block.in_loop);
  }

  int32_t line_before_last(ListId arm, NodeId owner) const {
    const auto items = tree_.items(arm);
    return items.size() > 1 ? last_line(items[items.size() - 2]) : head_of_arm(owner);
  }

  // Returns true for a jump at the end of an arm that has the line of what comes before it, as one
  // out of a `with` or a clause may.
  bool is_before_its_line(ListId arm, NodeId owner) const {
    const NodeId last = tree_.items(arm).back();
    const bool is_bare =
        tree_.is(last, Kind::Break) || tree_.is(last, Kind::Continue) ||
        (tree_.is(last, Kind::Return) && !tree_.as<ast::Return>(last).value.valid());
    return is_bare && tree_.where(last).line <= line_before_last(arm, owner);
  }

  // `follows`: the line between is the only one, and what a jump of the arm leaves is no loop.
  bool is_likely_else(ListId arm, NodeId next, bool follows) const {
    const bool returns = ending_of(tree_.items(arm)) == Kind::Return;
    // A call at the end, where the arm has returned.
    if (tree_.is(next, Kind::Expr)) return returns && follows;
    if (tree_.is(next, Kind::Try)) return false;
    if (!never_falls_through(tree_, std::span(&next, 1))) return false;
    return ending_of(tree_.items(arm)) != Kind::Raise ||
           ending_of(std::span(&next, 1)) == Kind::Raise;
  }

  // A check that raises stands alone, unless all of a chain leaves; `if a: continue` does so too.
  bool is_likely_elif(ListId arm, NodeId elif, bool in_loop) {
    const auto next = tree_.as<ast::If>(elif);
    const bool is_chain = !tree_.items(next.orelse).empty();
    const bool is_single = tree_.items(arm).size() == 1;
    const bool leaves = never_falls_through(tree_, next.body);
    switch (ending_of(tree_.items(arm))) {
      case Kind::Return:
        return is_chain || (!in_loop && (leaves || !is_single));
      case Kind::Raise:
        if (!is_chain || !leaves || !chain_leaves(next.orelse)) return false;
        leaving_chain_ = elif;
        return true;
      default:
        return is_chain && !is_single;
    }
  }

  // Returns true if control never falls off the end of an `else`. A chain is made from its end, and
  // each test before it asks.
  bool chain_leaves(ListId orelse) const {
    const auto items = tree_.items(orelse);
    return items.back() == leaving_chain_ || never_falls_through(tree_, items);
  }

  // Returns the kind of the jump at the end of a list.
  Kind ending_of(std::span<const NodeId> items) const {
    for (;;) {
      if (items.empty()) return Kind::Pass;
      if (!tree_.is(items.back(), Kind::If)) return tree_.kind(items.back());
      const auto branch = tree_.as<ast::If>(items.back());
      items = tree_.items(tree_.items(branch.orelse).empty() ? branch.body : branch.orelse);
    }
  }

  // Returns the line of the first part of a statement that has one.
  int32_t first_line(NodeId statement) const {
    const int32_t own = tree_.where(statement).line;
    std::vector<NodeId> heads;
    switch (tree_.kind(statement)) {
      case Kind::If:
        heads = {tree_.as<ast::If>(statement).test};
        break;
      case Kind::While:
        heads = {tree_.as<ast::While>(statement).test};
        break;
      case Kind::For:
        heads = {tree_.as<ast::For>(statement).iter};
        break;
      case Kind::With:
        heads = {tree_.items(tree_.as<ast::With>(statement).items)[0]};
        break;
      case Kind::Match:
        heads = {tree_.as<ast::Match>(statement).subject};
        break;
      case Kind::Try: {
        const auto body = tree_.items(tree_.as<ast::Try>(statement).body);
        const int32_t inside = body.empty() ? kUnknown : first_line(body[0]);
        return inside == kUnknown ? kUnknown : inside - 1;
      }
      case Kind::FunctionDef:
      case Kind::ClassDef:
        return own;
      default:
        heads = {statement};
        break;
    }
    int32_t first = kUnknown;
    for (const NodeId node : own_nodes(tree_, heads)) {
      const int32_t line = tree_.where(node).line;
      if (line > 0 && (first == kUnknown || line < first)) first = line;
    }
    return first == kUnknown ? own : first;
  }

  // Returns the greatest line of a statement.
  int32_t last_line(NodeId statement) const {
    int32_t last = kUnknown;
    for (const NodeId node : own_nodes(tree_, {statement})) {
      last = std::max(last, tree_.where(node).line);
    }
    return last;
  }

  ast::Tree& tree_;
  NodeId leaving_chain_;  // the last one of which all arms were found to leave
};

}  // namespace

void lay_out_by_lines(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts) {
  if (!starts.known()) LineLayout(tree).run(body, is_function);
}

}  // namespace pellucid::polish
