// SPDX-License-Identifier: Apache-2.0
// What follows an `if` or a `try` that never falls through may be its `else` or stand after it. Up
// to 3.10 no column tells which, but `else:` takes a line, and an `elif` follows its `if` on the
// next line. An empty line or a comment looks the same, so this is what most code has; counted over
// the standard libraries, a single statement that ends as the arm before it does is an `else` nine
// times in ten, and several statements hardly ever are. Up to 3.9, code that never runs tells more:
// the jump over an `else` stays after an arm that raises (compiler_if), and a `return None` after a
// function whose last statement is no `return` (assemble).
#include <algorithm>
#include <span>

#include "polish/ends.h"
#include "polish/extents.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

class LineLayout {
 public:
  LineLayout(ast::Tree& tree, const object::LeftCode* left) : tree_(tree), left_(left) {}

  void run(Statements& body, bool is_function) {
    const std::vector<Block> blocks = blocks_in(body, is_function);
    // Inner lists first, and each from its end, so that a chain of tests is one statement to the
    // test before it.
    for (size_t k = blocks.size(); k-- > 0;) {
      const Place place = blocks[k].list.place;
      Statements items = place.owner.valid() ? items_at(tree_, place) : body;
      lay_out(items, blocks[k]);
      store_at(tree_, body, place, items);
    }
  }

 private:
  struct Block {
    List list;
    bool in_loop = false;
    bool is_body = false;  // of the function
  };

  void lay_out(Statements& items, const Block& block) {
    write_elses(items, block);
    const bool may_pass = left_ != nullptr && block.list.end == End::Continue;
    if (may_pass && !items.empty()) write_pass(items.back());
  }

  // Gives each statement of a list its `else`.
  void write_elses(Statements& items, const Block& block) {
    Ending ending = block.is_body ? ending_of_function(items) : Ending::Unknown;
    for (size_t i = items.size(); i-- > 1;) {
      if (!takes_else(tree_, items[i - 1])) continue;
      const auto rest = std::span<const NodeId>(items).subspan(i);
      const size_t count = ending == Ending::Arm ? rest.size() : count_in_else(items, i, block);
      if (count == 0 || (ending == Ending::Statement && count == rest.size())) continue;
      if (ending == Ending::Arm) ending = Ending::Unknown;
      const End end = count == rest.size() ? block.list.end : End::Other;
      put_in_else(items[i - 1], tree_.list(rest.first(count)), end);
      const auto at = items.begin() + static_cast<ptrdiff_t>(i);
      items.erase(at, at + static_cast<ptrdiff_t>(count));
    }
  }

  // Returns how many of items[i...] are in the `else` of items[i - 1].
  size_t count_in_else(const Statements& items, size_t i, const Block& block) {
    const auto rest = std::span<const NodeId>(items).subspan(i);
    if (left_ != nullptr) {
      if (returns_elsewhere(items[i - 1], rest[0], block)) return rest.size();
      const object::LeftJump* jump = left_after(items[i - 1], rest[0]);
      if (jump != nullptr) return count_before(rest, *jump);
      if (tree_.is(items[i - 1], Kind::If) && would_leave_jump(items[i - 1])) return 0;
    }
    return was_else(items[i - 1], rest, block) ? rest.size() : 0;
  }

  // What the `return` at the end of a function is, if the code tells it: in no arm, or in an arm of
  // the last statement. After that, the compiler adds a `return None` that never runs.
  enum class Ending : uint8_t { Unknown, Statement, Arm };
  Ending ending_of_function(const Statements& items) const {
    if (left_ == nullptr || items.empty() || !tree_.is(items.back(), Kind::Return)) {
      return Ending::Unknown;
    }
    if (left_->has_end) return Ending::Arm;
    const NodeId value = tree_.as<ast::Return>(items.back()).value;
    // Otherwise the compiler's own `return`, which runs, is after it.
    const uint32_t at =
        value.valid() ? last_offset(tree_, value) + 2 : tree_.where(items.back()).offset;
    return at == left_->last ? Ending::Statement : Ending::Unknown;
  }

  // Returns the last statement of the arm before an `else`, in the order of the text.
  NodeId last_of_arm(NodeId owner) const {
    auto items = tree_.items(arm_before_else(owner));
    while (!items.empty() && tree_.is(items.back(), Kind::If)) {
      const auto branch = tree_.as<ast::If>(items.back());
      items = tree_.items(tree_.items(branch.orelse).empty() ? branch.body : branch.orelse);
    }
    return items.empty() ? NodeId() : items.back();
  }

