// SPDX-License-Identifier: Apache-2.0
// Up to 3.9, a `break` after a test is a jump between the test and what follows: the test of a
// `while` leaves the loop by itself. An `else` that is nothing but `pass` has the jump over it.
#include <algorithm>
#include <span>

#include "ast/nodes.h"
#include "polish/ends.h"
#include "polish/extents.h"
#include "polish/negations.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

class TakenJumps {
 public:
  TakenJumps(ast::Tree& tree, const object::LeftCode& left) : tree_(tree), left_(left) {}

  // `if a: b`, with a jump after b to the next instruction  ->  `if a: b else: pass`
  void write_pass(NodeId statement) {
    auto branch = tree_.as<ast::If>(statement);
    const auto body = tree_.items(branch.body);
    if (body.empty() || !tree_.items(branch.orelse).empty()) return;
    if (kWithLists.has(tree_.kind(body.back())) || never_falls_through(tree_, body)) return;
    const object::TakenJump* jump = taken_after(last_offset(tree_, body.back()));
    if (jump == nullptr || !jump->goes_on) return;
    branch.orelse = tree_.list({tree_.add(ast::Pass{})});
    tree_.set(statement, branch);
  }

  // Before: `while a and not b: c`, with a jump between b and c. After: `while a: if b: break` and
  // c; `while True: if not a or b: break` and c, if a and b are on one line.
  void write_breaks(NodeId statement) {
    auto loop = tree_.as<ast::While>(statement);
    const auto list = tree_.items(loop.body);
    const Statements body(list.begin(), list.end());
    if (tree_.is(loop.test, Kind::Constant) || !tree_.items(loop.orelse).empty()) return;
    if (body.empty() || is_chained(loop.test) || !jumps_between(loop.test, body[0])) return;
    Statements values = operands_of(tree_, loop.test, kAnd);
    if (values.empty()) values = {loop.test};
    Statements made;
    size_t end = values.size();
    do {
      size_t begin = end - 1;
      while (begin > 0 && !jumps_between(values[begin - 1], values[begin]) &&
             first_line(tree_, values[begin]) <= last_line(tree_, values[begin - 1])) {
        --begin;
      }
      const NodeId test = joined(tree_, std::span(values).subspan(begin, end - begin), kAnd);
      const ListId leaves = tree_.list({tree_.add(ast::Break{})});
      made.push_back(
          tree_.add(ast::If{opposite(tree_, test), leaves, {}}, tree_.where(values[begin])));
      end = begin;
    } while (end > 0 && jumps_between(values[end - 1], values[end]));
    std::ranges::reverse(made);
    made.insert(made.end(), body.begin(), body.end());
    loop.test = end > 0 ? joined(tree_, std::span(values).first(end), kAnd)
                        : ast::constant_node(tree_, object::ConstKind::True);
    loop.body = tree_.list(made);
    tree_.set(statement, loop);
  }

 private:
  // Returns the first jump after an offset that runs. Null: there is none, or the offset is not
  // known.
  const object::TakenJump* taken_after(uint32_t offset) const {
    if (offset == ast::kNowhere) return nullptr;
    const auto found =
        std::upper_bound(left_.taken.begin(), left_.taken.end(), offset,
                         [](uint32_t at, const auto& jump) { return at < jump.offset; });
    return found == left_.taken.end() ? nullptr : &*found;
  }

  // Returns true if there is a jump between a test and what follows it.
  bool jumps_between(NodeId test, NodeId next) const {
    const object::TakenJump* jump = taken_after(last_offset(tree_, test));
    const uint32_t start = first_offset(tree_, next);
    return jump != nullptr && start != ast::kNowhere && jump->offset < start;
  }

  // Returns true if a test has `a < b < c`, which compiles to jumps that no statement has.
  bool is_chained(NodeId test) const {
    return std::ranges::any_of(own_nodes(tree_, {test}, {Kind::Compare}), [&](NodeId node) {
      return tree_.numbers(tree_.as<ast::Compare>(node).ops).size() > 1;
    });
  }

  ast::Tree& tree_;
  const object::LeftCode& left_;
};

}  // namespace

void write_breaks(ast::Tree& tree, const Statements& body, Outline& outline, const Starts& starts) {
  if (starts.known() || starts.left() == nullptr) return;
  TakenJumps jumps(tree, *starts.left());
  for_each_statement(tree, body, outline, {Kind::If, Kind::While}, [&](NodeId statement) {
    tree.is(statement, Kind::If) ? jumps.write_pass(statement) : jumps.write_breaks(statement);
  });
}

}  // namespace pellucid::polish
