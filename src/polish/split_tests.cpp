// SPDX-License-Identifier: Apache-2.0
// Several tests that lead to one place are read as one: `if a: continue` and `if b: continue` as
// `if a or b: continue`, `if a: assert b` as `assert not a or b`, `while a: if b: break` as
// `while a and not b:`, two `return` after a test as one of a conditional expression. From 3.11 on,
// the columns and lines of the tests show which of these was written.
#include "ast/nodes.h"
#include "polish/blocks.h"
#include "polish/keywords.h"
#include "polish/negations.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

// A jump has a line of its own; an operand on the very next line may continue the test.
constexpr int32_t kLinesBetween = 2;

class TestSplits {
 public:
  TestSplits(ast::Tree& tree, const Starts& starts) : tree_(tree), starts_(starts) {}

  void rewrite(Statements& items, End end, int32_t column) {
    Statements made;
    for (const NodeId item : items) {
      if (tree_.is(item, Kind::If) && column != Starts::kUnknown) {
        const End here = item == items.back() ? end : End::Other;
        if (split_or(item, column, made)) continue;
        write_elifs(item, here, column);
        write_first_arm(item, here, column);
        if (here != End::Other && split_and(item, here, column, made)) continue;
      } else if (tree_.is(item, Kind::While)) {
        split_loop(item, column);
      }
      made.push_back(item);
    }
    items = std::move(made);
  }

  // Looks at an `assert` in a list that starts in `column`.
  void split_assert(NodeId statement, int32_t column) {
    const auto assertion = tree_.as<ast::Assert>(statement);
    const Statements values = operands_of(tree_, assertion.test, kOr);
    if (!values.empty()) {
      split_assert(statement, values);
    } else if (column != Starts::kUnknown && !tree_.is(assertion.test, Kind::Constant) &&
               starts_.of(statement) != column) {
      split_false(statement, column);
    }
  }

  // Before: `return b if a else c`, with a before b. After: `if a: return b` and `return c`.
  void split_returns(Statements& items) {
    if (items.empty() || !tree_.is(items.back(), Kind::Return)) return;
    const NodeId last = items.back();
    items.pop_back();
    split_return(last, items);
  }

 private:
  NodeId opposite_of(std::span<const NodeId> values, uint32_t op) {
    return opposite(tree_, joined(tree_, values, op));
  }

  // Returns true for a jump that may be written twice, and for `pass`.
  bool is_plain_jump(ListId list) const {
    const auto items = tree_.items(list);
    if (items.size() != 1) return items.empty();
    const Kind kind = tree_.kind(items[0]);
    if (kind == Kind::Return) {
      const NodeId value = tree_.as<ast::Return>(items[0]).value;
      return !value.valid() || tree_.is(value, Kind::Constant);
    }
    return kind == Kind::Continue || kind == Kind::Break || kind == Kind::Pass;
  }

  // Returns true if a test starts where that of an `if` of a list in `column` does, or its `elif`.
  bool is_of_list(NodeId test, int32_t column) const {
    const int32_t start = starts_.of_test(test);
    return start == column || start == column + kElif;
  }

  // Returns the indices of the operands that start a test of their own.
  std::vector<size_t> cuts(const Statements& values, int32_t column) const {
    std::vector<size_t> found;
    for (size_t i = 1; i < values.size(); ++i) {
      const int32_t line = starts_.line_of(values[i]), before = starts_.line_of(values[i - 1]);
      if (before < 0 || line < before + kLinesBetween) continue;
      if (is_of_list(values[i], column)) found.push_back(i);
    }
    return found;
  }

  // Before: `if a or b: continue`. After: `if a: continue` and `if b: continue`.
  bool split_or(NodeId statement, int32_t column, Statements& made) {
    auto branch = tree_.as<ast::If>(statement);
    const Statements values = operands_of(tree_, branch.test, kOr);
    if (values.empty() || !is_plain_jump(branch.body)) return false;
    if (!is_of_list(values[0], column)) return false;
    const std::vector<size_t> ends = cuts(values, column);
    if (ends.empty()) return false;
    std::vector<NodeId> tests;
    size_t first = 0;
    for (const size_t end : ends) {
      tests.push_back(joined(tree_, std::span(values).subspan(first, end - first), kOr));
      first = end;
    }
    // The last one keeps its body and its `else`.
    branch.test = joined(tree_, std::span(values).subspan(first), kOr);
    for (size_t i = 0; i < tests.size(); ++i) {
      const ListId body = ast::clone(tree_, branch.body);
      made.push_back(tree_.add(ast::If{tests[i], body, {}}, tree_.where(tests[i])));
    }
    tree_.set(statement, branch);
    made.push_back(statement);
    chain(made, tests.size(), column);
    return true;
  }

