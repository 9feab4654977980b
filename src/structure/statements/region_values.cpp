// SPDX-License-Identifier: Apache-2.0
// Expressions that were control flow: conditions, comparison chains, tests of cases.
#include <algorithm>
#include <array>

#include "ast/nodes.h"
#include "base/check.h"
#include "structure/graph/not_structured.h"
#include "structure/scopes/unfoldable.h"
#include "structure/statements/hoisting.h"
#include "structure/statements/statements.h"

namespace pellucid::structure {

using ast::NodeId;

namespace {

// Returns true if the value is an `and` or `or` with a lost test (flow::kLostTest) in it.
bool holds_lost_test(const Graph& graph, ValueId id) {
  const ir::Value& value = graph[id];
  if (value.kind != ValueKind::Region) return false;
  const Parts& parts = graph.regions[value.a].parts;
  return std::any_of(parts.begin(), parts.end(), [](const Part& p) { return p.follows_lost_test; });
}

// The operands of an `and` or `or`.
struct BooleanOperands {
  FunctionContext& c;
  uint32_t op;
  std::vector<NodeId> values = {};

  // Adds the expression of the value `of`: of an operation of the same kind, its operands, unless
  // the code tests its result once more.
  void add(NodeId node, ValueId of) {
    if (c.tree.is(node, ast::Kind::BoolOp) && c.tree.as<ast::BoolOp>(node).op == op &&
        !c.tree.as<ast::BoolOp>(node).is_tested_again && !holds_lost_test(c.graph, of)) {
      const auto inner = c.tree.items(c.tree.as<ast::BoolOp>(node).values);
      values.insert(values.end(), inner.begin(), inner.end());
    } else {
      values.push_back(node);
    }
  }

