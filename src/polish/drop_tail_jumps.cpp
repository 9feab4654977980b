// SPDX-License-Identifier: Apache-2.0
// Drops jumps to where control goes anyway. A jump is kept if it is the only statement of an arm.
// In `try`, `with` and `match` all jumps are kept unless the compiler copies exits
// (Compiler::copies_exits), since there a jump compiles to other code than falling off the end. Up
// to 3.9 the `return` that the compiler adds is the last instruction, and every other one was
// written.
#include <algorithm>
#include <optional>
#include <span>

#include "ast/nodes.h"
#include "polish/ends.h"
#include "polish/keywords.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;
using ast::Suite;

namespace {

bool is_jump(const ast::Tree& tree, NodeId statement, Kind jump) {
  return jump == Kind::Return ? is_bare_return(tree, statement) : tree.is(statement, jump);
}

// Returns true if the `None` of a `return` after a statement, or after the test of an `if`, has
// left its place before the code that leaves a loop, a clause, a `with` or a `finally`: a NOP, or
// the first instruction of that code (compiler_return).
bool leaves_none(const Starts& starts, NodeId before, bool is_test) {
  if (!before.valid()) return false;
  const auto next = is_test ? starts.after_test(before) : starts.after(before);
  if (next.columns.width() != width_of("None")) return false;
  const int32_t column = starts.of(before);
  const int32_t start = next.columns.begin - width_of("return ");
  return is_test ? start > column : start == column;
}

class TailJumps {
 public:
  TailJumps(ast::Tree& tree, const Starts& starts, Kind jump, bool enters_all)
      : tree_(tree),
        starts_(starts),
        jump_(jump),
        left_(jump == Kind::Return ? starts.left() : nullptr),
        enters_all_(enters_all) {}

  // Drops jumps from the end of a list and of the lists in its last statement. `owner`: the
  // statement that holds the list, if any.
  void drop(Statements& items, NodeId owner) {
    clip(items, owner);
    if (!items.empty()) todo_.push_back(items.back());
    while (!todo_.empty()) {
      const NodeId statement = todo_.back();
      todo_.pop_back();
      enter(statement);
    }
  }

  // Returns true if a jump is the only statement of a clause.
  bool has_bare() const { return !bare_.empty(); }

  // `except E: return`  ->  `except E: pass`
  void pass_instead() {
    for (const NodeId jump : bare_) tree_.set(jump, ast::Pass{});
  }

 private:
  using Written = Starts::Jump;

  // Drops the redundant jump at the end of a list, unless it was written.
  void clip(Statements& list, NodeId owner) {
    while (!list.empty() && is_jump(tree_, list.back(), jump_)) {
      const NodeId last = list.back();
      const NodeId before = list.size() > 1 ? list[list.size() - 2] : owner;
      const Written written = starts_.jump(last, before);
      if (written == Written::Pass) return tree_.set(last, ast::Pass{});
      if (written == Written::Ellipsis) {
        return tree_.set(last, ast::Expr{constant_node(tree_, object::ConstKind::Ellipsis)});
      }
      const bool is_there = jump_ == Kind::Continue
                                ? written == Written::Continue
                                : written == Written::Return || written == Written::ReturnNone ||
                                      (list.size() > 1 && leaves_none(starts_, before, false));
      if (is_there || list.size() == 1) return;
      list.pop_back();
    }
  }

  void enter(NodeId statement) {
    const Kind kind = tree_.kind(statement);
    if (kind == Kind::If) {
      enter(statement, Suite::Body);
      enter(statement, Suite::Orelse);
      drop_unwritten_arm(statement);
    } else if (!enters_all_) {
      if (kind == Kind::Try && left_ != nullptr) drop_added(statement);
    } else if (kind == Kind::With) {
      enter(statement, Suite::Body);
    } else if (kind == Kind::For || kind == Kind::While) {
      write_breaks(statement);
    } else if (kind == Kind::Match) {
      enter_clauses(statement, Suite::Cases);
    } else if (kind == Kind::Try) {
      const bool has_else = !tree_.items(tree_.as<ast::Try>(statement).orelse).empty();
      enter(statement, has_else ? Suite::Orelse : Suite::Body);
      enter_clauses(statement, Suite::Handlers);
    }
  }

  // Drops the `return` that the compiler adds from the ends of clauses. No clause is the last code
  // of a function: one that was written there is before the end.
  void drop_added(NodeId attempt) {
    for (const NodeId handler : items_at(tree_, place_of(tree_, attempt, Suite::Handlers))) {
      const Place place = place_of(tree_, handler, Suite::Body);
      Statements body = items_at(tree_, place);
      if (body.empty() || !is_jump(tree_, body.back(), jump_)) continue;
      if (tree_.where(body.back()).offset != left_->last) continue;
      if (body.size() == 1) {
        tree_.set(body.back(), ast::Pass{});
      } else {
        body.pop_back();
        tree_.set_slot(place.owner, place.field, tree_.list(body).value);
      }
    }
  }

