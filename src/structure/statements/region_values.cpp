// SPDX-License-Identifier: Apache-2.0
// Expressions that were control flow: conditions, comparison chains, inlined comprehensions.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ast/nodes.h"
#include "structure/graph/items.h"
#include "structure/graph/not_structured.h"
#include "structure/scopes/dead_code.h"
#include "structure/scopes/unfoldable.h"
#include "structure/statements/statements.h"

namespace pellucid::structure {

using ast::NodeId;

NodeId Statements::part(const Part& part, ValueId pivot) {
  Statements inner(c_);
  if (pivot.valid()) inner.preload(pivot, name(c_.tree.intern("_")));
  inner.run(part.items);
  const NodeId node = inner.take(part.result);
  if (!inner.list_.empty() || inner.hard_pending() > 0) {
    throw NotStructured("an expression that is none", c_.graph[part.result].offset);
  }
  return node;
}

// Returns true if the value is an `and` or `or` with a lost test (flow::kLostTest) in it.
bool Statements::holds_lost_test(ValueId id) const {
  const ir::Value& value = c_.graph[id];
  if (value.kind != ValueKind::Region) return false;
  const Parts& parts = c_.graph.regions[value.a].parts;
  return std::any_of(parts.begin(), parts.end(), [](const Part& p) { return p.behind_lost_test; });
}

// Returns the operands with their brackets, as in `(a or b) or c`: compilers that lose tests lose
// those of operands whose jumps lead to the test of the enclosing operation.
std::vector<NodeId> Statements::in_brackets(const std::vector<NodeId>& values,
                                            const std::vector<size_t>& lost, uint32_t op,
                                            ast::Where at) {
  std::vector<NodeId> out, inner;
  for (size_t i = 0; i < values.size(); ++i) {
    inner.push_back(values[i]);
    if (std::find(lost.begin(), lost.end(), i) != lost.end()) continue;
    const bool is_one = inner.size() == 1 || inner.size() == values.size();
    if (!is_one) inner = {c_.tree.add(ast::BoolOp{op, c_.tree.list(inner), 1}, at)};
    out.insert(out.end(), inner.begin(), inner.end());
    inner.clear();
  }
  return out;
}

void Statements::region(ValueId id) {
  const ir::Value value = c_.graph[id];
  const Region region = c_.graph.regions[value.a];
  NodeId first;
  if (value.count > 0) {
    first = take_all(std::array<ValueId, 1>{c_.graph.resolve(operands(id)[0])})[0];
  }
  const ast::Where at = where(id);
  switch (region.kind) {
    case RegionKind::And:
    case RegionKind::Or: {
      const auto op = static_cast<uint32_t>(region.kind == RegionKind::And ? ast::BoolOperator::And
                                                                           : ast::BoolOperator::Or);
      std::vector<NodeId> values;
      std::vector<size_t> lost;  // indices of the operands with a lost test
      const auto add = [&](NodeId node, ValueId of) {
        if (c_.tree.is(node, ast::Kind::BoolOp) && c_.tree.as<ast::BoolOp>(node).op == op &&
            !holds_lost_test(of)) {
          const auto inner = c_.tree.items(c_.tree.as<ast::BoolOp>(node).values);
          values.insert(values.end(), inner.begin(), inner.end());
        } else {
          values.push_back(node);
        }
      };
      if (c_.tree.is(first, ast::Kind::match_case)) {
        for (const Part& p : region.parts) add(part(p, {}), p.result);
        ast::match_case guarded = c_.tree.as<ast::match_case>(first);
        guarded.guard =
            values.size() == 1 ? values[0] : c_.tree.add(ast::BoolOp{op, c_.tree.list(values)}, at);
        c_.tree.set(first, guarded);
        return push(id, first, false);
      }
      const auto add_tested = [&](NodeId node, ValueId of) {
        add(node, of);
        const flow::Folds& folds = c_.graph.f.folds;
        if (folds.choices || (folds.literals && is_atom(c_.tree, values.back()))) {
          values.back() = tested_operand(c_.tree, values.back());
        }
      };
      add_tested(first, c_.graph.resolve(operands(id)[0]));
      for (const Part& p : region.parts) {
        if (p.behind_lost_test) lost.push_back(values.size() - 1);
        const bool is_last = &p == &region.parts.back();
        is_last ? add(part(p, {}), p.result) : add_tested(part(p, {}), p.result);
      }
      if (!lost.empty()) values = in_brackets(values, lost, op, at);
      const ast::BoolOp operation{op, c_.tree.list(values), region.is_tested_again ? 1u : 0u};
      return push(id, c_.tree.add(operation, at), false);
    }
    case RegionKind::Conditional: {
      const NodeId body = part(region.parts[0], {}), orelse = part(region.parts[1], {});
      return push(id, c_.tree.add(ast::IfExp{first, body, orelse}, at), false);
    }
    case RegionKind::Chain: {
      if (!c_.tree.is(first, ast::Kind::Compare)) {
        throw NotStructured("a comparison chain that is none", value.offset);
      }
      ast::Compare chain = c_.tree.as<ast::Compare>(first);
      std::vector<uint32_t> ops(c_.tree.numbers(chain.ops).begin(),
                                c_.tree.numbers(chain.ops).end());
      std::vector<NodeId> comparators(c_.tree.items(chain.comparators).begin(),
                                      c_.tree.items(chain.comparators).end());
      for (const Part& p : region.parts) {
        const ValueId pivot = c_.graph.resolve(c_.graph.f.operands(p.result)[0]);
        const NodeId next = part(p, pivot);
        if (!c_.tree.is(next, ast::Kind::Compare)) {
          throw NotStructured("a comparison chain that is none", value.offset);
        }
        const ast::Compare link = c_.tree.as<ast::Compare>(next);
        ops.push_back(c_.tree.numbers(link.ops)[0]);
        comparators.push_back(c_.tree.items(link.comparators)[0]);
      }
      chain.ops = c_.tree.numbers(ops);
      chain.comparators = c_.tree.list(comparators);
      return push(id, c_.tree.add(chain, at), false);
    }
    case RegionKind::Pattern: {
      NodeId guard;
      if (c_.graph.patterns[region.pattern.index()].goes_on) {
        guard = constant_node(c_.tree, object::ConstKind::True, at);
      }
      const NodeId tested =
          c_.tree.add(ast::match_case{pattern(region.pattern), guard, ast::ListId()}, at);
      if (first.valid()) c_.subjects[tested] = hoist_literals(first);
      return push(id, tested, false);
    }
    case RegionKind::Comprehension:
      return push(id, inlined_comprehension(region, first, at), false);
  }
}

NodeId Statements::inlined_comprehension(const Region& region, NodeId iterable, ast::Where at) {
  Graph& g = c_.graph;
  Statements inner(c_);
  std::vector<NodeId> generators;
  NodeId elt;
  // The parts of the generator that is still open.
  NodeId target, iter = iterable;
  uint32_t is_async = 0;
  std::vector<NodeId> tests;
  const auto close = [&] {
    generators.push_back(
        c_.tree.add(ast::comprehension{target, iter, c_.tree.list(tests), is_async}, at));
    tests.clear();
  };
  const auto take_statements = [&] {
    for (const NodeId statement : inner.take_list()) {
      if (c_.tree.is(statement, ast::Kind::Assign) && !elt.valid()) {
        // Compilers make an assignment of `for x in [v]`.
        const ast::Assign assign = c_.tree.as<ast::Assign>(statement);
        if (c_.tree.items(assign.targets).size() != 1) return false;
        close();
        target = c_.tree.items(assign.targets)[0];
        iter = c_.tree.add(ast::List{c_.tree.list({assign.value})}, at);
        is_async = 0;
      } else if (c_.tree.is(statement, ast::Kind::Expr) && !elt.valid()) {
        const ast::Expr element = c_.tree.as<ast::Expr>(statement);
        if (!c_.tree.is(element.value, ast::Kind::Yield)) return false;
        elt = c_.tree.as<ast::Yield>(element.value).value;
      } else {
        return false;
      }
    }
    return true;
  };
  bool fits = !region.steps.empty();
  for (const ComprehensionStep& step : region.steps) {
    const ir::Block loop = g[step.header];
    if (target.valid()) {
      close();
      iter = inner.take(loop.operands[0]);
    }
    const ValueId item = g.resolve(loop.operands[1]);
    is_async = g[item].b == 1 ? 1u : 0u;
    c_.targets[item] = {};
    inner.begin_body(item);
    bool has_target = false;
    for (const BlockId id : step.blocks) {
      const ir::Block& block = g[id];
      inner.run(block.items);
      if (!has_target) {
        has_target = true;
        target = c_.targets[item];
        if (!target.valid()) throw NotStructured("a comprehension without a target", at.offset);
      }
      if (block.exit == ExitKind::Branch) {
        const NodeId test = inner.take(block.operands[0]);
        fits = fits && take_statements();
        if (block.next[0].to == block.next[1].to && block.next[0].to != step.header) {
          tests.push_back(or_true(c_.tree, block.jump == 0 ? test : negated(c_.tree, test)));
          continue;
        }
        const bool goes_on = block.next[0].to != step.header || block.next[1].to == step.header;
        tests.push_back(goes_on ? test : negated(c_.tree, test));
      } else {
        fits = fits && take_statements();
      }
    }
  }
  if (!fits || inner.hard_pending() > 0) {
    throw NotStructured("a comprehension of unknown form", at.offset);
  }
  const bool is_reached = elt.valid();
  if (!is_reached) {
    // A test known to be false was removed, and the element with it.
    tests.push_back(constant_node(c_.tree, object::ConstKind::False, at));
    elt = none_node(c_.tree, at);
    if (region.container == Op::BuildMap) {
      elt = c_.tree.add(ast::Tuple{c_.tree.list({elt, none_node(c_.tree, at)})}, at);
    }
  }
  close();
  const NodeId made = comprehension_of(region.container, elt, generators, at);
  mention_dead_names(region, made, is_reached);
  return made;
}

NodeId Statements::comprehension_of(Op container, NodeId elt, const std::vector<NodeId>& generators,
                                    ast::Where at) {
  const ast::ListId list = c_.tree.list(generators);
  if (container == Op::BuildList) return c_.tree.add(ast::ListComp{elt, list}, at);
  if (container == Op::BuildSet) return c_.tree.add(ast::SetComp{elt, list}, at);
  if (c_.tree.is(elt, ast::Kind::Starred)) {
    return c_.tree.add(ast::DictComp{c_.tree.as<ast::Starred>(elt).value, NodeId(), list}, at);
  }
  const bool is_tuple = c_.tree.is(elt, ast::Kind::Tuple);
  if (!is_tuple || c_.tree.items(c_.tree.as<ast::Tuple>(elt).elts).size() != 2) {
    throw NotStructured("a dict comprehension without a pair", at.offset);
  }
  const ast::Tuple pair = c_.tree.as<ast::Tuple>(elt);
  const std::vector<NodeId> both(c_.tree.items(pair.elts).begin(), c_.tree.items(pair.elts).end());
  return c_.tree.add(ast::DictComp{both[0], both[1], list}, at);
}

// Returns true if a comprehension reads a name as a global. If it hides the name all the same, a
// walrus in it assigns the global.
bool Statements::is_read_as_global(const Region& region, Symbol name) const {
  std::vector<ValueId> todo;
  for (const ComprehensionStep& step : region.steps) {
    for (const BlockId block : step.blocks) {
      const auto& items = c_.graph[block].items;
      todo.insert(todo.end(), items.begin(), items.end());
    }
  }
  while (!todo.empty()) {
    const ir::Value& value = c_.graph[todo.back()];
    todo.pop_back();
    if (is_op(value, Op::LoadGlobal) && value.symbol() == name) return true;
    if (value.kind != ValueKind::Region) continue;
    for (const Part& part : c_.graph.regions[value.a].parts) {
      todo.insert(todo.end(), part.items.begin(), part.items.end());
    }
  }
  return false;
}

// Adds the names that only dead code used: those that the comprehension binds and captures, and
// those bound in a comprehension in it that are also its own. If the element is reached they are
// mentioned beside it, else in its place and in further generators.
void Statements::mention_dead_names(const Region& region, NodeId comprehension, bool is_reached) {
  const std::unordered_set<Symbol> hidden(region.hidden.begin(), region.hidden.end());
  const std::unordered_set<Symbol> cells(region.cells.begin(), region.cells.end());
  const InlinedNames::Names names = c_.inlined_names.of(comprehension);
  std::vector<NodeId> mentions, generators;
  for (const Symbol cell : region.cells) {
    if (!is_reached || !names.handed.contains(cell)) mentions.push_back(capture(c_.tree, cell));
  }
  for (const Symbol name : names.all) {
    const bool is_lifted = names.bound.contains(name) && !names.direct.contains(name);
    if (is_lifted && !hidden.contains(name)) mentions.push_back(c_.tree.add(ast::Name{name}));
  }
  const bool in_class = std::any_of(region.hidden.begin(), region.hidden.end(),
                                    [&](Symbol name) { return c_.tree.text(name) == ".0"; });
  // A name that only a comprehension in it binds is no cell of this one.
  const auto is_bound = [&](Symbol name) {
    const bool is_only_inside = !is_reached && cells.contains(name) &&
                                !names.direct.contains(name) && !names.handed.contains(name);
    return names.assigned.contains(name) || (names.bound.contains(name) && !is_only_inside);
  };
  size_t later = 0;  // the last of those that are bound here in dead code
  for (size_t i = 0; i < region.hidden.size(); ++i) {
    if (!is_reached && !in_class && !is_bound(region.hidden[i])) later = i;
  }
  std::unordered_map<Symbol, size_t> place;
  for (size_t i = 0; i < names.all.size(); ++i) place.emplace(names.all[i], i);
  // The first place in the text of this name and those after it.
  std::vector<size_t> first_of(region.hidden.size() + 1, names.all.size());
  for (size_t i = region.hidden.size(); i-- > 0;) {
    const auto known = place.find(region.hidden[i]);
    first_of[i] =
        std::min(first_of[i + 1], known == place.end() ? names.all.size() : known->second);
  }
  for (size_t i = 0; i < region.hidden.size(); ++i) {
    const Symbol name = region.hidden[i];
    // Names that a comprehension in it binds come after all that this one binds, in the order
    // there.
    const bool overtakes =
        !is_reached && !in_class && place.contains(name) && first_of[i] < place.find(name)->second;
    const bool comes_first = (i < later || overtakes) && !names.direct.contains(name);
    if ((is_bound(name) && !comes_first) || c_.tree.text(name) == ".0") continue;
    if (in_class) {
      // In a class, bound and mentioned names are treated alike.
      const bool is_said = names.handed.contains(name) ||
                           std::find(names.all.begin(), names.all.end(), name) != names.all.end();
      if (!is_said) mentions.push_back(c_.tree.add(ast::Name{name}));
      continue;
    }
    if (names.direct.contains(name) && is_read_as_global(region, name)) {
      const NodeId target = c_.tree.add(ast::Name{name});
      mentions.push_back(c_.tree.add(ast::NamedExpr{target, none_node(c_.tree, {})}));
      continue;
    }
    const NodeId generator = empty_generator(c_.tree, name);
    if (!is_reached) {
      generators.push_back(generator);
    } else {
      const ast::ListId list = c_.tree.list({generator});
      mentions.push_back(c_.tree.add(ast::ListComp{none_node(c_.tree, {}), list}));
    }
  }
  if (!mentions.empty()) {
    // The element, or the key of its pair.
    const NodeId element(c_.tree.slot(comprehension, 0));
    const NodeId with =
        is_reached ? with_mentions(c_.tree, element, mentions) : mentions_of(c_.tree, mentions);
    c_.tree.set_slot(comprehension, 0, with.value);
  }
  if (!generators.empty()) {
    const size_t last = c_.tree.is(comprehension, ast::Kind::DictComp) ? 2 : 1;
    const auto items = c_.tree.items(ast::ListId(c_.tree.slot(comprehension, last)));
    std::vector<NodeId> all(items.begin(), items.end());
    all.insert(all.end(), generators.begin(), generators.end());
    c_.tree.set_slot(comprehension, last, c_.tree.list(all).value);
  }
  if (!mentions.empty() || !generators.empty()) c_.inlined_names.forget(comprehension);
}

void Statements::comprehension_element(ValueId id) {
  std::vector<ValueId> wanted;
  for (const ValueId operand : operands(id).subspan(1)) wanted.push_back(c_.graph.resolve(operand));
  const std::vector<NodeId> nodes = take_all(wanted);
  NodeId element =
      nodes.size() == 1 ? nodes[0] : c_.tree.add(ast::Tuple{c_.tree.list(nodes)}, where(id));
  if (is_spread(c_.graph[id])) element = c_.tree.add(ast::Starred{element}, where(id));
  const NodeId yielded = c_.tree.add(ast::Yield{element}, where(id));
  append(c_.tree.add(ast::Expr{yielded}, where(id)));
}

}  // namespace pellucid::structure