  // Does the same for an operand that is tested: compilers may not fold it.
  void add_tested(NodeId node, ValueId of) {
    add(node, of);
    const flow::Folds& folds = c.graph.f.folds;
    if (folds.choices || (folds.literals && is_atom(c.tree, values.back()))) {
      values.back() = tested_operand(c.tree, values.back());
    }
  }
};

// Returns the operands with their brackets, as in `(a or b) or c`: compilers that lose tests lose
// those of operands whose jumps lead to the test of the enclosing operation. `lost`: the indices of
// the operands with a lost test.
std::vector<NodeId> in_brackets(ast::Tree& tree, const std::vector<NodeId>& values,
                                const std::vector<size_t>& lost, uint32_t op, ast::Where at) {
  std::vector<NodeId> out, inner;
  for (size_t i = 0; i < values.size(); ++i) {
    inner.push_back(values[i]);
    if (std::find(lost.begin(), lost.end(), i) != lost.end()) continue;
    const bool is_one = inner.size() == 1 || inner.size() == values.size();
    if (!is_one) inner = {tree.add(ast::BoolOp{op, tree.list(inner), 1}, at)};
    out.insert(out.end(), inner.begin(), inner.end());
    inner.clear();
  }
  return out;
}

uint32_t operator_of(const Region& region) {
  return static_cast<uint32_t>(region.kind == RegionKind::And ? ast::BoolOperator::And
                                                              : ast::BoolOperator::Or);
}

// Adds a guard to a case: `case p if a and b`.
NodeId guarded_case(FunctionContext& c, const Region& region, NodeId tested, ast::Where at) {
  BooleanOperands operands{c, operator_of(region)};
  for (const Part& p : region.parts) operands.add(part_expression(c, p), p.result);
  const std::vector<NodeId>& values = operands.values;
  ast::match_case guarded = c.tree.as<ast::match_case>(tested);
  guarded.guard = values.size() == 1
                      ? values[0]
                      : c.tree.add(ast::BoolOp{operands.op, c.tree.list(values)}, at);
  c.tree.set(tested, guarded);
  return tested;
}

NodeId boolean_operation(FunctionContext& c, ValueId id, const Region& region, NodeId first) {
  const ast::Where at = c.where(id);
  if (c.tree.is(first, ast::Kind::match_case)) return guarded_case(c, region, first, at);
  BooleanOperands operands{c, operator_of(region)};
  std::vector<NodeId>& values = operands.values;
  std::vector<size_t> lost;
  operands.add_tested(first, c.operand(id, 0));
  for (const Part& p : region.parts) {
    if (p.follows_lost_test) lost.push_back(values.size() - 1);
    const NodeId node = part_expression(c, p);
    const bool is_last = &p == &region.parts.back();
    is_last ? operands.add(node, p.result) : operands.add_tested(node, p.result);
  }
  if (!lost.empty()) values = in_brackets(c.tree, values, lost, operands.op, at);
  const uint32_t is_tested_again = region.is_tested_again ? 1 : 0;
  return c.tree.add(ast::BoolOp{operands.op, c.tree.list(values), is_tested_again}, at);
}

// Returns a copy of the comparison, for which `node` has to be one.
ast::Compare comparison(FunctionContext& c, NodeId node, ast::Where at) {
  if (c.tree.is(node, ast::Kind::Compare)) return c.tree.as<ast::Compare>(node);
  throw NotStructured("a comparison chain that is none", at.offset);
}

NodeId comparison_chain(FunctionContext& c, const Region& region, NodeId first, ast::Where at) {
  ast::Compare chain = comparison(c, first, at);
  std::vector<uint32_t> ops(c.tree.numbers(chain.ops).begin(), c.tree.numbers(chain.ops).end());
  std::vector<NodeId> comparators(c.tree.items(chain.comparators).begin(),
                                  c.tree.items(chain.comparators).end());
  for (const Part& p : region.parts) {
    const NodeId next = part_expression(c, p, c.operand(p.result, 0));
    const ast::Compare link = comparison(c, next, at);
    ops.push_back(c.tree.numbers(link.ops)[0]);
    comparators.push_back(c.tree.items(link.comparators)[0]);
  }
  chain.ops = c.tree.numbers(ops);
  chain.comparators = c.tree.list(comparators);
  return c.tree.add(chain, at);
}

// Returns a case without a body. `subject`: of the `match` that it begins, if it does.
NodeId tested_case(Run& r, const Region& region, NodeId subject, ast::Where at) {
  NodeId guard;
  if (r.graph.patterns[region.pattern.index()].is_followed) {
    guard = constant_node(r.tree, object::ConstKind::True, at);
  }
  const NodeId tested =
      r.tree.add(ast::match_case{pattern(r.context, region.pattern), guard, ast::ListId()}, at);
  if (subject.valid()) r.context.subjects[tested] = hoist_literals(r.context, r.list, subject);
  return tested;
}

// `first`: the expression of the region's operand, if it has one.
NodeId region_expression(Run& r, ValueId id, const Region& region, NodeId first) {
  const ast::Where at = r.where(id);
  switch (region.kind) {
    case RegionKind::And:
    case RegionKind::Or:
      return boolean_operation(r.context, id, region, first);
    case RegionKind::Conditional: {
      const NodeId body = part_expression(r.context, region.parts[0]);
      const NodeId orelse = part_expression(r.context, region.parts[1]);
      return r.tree.add(ast::IfExp{first, body, orelse}, at);
    }
    case RegionKind::Chain:
      return comparison_chain(r.context, region, first, at);
    case RegionKind::Pattern:
      return tested_case(r, region, first, at);
    case RegionKind::Comprehension:
      return inlined_comprehension(r.context, region, first, at);
  }
  PELLUCID_CHECK(false);
}

// Counts how deep a region is in others. Each takes a recursion, and no compiler's parser follows
// an expression that deep.
class Nesting {
 public:
  Nesting(FunctionContext& context, const Part& part) : context_(context) {
    constexpr uint32_t kDeepest = 2000;
    if (context.nesting == kDeepest) {
      throw NotStructured("an expression nested beyond the limit",
                          context.graph[part.result].offset);
    }
    ++context.nesting;
  }
  ~Nesting() { --context_.nesting; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  FunctionContext& context_;
};

}  // namespace

NodeId part_expression(FunctionContext& c, const Part& part, ValueId pivot) {
  const Nesting nesting(c, part);
  Statements inner(c);
  if (pivot.valid()) inner.preload(pivot, c.name(c.tree.intern("_")));
  inner.run(part.items);
  const NodeId node = inner.take(part.result);
  if (!inner.list().empty() || inner.hard_pending() > 0) {
    throw NotStructured("an expression that is none", c.graph[part.result].offset);
  }
  return node;
}

void read_region(Run& r, ValueId id) {
  const ir::Value value = r.graph[id];
  NodeId first;
  if (value.count > 0) first = r.stack.take(r.operand(id, 0));
  r.stack.push(id, region_expression(r, id, r.graph.regions[value.a], first), false);
}

}  // namespace pellucid::structure