  // Makes an `elif` of each of the last `count` + 1 statements that starts where one would.
  void chain(Statements& made, size_t count, int32_t column) {
    for (; count > 0; --count) {
      const NodeId last = made.back();
      if (starts_.of_test(tree_.as<ast::If>(last).test) != column + kElif) return;
      made.pop_back();
      auto before = tree_.as<ast::If>(made.back());
      before.orelse = tree_.list({last});
      tree_.set(made.back(), before);
    }
  }

  // Before: `if not a and b: c` at the end of a loop's body. After: `if a: continue` and `if b: c`.
  bool split_and(NodeId statement, End end, int32_t column, Statements& made) {
    auto branch = tree_.as<ast::If>(statement);
    const Statements values = operands_of(tree_, branch.test, kAnd);
    if (values.empty() || !tree_.items(branch.orelse).empty()) return false;
    const std::vector<size_t> ends = cuts(values, column);
    if (ends.empty()) {
      skip_inside(statement, values, end, column);
      return false;
    }
    const size_t cut = ends.back();
    const NodeId skipped = opposite_of(std::span(values).first(cut), kAnd);
    if (starts_.of_test(skipped) != column) return false;
    branch.test = joined(tree_, std::span(values).subspan(cut), kAnd);
    tree_.set(statement, branch);
    const ListId leaves = tree_.list({jump(tree_, end, {})});
    made.push_back(tree_.add(ast::If{skipped, leaves, {}}, tree_.where(skipped)));
    made.push_back(statement);
    return true;
  }

  // Before: `if not a and not b and c: d`, with b and c where an `elif` would be. After: `if a:
  // pass elif b: pass elif c: d`.
  void write_elifs(NodeId statement, End end, int32_t column) {
    auto branch = tree_.as<ast::If>(statement);
    NodeId test = branch.test;
    if (is_not(tree_, test)) test = opposite(tree_, opposite(tree_, test));
    const Statements values = operands_of(tree_, test, kAnd);
    if (values.empty() || !tree_.items(branch.orelse).empty()) return;
    std::vector<size_t> starts{0};
    const auto is_elif_test = [&](size_t i) {
      const NodeId written = is_not(tree_, values[i]) ? opposite(tree_, values[i]) : values[i];
      return starts_.of_test(values[i]) == column + kElif ||
             starts_.of_test(written) == column + kElif;
    };
    for (size_t i = 1; i < values.size(); ++i) {
      const int32_t before = starts_.line_of(values[i - 1]);
      const bool is_apart = before >= 0 && starts_.line_of(values[i]) >= before + kLinesBetween;
      if (is_apart && is_elif_test(i)) starts.push_back(i);
    }
    if (starts.size() == 1) return;
    Statements arms;
    for (size_t k = 0; k < starts.size(); ++k) {
      const size_t stop = k + 1 < starts.size() ? starts[k + 1] : values.size();
      const auto own = std::span(values).subspan(starts[k], stop - starts[k]);
      NodeId arm_test = joined(tree_, own, kAnd);
      const bool is_last = k + 1 == starts.size();
      const bool is_body = is_last && starts_.of_test(arm_test) == column + kElif;
      if (!is_body) arm_test = opposite(tree_, arm_test);
      if (k == 0 && !is_of_list(arm_test, column)) return;
      ast::If arm{arm_test, branch.body, {}};
      const NodeId made = tree_.add(arm, tree_.where(own[0]));
      if (!is_body) arm.body = tree_.list({skipping(made, end)});
      if (is_last && !is_body) arm.orelse = branch.body;
      tree_.set(made, arm);
      arms.push_back(made);
    }
    for (size_t k = arms.size() - 1; k-- > 0;) {
      auto arm = tree_.as<ast::If>(arms[k]);
      arm.orelse = tree_.list({arms[k + 1]});
      tree_.set(arms[k], arm);
    }
    tree_.set(statement, tree_.as<ast::If>(arms[0]));
  }

