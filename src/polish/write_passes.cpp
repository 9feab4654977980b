// SPDX-License-Identifier: Apache-2.0
// A `pass` or `...` before another statement leaves a NOP, since its line has no other code. From
// 3.11 on, the NOP is as wide as the statement, and in the column of those beside it. (Another
// constant leaves one too; what it was, nothing shows. A comment may say that it was there.)
#include <algorithm>
#include <map>
#include <set>

#include "ast/nodes.h"
#include "polish/ends.h"
#include "polish/keywords.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

class Passes {
 public:
  // `says_lost`: of constants that no tree has, as comments.
  Passes(ast::Tree& tree, const Starts& starts, bool says_lost)
      : tree_(tree), starts_(starts), says_lost_(says_lost) {
    if (says_lost) find_lines();
    for (const uint32_t unit : starts.places().nops()) {
      const object::SourcePlace here = starts.places().at(unit);
      const int32_t wide = here.columns.width();
      const bool is_pass = wide == width_of("pass") || wide == width_of("...");
      if (says_lost ? !is_constant(here) : !is_pass) continue;
      std::set<uint32_t>& column = left_[here.columns.begin];
      column.insert(column.end(), unit);
    }
  }

  void run(Statements& body) {
    if (left_.empty()) return;
    // A body before its `else`: the NOPs of both are after the header.
    for_each_suite(tree_, body, false, [&](Statements& items, const List& list) {
      items = with_passes(list.place, items);
    });
  }

 private:
  // Finds the lines of everything but NOPs.
  void find_lines() {
    const object::Places& places = starts_.places();
    for (uint32_t unit = 0; unit < places.size(); ++unit) {
      if (!places.is_nop(unit)) lines_.insert(places.at(unit).line);
    }
  }

  // Returns true for the place of a statement that leaves nothing but its NOP, and that is no jump
  // and no `pass`: there is no code on any of its lines, as there is on those of a `try`.
  bool is_constant(const object::SourcePlace& here) const {
    if (here.columns.begin == object::kNoColumn || here.end_line < here.line) return false;
    for (const char* word : {"...", "pass", "break", "return", "continue", "return None"}) {
      if (here.columns.width() == width_of(word)) return false;
    }
    const auto code = lines_.lower_bound(here.line);
    return code == lines_.end() || *code > here.end_line;
  }

  // Returns true if the NOP before a statement may be its own.
  bool may_have_nop(NodeId statement) const {
    if (!tree_.is(statement, Kind::Return)) return is_bare_jump(tree_, statement);
    const NodeId value = tree_.as<ast::Return>(statement).value;
    return !value.valid() || tree_.is(value, Kind::Constant);
  }

  Statements with_passes(Place place, const Statements& items) {
    Statements made;
    uint32_t before = start_of(place);
    for (const NodeId item : items) {
      const uint32_t first = starts_.first_unit({&item, 1});
      const bool is_known = first != Starts::kNoUnit && before != Starts::kNoUnit;
      if (is_known && (place.owner.valid() || !stays_first(item, items[0]))) {
        add_passes(before, first, item, made);
      }
      if (first != Starts::kNoUnit) before = first;
      made.push_back(item);
    }
    return made;
  }

  // Returns true for a docstring and for `from __future__`, before which nothing may stand.
  bool stays_first(NodeId item, NodeId first) const {
    return ast::is_future_import(tree_, item) ||
           (item == first && docstring_of(tree_, {&item, 1}) != nullptr);
  }

  // Returns a code unit before those of a list, and after all that is before its owner; kNoUnit: it
  // is not known.
  uint32_t start_of(Place place) const {
    if (!place.owner.valid()) return 0;
    NodeId header;
    switch (tree_.kind(place.owner)) {
      case Kind::If:
        header = tree_.as<ast::If>(place.owner).test;
        break;
      case Kind::While:
        header = tree_.as<ast::While>(place.owner).test;
        break;
      case Kind::For:
        header = tree_.as<ast::For>(place.owner).iter;
        break;
      case Kind::With:
        header = tree_.items(tree_.as<ast::With>(place.owner).items)[0];
        break;
      case Kind::ExceptHandler:
        header = tree_.as<ast::ExceptHandler>(place.owner).type;
        break;
      default:
        break;
    }
    return header.valid() ? starts_.first_unit({&header, 1}) : Starts::kNoUnit;
  }

  // Appends a statement for each NOP between two units that is in the column of the next statement
  // and falls through to it.
  void add_passes(uint32_t before, uint32_t first, NodeId next, Statements& made) {
    // What leaves between a NOP and the statement keeps control from getting there.
    if (says_lost_ && may_have_nop(next)) return;
    const uint32_t last = starts_.places().last_leaving(first);
    const uint32_t after = last == Starts::kNoUnit ? before : std::max(before, last);
    const int32_t start = starts_.of(next);
    const auto column = left_.find(start);
    if (column == left_.end()) return;
    auto& units = column->second;
    auto at = units.upper_bound(after);
    while (at != units.end() && *at < first) {
      made.push_back(statement_at(*at));
      at = units.erase(at);
    }
    if (units.empty()) left_.erase(column);
  }

  NodeId statement_at(uint32_t unit) {
    const object::SourcePlace here = starts_.places().at(unit);
    if (says_lost_) {
      const Symbol text = tree_.intern("a statement without effect was here");
      return tree_.add(ast::Comment{text}, {here.line, unit * 2});
    }
    const ast::Where where{-1, unit * 2};
    if (here.columns.width() == width_of("pass")) return tree_.add(ast::Pass{}, where);
    return tree_.add(ast::Expr{constant_node(tree_, object::ConstKind::Ellipsis)}, where);
  }

  ast::Tree& tree_;
  const Starts& starts_;
  const bool says_lost_;
  std::map<int32_t, std::set<uint32_t>> left_;  // by column: NOPs whose statement is not known
  std::set<int32_t> lines_;                     // with `says_lost`: those that have code
};

}  // namespace

void write_passes(ast::Tree& tree, Statements& body, const Starts& starts) {
  if (starts.known()) Passes(tree, starts, false).run(body);
}

void write_lost_constants(ast::Tree& tree, Statements& body, const Starts& starts) {
  if (starts.known()) Passes(tree, starts, true).run(body);
}

}  // namespace pellucid::polish
