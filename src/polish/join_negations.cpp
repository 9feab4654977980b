// SPDX-License-Identifier: Apache-2.0
// `not a or not b` compiles to the jumps of `not (a and b)`. From 3.11 on, the columns between the
// operands show which word was written there. Where nothing shows it, the form with fewer `not` is
// taken.
#include <algorithm>
#include <span>
#include <unordered_set>
#include <vector>

#include "polish/keywords.h"
#include "polish/negations.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

// An expression that is only tested for its truth, and the column of the body that depends on it.
struct Test {
  NodeId node;
  int32_t inside = Starts::kUnknown;
};

std::vector<Test> tests(const ast::Tree& tree, const std::vector<NodeId>& nodes,
                        const Starts& starts) {
  std::vector<Test> found;
  for (const NodeId node : nodes) {
    switch (tree.kind(node)) {
      case Kind::If:
        found.push_back({tree.as<ast::If>(node).test, starts.of_list(tree.as<ast::If>(node).body)});
        break;
      case Kind::While:
        found.push_back({tree.as<ast::While>(node).test});
        break;
      case Kind::Assert:
        found.push_back({tree.as<ast::Assert>(node).test});
        break;
      case Kind::IfExp:
        found.push_back({tree.as<ast::IfExp>(node).test});
        break;
      case Kind::comprehension:
        for (const NodeId test : tree.items(tree.as<ast::comprehension>(node).ifs)) {
          found.push_back({test});
        }
        break;
      default:
        break;
    }
  }
  return found;
}

// What the columns between two operands show: the word of the expression, that of its opposite, the
// word of the expression with a bracket.
enum class Word : uint8_t { Unknown, Own, Opposite, OwnAndBracket };

// The words between the operands of one operation.
struct Words {
  std::vector<Word> between;
  size_t own = 0;
  size_t opposite = 0;
  size_t brackets = 0;
};

class WordReader {
 public:
  WordReader(const ast::Tree& tree, Test test, const Starts& starts)
      : tree_(tree),
        starts_(starts),
        is_or_(tree.as<ast::BoolOp>(test.node).op == kOr),
        inside_(test.inside) {}

  Words read(std::span<const NodeId> values) {
    Words words;
    first_ = values[0];
    for (size_t i = 1; i < values.size() && starts_.known(); ++i) {
      const Word word = between(values[i - 1], values[i]);
      words.between.push_back(word);
      words.own += word == Word::Own ? 1 : 0;
      words.opposite += word == Word::Opposite ? 1 : 0;
      words.brackets += word == Word::OwnAndBracket ? 1 : 0;
    }
    return words;
  }

 private:
  Word between(NodeId before, NodeId after) {
    const int32_t gap = starts_.gap(before, after);
    if (gap != Starts::kUnknown) {
      const NodeId group = is_not(tree_, after) ? tree_.as<ast::UnaryOp>(after).operand : after;
      return tree_.is(group, Kind::BoolOp) ? word_before_group(gap, before, group)
                                           : word_of(gap, nots_of(after), after);
    }
    const Starts::At left = starts_.of_operand(before), right = starts_.of_operand(after);
    if (left.column == Starts::kUnknown || right.column == Starts::kUnknown) return Word::Unknown;
    return left.line < right.line ? between_lines(right.column, after) : Word::Unknown;
  }

  // A word at the start of a line, as black puts it, moves its operand to the right of the first
  // one in the brackets, which starts a line itself, in a multiple of the usual indentation. An
  // operand that starts in such a column is the first one in other brackets.
  Word between_lines(int32_t column, NodeId after) {
    const int32_t base = starts_.of_operand(first_).column;
    const Nots here = nots_of(after), there = nots_of(first_);
    const Nots nots{here.own - there.own, here.opposite - there.opposite};
    const Word word = word_of(column - base + width_of(" "), nots, after);
    // One step to the right is also where an operand stands whose word ends the line before it. But
    // there is no room for the `not` of our reading before the first one if that is in line with
    // the statements of the body.
    const bool has_no_not = here.opposite + there.opposite == 2;  // nobody writes both
    const bool is_aside = (column - base) % kStep != 0 && base % kStep == 0;
    const bool has_no_room = there.own > 0 && (base == inside_ || base == inside_ + 1);
    const bool is_clear = !has_no_not && (is_aside || has_no_room);
    if (word == Word::Opposite && !is_clear) return Word::Unknown;
    if (word != Word::Unknown || column % kStep != 0 || column == base) return word;
    first_ = after;
    return Word::OwnAndBracket;
  }