  // Returns the statement of an arm that does nothing, by the place that it has left after the
  // test.
  NodeId skipping(NodeId branch, End end) {
    const bool is_continue = starts_.after_test(branch).columns.width() == width_of("continue");
    return is_continue && end == End::Continue ? jump(tree_, end, {}) : tree_.add(ast::Pass{});
  }

  // Before: `if not a: if b: c`, with b where an `elif` would be. After: `if a: pass elif b: c`.
  void write_first_arm(NodeId statement, End end, int32_t column) {
    auto branch = tree_.as<ast::If>(statement);
    const auto body = tree_.items(branch.body);
    if (body.size() != 1 || !tree_.is(body[0], Kind::If) || !tree_.items(branch.orelse).empty()) {
      return;
    }
    const NodeId skipped = opposite(tree_, branch.test);
    if (starts_.of_test(tree_.as<ast::If>(body[0]).test) != column + kElif) return;
    if (!is_of_list(skipped, column)) return;
    branch.orelse = branch.body;
    branch.body = tree_.list({skipping(statement, end)});
    branch.test = skipped;
    tree_.set(statement, branch);
  }

  // Before: `if a and not b: c` at the end of a loop's body, with b where c starts. After:
  // `if a: if b: continue` and c.
  void skip_inside(NodeId statement, const Statements& values, End end, int32_t column) {
    auto branch = tree_.as<ast::If>(statement);
    const int32_t inside = starts_.of_list(branch.body);
    if (inside < column + kElif || starts_.of_test(values[0]) != column) return;
    const NodeId last = values.back();
    if (starts_.line_of(last) <= starts_.line_of(values[values.size() - 2])) return;
    const NodeId test = opposite(tree_, last);
    if (starts_.of_test(test) != inside) return;
    const ListId leaves = tree_.list({jump(tree_, end, {})});
    Statements body{tree_.add(ast::If{test, leaves, {}}, tree_.where(test))};
    const auto rest = tree_.items(branch.body);
    body.insert(body.end(), rest.begin(), rest.end());
    branch.test = joined(tree_, std::span(values).first(values.size() - 1), kAnd);
    branch.body = tree_.list(body);
    tree_.set(statement, branch);
  }

  // Before: `while a and not b: c`, with b where c starts. After: `while a: if b: break` and c.
  // `while True: if not a: break` has left the place of its `True`.
  void split_loop(NodeId statement, int32_t column) {
    auto loop = tree_.as<ast::While>(statement);
    if (tree_.is(loop.test, Kind::Constant)) return;
    Statements values = operands_of(tree_, loop.test, kAnd);
    if (values.empty()) values = {loop.test};
    const int32_t inside = starts_.of_list(loop.body);
    if (inside == Starts::kUnknown || !tree_.items(loop.orelse).empty()) return;
    Statements leaving;
    size_t end = values.size();
    while (end > 1 && starts_.line_of(values[end - 1]) > starts_.line_of(values[end - 2])) {
      const NodeId test = opposite(tree_, values[end - 1]);
      if (starts_.of_test(test) != inside) break;
      leaving.insert(leaving.begin(), leave_if(test));
      --end;
    }
    const std::span<const NodeId> rest = std::span(values).first(end);
    if (inside >= column + kElif && starts_.is_in_endless_loop(values[0], column)) {
      ast::Where where = tree_.where(values[0]);
      where.offset = starts_.first_unit({&values[0], 1}) * 2;
      leaving.insert(leaving.begin(), leave_if(opposite_of(rest, kAnd)));
      loop.test = ast::constant_node(tree_, object::ConstKind::True, where);
    } else {
      // An operand in a bracket starts one column further right than that of a `while`.
      const int32_t keyword = starts_.of_test(values[0]) - (width_of("while ") - width_of("if "));
      if (leaving.empty() || keyword < 0 || keyword % 2 != 0 || keyword + kElif > inside) return;
      loop.test = joined(tree_, rest, kAnd);
    }
    const auto body = tree_.items(loop.body);
    leaving.insert(leaving.end(), body.begin(), body.end());
    loop.body = tree_.list(leaving);
    tree_.set(statement, loop);
  }

