// SPDX-License-Identifier: Apache-2.0
// Captured values stay on the stack, below the values still to be matched, until the whole pattern
// has matched; a failure jumps to as many pops as there are values to drop.
#include "verify/lower/match.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ast/lines.h"
#include "verify/lower/conditions.h"
#include "verify/lower/expressions.h"
#include "verify/lower/names.h"
#include "verify/lower/statements.h"

namespace pellucid::verify::lower {

namespace {

constexpr uint32_t kDeepestPattern = 1000;

class Matcher {
 public:
  explicit Matcher(Unit& unit) : unit_(unit), tree_(unit.tree) {}

  void statement(const ast::Match& match) {
    const auto cases = tree_.items(match.cases);
    expression(unit_, match.subject);
    const Label end = unit_.emit.label();
    const auto last = tree_.as<ast::match_case>(cases.back());
    const bool has_default = cases.size() > 1 && is_wildcard(last.pattern);
    const size_t count = cases.size() - (has_default ? 1 : 0);
    for (size_t i = 0; i < count; ++i) {
      const auto one = tree_.as<ast::match_case>(cases[i]);
      const bool keeps_subject = i + 1 < count;
      if (keeps_subject) unit_.emit.op(Op::Copy, 1);
      stores_.clear();
      fail_.clear();
      on_top_ = 0;
      may_take_all_ = one.guard.valid() || i + 1 == cases.size();
      keeps_lines_ = unit_.features.patterns_have_lines && ast::keeps_lines(tree_, one.pattern);
      line_ = -1;
      last_ = unit_.emit.lines.now();
      pattern(one.pattern);
      for (Symbol name : stores_) store_name(unit_, name);
      if (one.guard.valid()) {
        stores_.clear();
        jump_if(unit_, one.guard, false, failure(0));
      }
      unit_.emit.lines.set(last_);
      const std::vector<Label> failures = std::move(fail_);
      const Position matched = unit_.emit.here();
      if (keeps_subject) unit_.emit.op(Op::Pop);
      statements(unit_, one.body);
      unit_.emit.jump(end);
      unit_.emit.back_to(matched);
      drop(failures);
    }
    if (has_default) {
      if (last.guard.valid()) jump_if(unit_, last.guard, false, end);
      statements(unit_, last.body);
    }
    unit_.emit.place(end);
  }

 private:
  bool is_wildcard(NodeId node) const {
    return tree_.is(node, Kind::MatchAs) && !tree_.as<ast::MatchAs>(node).name.valid() &&
           !tree_.as<ast::MatchAs>(node).pattern.valid();
  }

  // Returns the label to jump to with `pops` values to drop.
  Label failure(size_t pops) {
    while (fail_.size() <= pops) fail_.push_back(unit_.emit.label());
    return fail_[pops];
  }
  Label failure() { return failure(on_top_ + stores_.size()); }
  void fail_unless_true() { unit_.emit.branch(false, failure()); }
  void fail_unless_none(bool is_none) {
    if (unit_.features.tests_none_by_opcode) return unit_.emit.branch_none(!is_none, failure());
    load_none(unit_);
    unit_.emit.op(Op::IsOp, is_none ? 0 : 1);
    fail_unless_true();
  }

  void drop(const std::vector<Label>& failures) {
    for (size_t i = failures.size(); i-- > 1;) {
      unit_.emit.place(failures[i]);
      unit_.emit.op(Op::Pop);
    }
    if (!failures.empty()) unit_.emit.place(failures[0]);
  }

  // Moves the value on top below `count - 1` others.
  void rotate(size_t count) {
    if (!unit_.features.swaps) {
      if (count > 1) unit_.emit.op(Op::Rot, static_cast<uint32_t>(count));
      return;
    }
    for (; count > 1; --count) unit_.emit.op(Op::Swap, static_cast<uint32_t>(count));
  }

  void store(Symbol name) {
    if (!name.valid()) return unit_.emit.op(Op::Pop);
    rotate(on_top_ + stores_.size() + 1);
    keep(name);
  }