  // Returns true for an arm that ends in a `raise`, or in a jump statement with its own line:
  // before an `else`, the jump over that stays.
  bool would_leave_jump(NodeId owner) const {
    if (tree_.is(last_of_arm(owner), Kind::Raise)) return true;
    const ListId arm = arm_before_else(owner);
    const Kind kind = tree_.kind(tree_.items(arm).back());
    return (kind == Kind::Break || kind == Kind::Continue) && !is_before_its_line(arm, owner);
  }

  // Returns the jump over the `else` that was left after an arm that raises or jumps; after a
  // clause it is always there. Null: there is none.
  const object::LeftJump* left_after(NodeId owner, NodeId next) const {
    const NodeId last = last_of_arm(owner);
    const uint32_t end = end_of_arm(owner, last), start = first_offset(tree_, next);
    const bool leaves =
        last.valid() && (tree_.is(last, Kind::Raise) || tree_.is(last, Kind::Break) ||
                         tree_.is(last, Kind::Continue) || tree_.is(last, Kind::Return));
    if (!leaves || start == ast::kNowhere) return nullptr;
    const auto& jumps = left_->jumps;
    const auto found =
        std::upper_bound(jumps.begin(), jumps.end(), end,
                         [](uint32_t at, const auto& jump) { return at < jump.begin; });
    if (end >= start || found == jumps.end() || found->begin >= start) return nullptr;
    return &*found;
  }

  // Returns the offset of the last statement of an arm, or of what is before a jump alone in it.
  uint32_t end_of_arm(NodeId owner, NodeId last) const {
    const uint32_t own = last.valid() ? tree_.where(last).offset : ast::kNowhere;
    if (own != ast::kNowhere || !tree_.is(owner, Kind::If)) return own;
    const auto branch = tree_.as<ast::If>(owner);
    return tree_.items(branch.body).size() == 1 ? last_offset(tree_, branch.test) : own;
  }

  // Returns how many statements are before the target of a jump; all of them if it goes back.
  size_t count_before(std::span<const NodeId> rest, const object::LeftJump& jump) const {
    if (jump.target < jump.end) return rest.size();
    size_t count = 0;
    while (count < rest.size()) {
      const uint32_t at = first_offset(tree_, rest[count]);
      if (at != ast::kNowhere && at >= jump.target) break;
      ++count;
    }
    return count;
  }

  // Returns true if the `return` at the end of an arm is the one that the compiler adds to the end
  // of the function, after what is read as the next statement.
  bool returns_elsewhere(NodeId owner, NodeId next, const Block& block) const {
    if (block.list.end != End::Return) return false;
    const NodeId last = tree_.items(arm_before_else(owner)).back();
    return is_after(last, first_offset(tree_, next));
  }

  bool is_after(NodeId last, uint32_t start) const {
    if (!is_bare_return(tree_, last)) return false;
    const uint32_t at = tree_.where(last).offset;
    return at != ast::kNowhere && start != ast::kNowhere && at > start;
  }

  // `if a: continue elif b: c`, without the jump that stays after a `continue`  ->  `if a: pass`
  void write_pass(NodeId statement) {
    if (!tree_.is(statement, Kind::If)) return;
    const auto branch = tree_.as<ast::If>(statement);
    const auto body = tree_.items(branch.body), rest = tree_.items(branch.orelse);
    if (body.size() != 1 || rest.empty() || !tree_.is(body[0], Kind::Continue)) return;
    const bool is_known = first_offset(tree_, rest[0]) != ast::kNowhere;
    if (is_known && left_after(statement, rest[0]) == nullptr) tree_.set(body[0], ast::Pass{});
  }

  // Returns all lists of statements, outer ones before inner ones.
  std::vector<Block> blocks_in(const Statements& body, bool is_function) const {
    std::vector<Block> found{
        {{Place{}, is_function ? End::Return : End::Other}, false, is_function}};
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
    if (tree_.is(owner, Kind::If)) return last_line(tree_, tree_.as<ast::If>(owner).test);
    const NodeId handler = tree_.items(tree_.as<ast::Try>(owner).handlers).back();
    const NodeId type = tree_.as<ast::ExceptHandler>(handler).type;
    return type.valid() ? last_line(tree_, type) : tree_.where(handler).line;
  }