  // Replaces `return` by `break`, or `break` by `return`, where that was written: both leave the
  // loop to the end of the function.
  void write_breaks(NodeId loop) {
    if (jump_ != Kind::Return) return;
    // Where no column tells, most code leaves a `for` by `break` if it does so in one place.
    const bool guesses = !starts_.known();
    if (guesses && !tree_.is(loop, Kind::For)) return;
    const Place rest = place_of(tree_, loop, Suite::Orelse);
    if (guesses && !items_at(tree_, rest).empty()) return;
    std::vector<List> lists;
    std::vector<NodeId> breaks;
    size_t returns = 0;
    add_lists(tree_, loop, End::Other, lists);
    for (size_t k = 0; k < lists.size(); ++k) {
      const Place place = lists[k].place;
      if (place.owner == loop && place.field == rest.field) continue;
      const Statements items = items_at(tree_, place);
      for (size_t i = 0; i < items.size(); ++i) {
        const Kind kind = tree_.kind(items[i]);
        const bool is_loop = kind == Kind::For || kind == Kind::While;
        if (!is_loop) add_lists(tree_, items[i], End::Other, lists);
        const NodeId before = i > 0 ? items[i - 1] : place.owner;
        if (kind == Kind::Break && is_written_as_return(place, before)) {
          tree_.set(items[i], ast::Return{});
        }
        if (!is_jump(tree_, items[i], Kind::Return)) continue;
        ++returns;
        const bool is_in_arm = place.owner != loop;
        const bool breaks_off =
            guesses ? is_in_arm : starts_.jump(items[i], before) == Written::Break;
        if (breaks_off) breaks.push_back(items[i]);
      }
    }
    if (guesses && returns != 1) return;
    for (const NodeId each : breaks) tree_.set(each, ast::Break{});
  }

  // A `return` out of a region leaves a NOP before the code that leaves the region.
  bool is_written_as_return(Place place, NodeId before) const {
    const bool is_test = before == place.owner;
    if (is_test && (!tree_.is(before, Kind::If) || suite_at(tree_, place) != Suite::Body)) {
      return false;
    }
    const int32_t start = starts_.of(before);
    if (start == Starts::kUnknown) return false;
    const auto next = is_test ? starts_.after_test(before) : starts_.after(before);
    if (next.columns.width() != width_of("return")) return false;
    return is_test ? next.columns.begin > start : next.columns.begin == start;
  }

  // Drops an `else: return` that was not written.
  void drop_unwritten_arm(NodeId statement) {
    auto branch = tree_.as<ast::If>(statement);
    const auto arm = tree_.items(branch.orelse);
    if (arm.size() != 1 || !is_jump(tree_, arm[0], jump_)) return;
    if (starts_.jump(arm[0], statement) != Written::None) return;
    branch.orelse = {};
    tree_.set(statement, branch);
  }

  void enter(NodeId owner, Suite suite) {
    const Place place = place_of(tree_, owner, suite);
    Statements list = items_at(tree_, place);
    if (list.empty()) return;
    const size_t before = list.size();
    clip(list, owner);
    if (list.size() != before) {
      tree_.set_slot(place.owner, place.field, tree_.list(list).value);
    }
    todo_.push_back(list.back());
  }

  void enter_clauses(NodeId statement, Suite suite) {
    for (const NodeId clause : items_at(tree_, place_of(tree_, statement, suite))) {
      enter(clause, Suite::Body);
      const Statements body = items_at(tree_, place_of(tree_, clause, Suite::Body));
      if (body.size() != 1 || !is_jump(tree_, body[0], jump_)) continue;
      if (starts_.jump(body[0], clause) <= Written::None) bare_.push_back(body[0]);
    }
  }