  // Records a capture. CPython rejects a pattern that binds a name twice.
  void keep(Symbol name) {
    if (std::find(stores_.begin(), stores_.end(), name) != stores_.end()) {
      give_up("a pattern that binds a name twice");
    }
    stores_.push_back(name);
  }

  void pattern(NodeId node) {
    if (++unit_.nesting > kDeepestPattern) give_up("patterns are nested too deep");
    const int32_t outer = unit_.emit.lines.now();
    if (keeps_lines_) go_to(node);
    pattern_in(node);
    // The next code belongs to the enclosing pattern. 3.11 stays on the last line.
    if (unit_.features.returns_to_outer_line) unit_.emit.lines.set(outer);
    --unit_.nesting;
  }

  // Moves to the line of this pattern in the text.
  void go_to(NodeId node) {
    const int32_t line = ast::line_in_pattern(tree_, node, line_);
    if (line > line_ && line_ > 0) ++last_;
    line_ = line;
    unit_.emit.lines.set(last_);
  }

  // Matches a subpattern, which may be irrefutable.
  void part(NodeId node) {
    const bool outer = std::exchange(may_take_all_, true);
    pattern(node);
    may_take_all_ = outer;
  }

  void pattern_in(NodeId node) {
    switch (tree_.kind(node)) {
      case Kind::MatchValue:
        expression(unit_, tree_.as<ast::MatchValue>(node).value);
        unit_.emit.op(Op::Compare, static_cast<uint32_t>(bytecode::CompareOperator::Eq));
        return fail_unless_true();
      case Kind::MatchSingleton: {
        const ConstId value = tree_.as<ast::MatchSingleton>(node).value;
        if (unit_.module[value].kind == object::ConstKind::None) return fail_unless_none(true);
        load(unit_, value);
        unit_.emit.op(Op::IsOp, 0);
        return fail_unless_true();
      }
      case Kind::MatchSequence:
        return sequence(tree_.items(tree_.as<ast::MatchSequence>(node).patterns));
      case Kind::MatchMapping:
        return mapping(tree_.as<ast::MatchMapping>(node));
      case Kind::MatchClass:
        return class_pattern(tree_.as<ast::MatchClass>(node));
      case Kind::MatchStar:
        return store(tree_.as<ast::MatchStar>(node).name);
      case Kind::MatchAs: {
        const auto as = tree_.as<ast::MatchAs>(node);
        if (as.pattern.valid()) {
          ++on_top_;
          unit_.emit.op(Op::Copy, 1);
          pattern(as.pattern);
          --on_top_;
        } else if (!may_take_all_) {
          // CPython also rejects one that makes later patterns unreachable.
          give_up("a pattern that makes those after it unreachable");
        }
        return store(as.name);
      }
      case Kind::MatchOr:
        return alternatives(tree_.items(tree_.as<ast::MatchOr>(node).patterns));
      default:  // NOLINT: no patterns
        give_up("this pattern not supported");
    }
  }

  void check_length(size_t size, bytecode::CompareOperator op) {
    unit_.emit.op(Op::GetLen);
    load_number(unit_, static_cast<int64_t>(size));
    unit_.emit.op(Op::Compare, static_cast<uint32_t>(op));
    fail_unless_true();
  }

  void sequence(std::span<const NodeId> patterns) {
    const size_t size = patterns.size();
    size_t star = size;
    bool only_wildcards = true;
    bool star_is_wildcard = false;
    for (size_t i = 0; i < size; ++i) {
      if (tree_.is(patterns[i], Kind::MatchStar)) {
        star = i;
        star_is_wildcard = !tree_.as<ast::MatchStar>(patterns[i]).name.valid();
        only_wildcards = only_wildcards && star_is_wildcard;
      } else {
        only_wildcards = only_wildcards && is_wildcard(patterns[i]);
      }
    }
    ++on_top_;
    unit_.emit.op(Op::MatchSequence);
    fail_unless_true();
    if (star == size) {
      check_length(size, bytecode::CompareOperator::Eq);
    } else if (size > 1) {
      check_length(size - 1, bytecode::CompareOperator::GtE);
    }
    --on_top_;
    if (only_wildcards) return unit_.emit.op(Op::Pop);
    if (star_is_wildcard) return pick(patterns, star);
    if (star == size) {
      unit_.emit.op(Op::UnpackSequence, static_cast<uint32_t>(size));
    } else {
      unit_.emit.op(Op::UnpackEx, static_cast<uint32_t>(star),
                    static_cast<uint32_t>(size - star - 1));
    }
    each(patterns);
  }