  // `end`: where control goes after the `else`.
  void put_in_else(NodeId owner, ListId rest, End end) {
    drop_jumps(owner, first_offset(tree_, tree_.items(rest)[0]), end);
    set_else(tree_, owner, rest);
  }

  // Drops the jumps that were read where control falls through to after the `else`: a `return`
  // that is elsewhere, and a `continue` alone in a clause.
  void drop_jumps(NodeId owner, uint32_t start, End end) {
    const bool is_try = tree_.is(owner, Kind::Try);
    Statements arms;
    if (is_try) {
      const auto handlers = tree_.items(tree_.as<ast::Try>(owner).handlers);
      arms.assign(handlers.begin(), handlers.end());
    } else {
      arms = {owner};
    }
    for (const NodeId arm : arms) {
      const ListId list =
          is_try ? tree_.as<ast::ExceptHandler>(arm).body : tree_.as<ast::If>(arm).body;
      Statements items(tree_.items(list).begin(), tree_.items(list).end());
      const bool falls = end == End::Return && left_ != nullptr && is_after(items.back(), start);
      const bool passes = end == End::Continue && left_ == nullptr && is_try && items.size() == 1 &&
                          tree_.is(items[0], Kind::Continue);
      if (!falls && !passes) continue;
      items.pop_back();
      if (items.empty()) items.push_back(tree_.add(ast::Pass{}));
      if (is_try) {
        auto clause = tree_.as<ast::ExceptHandler>(arm);
        clause.body = tree_.list(items);
        tree_.set(arm, clause);
      } else {
        auto branch = tree_.as<ast::If>(arm);
        branch.body = tree_.list(items);
        tree_.set(arm, branch);
      }
    }
  }

  // Returns the number of statements, without the `return` at the end of a function.
  size_t count_written(std::span<const NodeId> rest, const Block& block) const {
    const bool returns = block.list.end == End::Return && rest.size() > 1 &&
                         is_bare_return(tree_, rest.back()) &&
                         tree_.where(rest.back()).line <= last_line(tree_, rest[rest.size() - 2]);
    return returns ? rest.size() - 1 : rest.size();
  }

  bool was_else(NodeId owner, std::span<const NodeId> rest, const Block& block) {
    const ListId arm = arm_before_else(owner);
    const NodeId next = rest[0];
    const int32_t start = first_line(tree_, next);
    int32_t end = std::max(last_line(tree_, tree_.items(arm).back()), line_before_last(arm, owner));
    if (end == kUnknownLine || start == kUnknownLine || start <= end) return false;
    if (is_before_its_line(arm, owner)) {
      // The `return` at the end of the function, which was copied (3.10), is no statement.
      const bool ends_function =
          block.list.end == End::Return && tree_.is(tree_.items(arm).back(), Kind::Return);
      if (ends_function && tree_.items(arm).size() > 1) return true;
      ++end;
    }
    const bool is_try = tree_.is(owner, Kind::Try);
    // Where exits are not copied, a `return` in a clause was written.
    const bool copies = is_try && left_ == nullptr;
    if ((copies ? count_written(rest, block) : rest.size()) != 1) return false;
    if (start > end + 1) {
      return is_try || is_likely_else(arm, next, start == end + 2 && !block.in_loop);
    }
    return tree_.is(owner, Kind::If) && tree_.is(next, Kind::If) &&
           is_likely_elif(arm, next, block.in_loop);
  }

  int32_t line_before_last(ListId arm, NodeId owner) const {
    const auto items = tree_.items(arm);
    return items.size() > 1 ? last_line(tree_, items[items.size() - 2]) : head_of_arm(owner);
  }

  // Returns true for a jump at the end of an arm that has the line of what comes before it, as one
  // out of a `with` or a clause may.
  bool is_before_its_line(ListId arm, NodeId owner) const {
    const NodeId last = tree_.items(arm).back();
    const bool is_bare = is_bare_jump(tree_, last) && !tree_.is(last, Kind::Pass);
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

  ast::Tree& tree_;
  const object::LeftCode* left_;  // null: the compiler leaves no code that never runs
  NodeId leaving_chain_;          // the last one of which all arms were found to leave
};

}  // namespace

void lay_out_by_lines(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts) {
  if (!starts.known()) LineLayout(tree, starts.left()).run(body, is_function);
}

}  // namespace pellucid::polish