  // The number of `not`s before an operand in our reading, and in the opposite one.
  struct Nots {
    int32_t own = 0;
    int32_t opposite = 0;
  };
  Nots nots_of(NodeId operand) const {
    const int32_t own = is_not(tree_, operand) ? 1 : 0;
    return {own, opposite_operator(tree_, operand) ? 0 : 1 - own};
  }

  // After `and` a group of operands needs a bracket; after `or` it may have one. A `not` may be
  // before the bracket or in it. The comparison before may end in one of its own: `(a < b) or (`.
  Word word_before_group(int32_t gap, NodeId before, NodeId group) const {
    const NodeId first = tree_.items(tree_.as<ast::BoolOp>(group).values)[0];
    if (is_not(tree_, first)) gap += width_of("not ");
    for (int32_t nots = 0; nots <= 2 * width_of("not "); nots += width_of("not ")) {
      const int32_t word = gap - nots;
      if (word == width_of(" and (")) {
        if (is_or_ && tree_.is(before, Kind::Compare)) return Word::Unknown;
        return is_or_ ? Word::Opposite : Word::Own;
      }
      const bool is_or = word == width_of(" or (") || word == width_of(" or ");
      if (is_or) return is_or_ ? Word::Own : Word::Opposite;
    }
    return Word::Unknown;
  }

  // `nots`: those in the gap.
  Word word_of(int32_t gap, Nots nots, NodeId after) const {
    const int32_t own = width_of(is_or_ ? " or " : " and ") + nots.own * width_of("not ");
    const int32_t other = width_of(is_or_ ? " and " : " or ") + nots.opposite * width_of("not ");
    if (gap == own) return Word::Own;
    // The text may have the opposite comparison, without the `not` that was counted.
    const bool is_comparison = opposite_operator(tree_, after).has_value();
    if (gap == other || (is_comparison && gap + width_of("not ") == other)) return Word::Opposite;
    return gap == own + width_of("(") ? Word::OwnAndBracket : Word::Unknown;
  }

  static constexpr int32_t kStep = 4;  // the usual indentation

  const ast::Tree& tree_;
  const Starts& starts_;
  const bool is_or_;
  const int32_t inside_;
  NodeId first_;  // of the brackets
};

Words words_between(const ast::Tree& tree, Test test, const Starts& starts) {
  const auto values = tree.items(tree.as<ast::BoolOp>(test.node).values);
  return WordReader(tree, test, starts).read(values);
}

// Returns true for three or more operands that all need a `not`: nobody writes that many.
bool is_all_nots(const ast::Tree& tree, NodeId node) {
  constexpr size_t kMany = 3;
  const auto values = tree.items(tree.as<ast::BoolOp>(node).values);
  return values.size() >= kMany && std::all_of(values.begin(), values.end(),
                                               [&](NodeId value) { return is_not(tree, value); });
}

NodeId negation(ast::Tree& tree, NodeId operand, ast::Where where) {
  return tree.add(ast::UnaryOp{static_cast<uint32_t>(ast::UnaryOperator::Not), operand}, where);
}

// Before: `not a and not b and c`, with `or` between a and b. After: `not (a or b) and c`.
void negate_runs(ast::Tree& tree, NodeId node, const Words& words) {
  auto both = tree.as<ast::BoolOp>(node);
  const auto list = tree.items(both.values);
  const std::vector<NodeId> values(list.begin(), list.end());
  std::vector<NodeId> made;
  for (size_t i = 0; i < values.size();) {
    size_t end = i + 1;
    while (end < values.size() && words.between[end - 1] == Word::Opposite) ++end;
    if (end == i + 1) {
      made.push_back(values[i]);
    } else {
      const std::span<const NodeId> run = std::span(values).subspan(i, end - i);
      const auto where = tree.where(run[0]);
      const NodeId joined = tree.add(ast::BoolOp{both.op, tree.list(run), 0}, where);
      made.push_back(negation(tree, opposite(tree, joined), where));
    }
    i = end;
  }
  both.values = tree.list(made);
  tree.set(node, both);
}