  // Matches the values on the stack, the first one on top.
  void each(std::span<const NodeId> patterns) {
    on_top_ += patterns.size();
    for (NodeId node : patterns) {
      --on_top_;
      part(node);
    }
  }

  // Matches items of a sequence of any length, one by one.
  void pick(std::span<const NodeId> patterns, size_t star) {
    ++on_top_;
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (i == star || is_wildcard(patterns[i])) continue;
      unit_.emit.op(Op::Copy, 1);
      if (i < star) {
        load_number(unit_, static_cast<int64_t>(i));
      } else {
        unit_.emit.op(Op::GetLen);
        load_number(unit_, static_cast<int64_t>(patterns.size() - i));
        unit_.emit.op(Op::Binary, static_cast<uint32_t>(bytecode::BinaryOperator::Sub));
      }
      unit_.emit.op(Op::Subscr);
      part(patterns[i]);
    }
    --on_top_;
    unit_.emit.op(Op::Pop);
  }

  // Fails if None is on top instead of a tuple (3.11+).
  void check_found() {
    unit_.emit.op(Op::Copy, 1);
    fail_unless_none(false);
  }

  // Matches the items of the tuple on top, which is popped (3.10).
  void each_of_tuple(std::span<const NodeId> patterns, size_t first) {
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (is_wildcard(patterns[i])) continue;
      unit_.emit.op(Op::Copy, 1);
      load_number(unit_, static_cast<int64_t>(first + i));
      unit_.emit.op(Op::Subscr);
      part(patterns[i]);
    }
  }

  void mapping(const ast::MatchMapping& node) {
    const auto keys = tree_.items(node.keys);
    const auto patterns = tree_.items(node.patterns);
    const auto size = static_cast<uint32_t>(keys.size());
    ++on_top_;
    unit_.emit.op(Op::MatchMapping);
    fail_unless_true();
    if (size == 0 && !node.rest.valid()) {
      --on_top_;
      return unit_.emit.op(Op::Pop);
    }
    if (size > 0) check_length(size, bytecode::CompareOperator::GtE);
    expressions(unit_, keys);
    build_tuple(unit_, size);
    if (!unit_.features.matches_are_none_or_value) {
      unit_.emit.op(Op::MatchKeys, 0, 1);
      on_top_ += 2;
      fail_unless_true();
      each_of_tuple(patterns, 0);
      on_top_ -= 2;
      unit_.emit.op(Op::Pop);
      if (node.rest.valid()) {
        unit_.emit.op(Op::CopyDictWithoutKeys);
        store(node.rest);
      } else {
        unit_.emit.op(Op::Pop);
      }
      --on_top_;
      return unit_.emit.op(Op::Pop);
    }
    unit_.emit.op(Op::MatchKeys);
    on_top_ += 2;
    check_found();
    unit_.emit.op(Op::UnpackSequence, size);
    --on_top_;
    each(patterns);
    on_top_ -= 2;
    if (!node.rest.valid()) {
      unit_.emit.op(Op::Pop);
      return unit_.emit.op(Op::Pop);
    }
    unit_.emit.op(Op::BuildMap, 0);
    unit_.emit.op(Op::Swap, 3);
    unit_.emit.op(Op::DictUpdate, 2);
    unit_.emit.op(Op::UnpackSequence, size);
    for (uint32_t left = size; left > 0; --left) {
      unit_.emit.op(Op::Copy, 1 + left);
      unit_.emit.op(Op::Swap, 2);
      unit_.emit.op(Op::DeleteSubscr);
    }
    store(node.rest);
  }