  // Makes `if a: break`.
  NodeId leave_if(NodeId test) {
    const ListId leaves = tree_.list({tree_.add(ast::Break{})});
    return tree_.add(ast::If{test, leaves, {}}, tree_.where(test));
  }

  // Before: `assert not a or b`, with b further right than an `if` before a. After:
  // `if a: assert b`.
  void split_assert(NodeId statement, const Statements& values) {
    auto assertion = tree_.as<ast::Assert>(statement);
    size_t cut = 1;
    while (cut < values.size() && starts_.line_of(values[cut]) <= starts_.line_of(values[0])) ++cut;
    if (cut == values.size()) return;
    const int32_t inside = starts_.of_test(values[cut]) - (width_of("assert ") - width_of("if "));
    const NodeId test = opposite_of(std::span(values).first(cut), kOr);
    const int32_t outside = starts_.of_test(test);
    if (outside < 0 || inside < outside + kElif || (inside - outside) % 2 != 0) return;
    assertion.test = joined(tree_, std::span(values).subspan(cut), kOr);
    const NodeId inner = tree_.add(assertion, tree_.where(statement));
    tree_.set(statement, ast::If{test, tree_.list({inner}), {}});
  }

  // Before: `assert not a`, with a where an `if` before it would be. After: `if a: assert False`.
  void split_false(NodeId statement, int32_t column) {
    auto assertion = tree_.as<ast::Assert>(statement);
    if (!is_not(tree_, assertion.test) && !tree_.is(assertion.test, Kind::Compare)) return;
    const NodeId test = opposite(tree_, assertion.test);
    const int32_t start = starts_.of_test(test);
    if (start != column && start != column + kElif) return;
    assertion.test = ast::constant_node(tree_, object::ConstKind::False, tree_.where(statement));
    const NodeId inner = tree_.add(assertion, tree_.where(statement));
    tree_.set(statement, ast::If{test, tree_.list({inner}), {}});
  }

  // Returns true if a test was written before a value: in a conditional expression it follows it.
  bool is_before(NodeId test, NodeId value) const {
    const int32_t line = starts_.line_of(test), other = starts_.line_of(value);
    if (line < 0 || other < 0) return false;
    return line < other || (line == other && starts_.of_test(test) < starts_.of_test(value));
  }

  void split_return(NodeId statement, Statements& made) {
    for (;;) {
      const NodeId value = tree_.as<ast::Return>(statement).value;
      if (!tree_.is(value, Kind::IfExp)) break;
      const auto choice = tree_.as<ast::IfExp>(value);
      if (!is_before(choice.test, choice.body)) break;
      const NodeId inner = tree_.add(ast::Return{choice.body}, tree_.where(choice.body));
      Statements body;
      split_return(inner, body);
      const auto where = tree_.where(choice.test);
      made.push_back(tree_.add(ast::If{choice.test, tree_.list(body), {}}, where));
      tree_.set(statement, ast::Return{choice.orelse});
      tree_.set_where(statement, tree_.where(choice.orelse));
    }
    made.push_back(statement);
  }

  ast::Tree& tree_;
  const Starts& starts_;
};

}  // namespace

void split_returns(ast::Tree& tree, Statements& body, Outline& outline, const Starts& starts) {
  if (!tree.made().has(Kind::IfExp) || !starts.known()) return;
  TestSplits splits(tree, starts);
  for_each_list(tree, body, outline, {Kind::Return},
                [&](Statements& items) { splits.split_returns(items); });
}

void split_asserts(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts) {
  if (!starts.known()) return;
  TestSplits splits(tree, starts);
  for_each_block(tree, body, is_function, starts, {Kind::Assert},
                 [&](Statements& items, End, int32_t column) {
                   for (const NodeId item : items) {
                     if (tree.is(item, Kind::Assert)) splits.split_assert(item, column);
                   }
                 });
}

void split_tests(ast::Tree& tree, Statements& body, Outline& outline, bool is_function,
                 const Starts& starts) {
  constexpr ast::Kinds tested = {Kind::If, Kind::While};
  if (!starts.known() || !outline.kinds().meets(tested)) return;
  TestSplits splits(tree, starts);
  for_each_block(
      tree, body, is_function, starts, tested,
      [&](Statements& items, End end, int32_t column) { splits.rewrite(items, end, column); });
}

}  // namespace pellucid::polish