// Where nothing shows a word: returns true for `not a is b or c`, of which the compiler itself
// would have made `a is not b`, and for `not a == b or c` and `not a and not b and not c`, which
// nobody writes. The others keep each `not`.
bool is_likely_negated(const ast::Tree& tree, NodeId node) {
  constexpr size_t kMany = 3;
  const auto both = tree.as<ast::BoolOp>(node);
  const bool is_or = both.op == kOr;
  size_t nots = 0, comparisons = 0, folded = 0;
  const auto values = tree.items(both.values);
  const auto is_folded = [&](NodeId value) {
    return is_not(tree, value) &&
           opposite_operator(tree, tree.as<ast::UnaryOp>(value).operand).has_value();
  };
  for (const NodeId value : values) {
    // So it was no operand of an operation that was negated.
    if (opposite_operator(tree, value)) return false;
    folded += is_folded(value) ? 1 : 0;
    if (!is_not(tree, value)) continue;
    ++nots;
    if (tree.is(tree.as<ast::UnaryOp>(value).operand, Kind::Compare)) ++comparisons;
  }
  if (folded > 0) return true;
  if (nots < values.size()) return false;
  return comparisons > 0 || (!is_or && nots >= kMany);
}

// Before: `not not (a and b)`, `not (not a or b)`, `not (a in b or c is d)`. After: `a and b`,
// `a and not b`, `a not in b and c is not d`. Nobody writes a `not` that makes more of them
// necessary or that none is without, and only the truth is asked for.
// `is_folded`: the compiler itself makes `a not in b` of `not a in b`, so none was written there.
void drop_negation(ast::Tree& tree, NodeId node, NodeId operand, bool is_folded) {
  if (is_not(tree, operand)) {
    const NodeId value = tree.as<ast::UnaryOp>(operand).operand;
    if (tree.is(value, Kind::BoolOp)) tree.set(node, tree.as<ast::BoolOp>(value));
    return;
  }
  if (!tree.is(operand, Kind::BoolOp)) return;
  const auto both = tree.as<ast::BoolOp>(operand);
  if (both.is_tested_again) return;
  size_t nots = 1, opposites = 0, comparisons = 0;
  for (const NodeId value : tree.items(both.values)) {
    if (tree.is(value, Kind::BoolOp) || tree.is(value, Kind::Constant)) return;
    if (opposite_operator(tree, value)) {
      ++comparisons;
      continue;
    }
    (is_not(tree, value) ? nots : opposites) += 1;
  }
  if (is_folded && comparisons > 0) return;
  const bool are_comparisons = comparisons == tree.items(both.values).size();
  if (!are_comparisons && (nots == 1 || nots <= opposites)) return;
  const NodeId made = opposite(tree, operand);
  if (tree.is(made, Kind::BoolOp)) tree.set(node, tree.as<ast::BoolOp>(made));
}

}  // namespace

void join_negations(ast::Tree& tree, const std::vector<NodeId>& nodes, const Starts& starts) {
  std::vector<Test> todo = tests(tree, nodes, starts);
  std::vector<NodeId> seen;
  std::unordered_set<NodeId> as_written;
  while (!todo.empty()) {
    const Test test = todo.back();
    const NodeId node = test.node;
    todo.pop_back();
    seen.push_back(node);
    if (is_not(tree, node)) todo.push_back({tree.as<ast::UnaryOp>(node).operand, test.inside});
    if (!tree.is(node, Kind::BoolOp) || tree.as<ast::BoolOp>(node).is_tested_again) continue;
    const Words words = words_between(tree, test, starts);
    const bool is_mixed = words.opposite > 0 && words.own + words.brackets > 0;
    if (is_mixed) negate_runs(tree, node, words);
    const auto values = tree.items(tree.as<ast::BoolOp>(node).values);
    for (const NodeId value : values) todo.push_back({value, test.inside});
    if (words.own > 0 || is_mixed) as_written.insert(node);
    const bool is_guess =
        starts.known() ? words.own == 0 && is_all_nots(tree, node) : is_likely_negated(tree, node);
    if ((words.opposite == 0 && !is_guess) || is_mixed) continue;
    const NodeId operand = opposite(tree, tree.copy(node));
    as_written.insert(operand);
    tree.set(node, ast::UnaryOp{static_cast<uint32_t>(ast::UnaryOperator::Not), operand});
  }
  for (const NodeId node : seen) {
    if (!is_not(tree, node)) continue;
    const NodeId operand = tree.as<ast::UnaryOp>(node).operand;
    if (!as_written.contains(operand)) drop_negation(tree, node, operand, !starts.known());
  }
}

}  // namespace pellucid::polish