  void class_pattern(const ast::MatchClass& node) {
    const auto positional = tree_.items(node.patterns);
    const auto named = tree_.items(node.kwd_patterns);
    std::vector<ConstId> names;
    for (NodeId name : tree_.items(node.kwd_attrs)) {
      names.push_back(unit_.constants.text(tree_.text(tree_.as<ast::Name>(name).id)));
    }
    expression(unit_, node.cls);
    load(unit_, unit_.constants.tuple(names));
    unit_.emit.op(Op::MatchClass, static_cast<uint32_t>(positional.size()),
                  unit_.features.matches_are_none_or_value ? 0 : 1);
    ++on_top_;
    if (!unit_.features.matches_are_none_or_value) {
      fail_unless_true();
      each_of_tuple(positional, 0);
      each_of_tuple(named, positional.size());
      --on_top_;
      return unit_.emit.op(Op::Pop);
    }
    check_found();
    unit_.emit.op(Op::UnpackSequence, static_cast<uint32_t>(positional.size() + named.size()));
    on_top_ += named.size() - 1;
    each(positional);
    on_top_ -= named.size();
    each(named);
  }

  void alternatives(std::span<const NodeId> patterns) {
    const Label end = unit_.emit.label();
    const std::vector<Symbol> outer_stores = std::move(stores_);
    std::vector<Label> outer_fail = std::move(fail_);
    const size_t outer_on_top = on_top_;
    const bool outer_takes_all = may_take_all_;
    std::vector<Symbol> control;
    for (size_t i = 0; i < patterns.size(); ++i) {
      stores_.clear();
      fail_.clear();
      on_top_ = 0;
      const Position before = unit_.emit.here();
      may_take_all_ = outer_takes_all && i + 1 == patterns.size();
      unit_.emit.op(Op::Copy, 1);
      pattern(patterns[i]);
      if (i == 0) {
        control = stores_;
      } else {
        arrange(control);
      }
      unit_.emit.jump(end);
      unit_.emit.back_to(before);
      drop(fail_);
    }
    stores_ = outer_stores;
    fail_ = std::move(outer_fail);
    on_top_ = outer_on_top;
    may_take_all_ = outer_takes_all;
    unit_.emit.op(Op::Pop);
    unit_.emit.jump(failure());
    unit_.emit.place(end);
    const size_t rotations = control.size() + 1 + on_top_ + stores_.size();
    for (Symbol name : control) {
      rotate(rotations);
      keep(name);
    }
    unit_.emit.op(Op::Pop);
  }

  // Reorders the captures to the order of the first alternative.
  void arrange(const std::vector<Symbol>& control) {
    if (stores_.size() != control.size()) give_up("alternatives with different captures");
    for (size_t wanted = control.size(); wanted-- > 0;) {
      const auto found = std::find(stores_.begin(), stores_.end(), control[wanted]);
      if (found == stores_.end()) give_up("alternatives with different captures");
      const auto at = static_cast<size_t>(found - stores_.begin());
      if (at == wanted) continue;
      const auto count = static_cast<ptrdiff_t>(at + 1);
      const std::vector<Symbol> rotated(stores_.begin(), stores_.begin() + count);
      stores_.erase(stores_.begin(), stores_.begin() + count);
      stores_.insert(stores_.begin() + static_cast<ptrdiff_t>(wanted - at), rotated.begin(),
                     rotated.end());
      for (size_t i = 0; i <= at; ++i) rotate(wanted + 1);
    }
  }

  Unit& unit_;
  const Tree& tree_;
  std::vector<Symbol> stores_;  // captured so far, the first one on top
  std::vector<Label> fail_;     // by the number of values to drop
  size_t on_top_ = 0;           // values to keep above the captured ones
  bool keeps_lines_ = false;    // subpatterns may be on separate lines
  int32_t line_ = -1;           // of the text, up to the current pattern
  int32_t last_ = 0;            // the same line, in the emitter's count
  bool may_take_all_ = false;   // no later pattern would become unreachable
};

}  // namespace

void match_statement(Unit& unit, const ast::Match& node) { Matcher(unit).statement(node); }

}  // namespace pellucid::verify::lower