  ast::Tree& tree_;
  const Starts& starts_;
  Kind jump_;
  const object::LeftCode* left_;  // null: it does not tell which jumps were written
  bool enters_all_;
  std::vector<NodeId> todo_;
  std::vector<NodeId> bare_;  // jumps that are the only statement of a clause
};

// Returns true if any `return` of the body has a value.
bool returns_value(const ast::Tree& tree, const Statements& body, Outline& outline) {
  const auto returns = [&](std::span<const NodeId> items) {
    return std::any_of(items.begin(), items.end(), [&](NodeId item) {
      return tree.is(item, Kind::Return) && tree.as<ast::Return>(item).value.valid();
    });
  };
  const auto lists = outline.lists();
  return returns(body) || std::any_of(lists.begin(), lists.end(), [&](const Listed& each) {
           return each.kinds.has(Kind::Return) && returns(view_at(tree, each.place));
         });
}

// Returns the number of lines of a docstring after its first one; none: the body does
// not start with one.
std::optional<int32_t> lines_after_docstring(const ast::Tree& tree, const Statements& body) {
  const object::Const* text = docstring_of(tree, body);
  if (text == nullptr) return {};
  const std::string_view written = tree.text(text->text);
  return static_cast<int32_t>(std::count(written.begin(), written.end(), '\n'));
}

bool is_passive(Kind kind) {
  return kind == Kind::Pass || kind == Kind::Global || kind == Kind::Nonlocal;
}

// Returns true if the last line of a statement may be that of a `pass` or a jump, which may have no
// line that we know of.
bool ends_on_unknown_line(const ast::Tree& tree, NodeId statement) {
  constexpr ast::Kinds holders = {Kind::If, Kind::For, Kind::While, Kind::With,
                                  Kind::ExceptHandler};
  bool is_unknown = false;
  for (const NodeId node : own_nodes(tree, {statement})) {
    const Kind kind = tree.kind(node);
    if (kind == Kind::Pass || kind == Kind::Break || kind == Kind::Continue) {
      is_unknown = true;
    } else if (holders.has(kind) && view_at(tree, place_of(tree, node, Suite::Body)).empty()) {
      return true;
    } else if (tree.where(node).line > 0) {
      is_unknown = false;
    }
  }
  return is_unknown;
}

// Returns true if the `return` at the end of a function stands on a line of its own: the one that
// the compiler adds has the line of a statement before it. Without columns; those tell more.
bool is_on_own_line(const ast::Tree& tree, const Statements& body, const Starts& starts) {
  if (starts.known() || body.size() < 2 || !is_jump(tree, body.back(), Kind::Return)) return false;
  const Statements before(body.begin(), body.end() - 1);
  int32_t last = starts.first_line();
  bool says_nothing = true;
  for (const NodeId statement : before) {
    const bool is_docstring = statement == body[0] && lines_after_docstring(tree, body).has_value();
    says_nothing = says_nothing && (is_docstring || is_passive(tree.kind(statement)));
  }
  // Up to 3.9, that line may be the first one of the docstring.
  if (says_nothing) last += 1 + lines_after_docstring(tree, body).value_or(0);
  for (const NodeId node : own_nodes(tree, before)) {
    last = std::max(last, tree.where(node).line);
  }
  return tree.where(body.back()).line > last && !ends_on_unknown_line(tree, before.back());
}

// Replaces `return` by `return None` where that was written; if the columns are not known, beside
// others that return a value, as PEP 8 recommends.
void write_nones(ast::Tree& tree, const Statements& body, Outline& outline, const Starts& starts) {
  if (!tree.made().has(Kind::Return)) return;
  if (!starts.known() && !returns_value(tree, body, outline)) return;
  const auto look_at = [&](const Statements& items, NodeId owner) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (!is_jump(tree, items[i], Kind::Return)) continue;
      const NodeId before = i > 0 ? items[i - 1] : owner;
      if (starts.known() && starts.jump(items[i], before) != Starts::Jump::ReturnNone &&
          !leaves_none(starts, before, i == 0 && owner.valid() && tree.is(owner, Kind::If))) {
        continue;
      }
      tree.set(items[i], ast::Return{ast::none_node(tree, {})});
    }
  };
  look_at(body, NodeId());
  if (!tree.made().meets(kWithLists)) return;
  for (const Listed& each : outline.lists()) {
    if (each.kinds.has(Kind::Return)) look_at(items_at(tree, each.place), each.place.owner);
  }
}

}  // namespace

void drop_tail_jumps(ast::Tree& tree, Statements& body, Outline& outline, Body kind,
                     bool copies_exits, const Starts& starts) {
  const bool may_loop = tree.made().meets({Kind::For, Kind::While});
  for (const Listed& each : may_loop ? outline.lists() : std::span<const Listed>()) {
    const Place place = each.place;
    const Kind owner = tree.kind(place.owner);
    const bool is_loop = owner == Kind::For || owner == Kind::While;
    if (!is_loop || suite_at(tree, place) != Suite::Body) continue;
    Statements items = items_at(tree, place);
    TailJumps(tree, starts, Kind::Continue, false).drop(items, place.owner);
    store_at(tree, body, place, items);
  }
  const bool is_written = kind == Body::Function && is_on_own_line(tree, body, starts);
  if (is_written && body.size() == 2 && lines_after_docstring(tree, body)) {
    // After a docstring alone, `pass` is the usual one.
    tree.set(body.back(), ast::Pass{});
  } else if (kind != Body::Block && !is_written) {
    TailJumps returns(tree, starts, Kind::Return, copies_exits);
    returns.drop(body, NodeId());
    if (returns.has_bare() && !returns_value(tree, body, outline)) returns.pass_instead();
  }
  if (kind == Body::Function && body.size() == 1 && is_jump(tree, body[0], Kind::Return) &&
      starts.jump(body[0], NodeId()) <= Starts::Jump::None) {
    tree.set(body[0], ast::Pass{});
  }
  if (kind == Body::Function) write_nones(tree, body, outline, starts);
}

}  // namespace pellucid::polish
