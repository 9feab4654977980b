// SPDX-License-Identifier: Apache-2.0
// Comprehensions and expressions that were recovered as statements.
#include <algorithm>

#include "ast/nodes.h"
#include "structure/expressions/expressions.h"
#include "structure/expressions/operations.h"
#include "structure/expressions/walrus.h"
#include "structure/scopes/dead_code.h"
#include "structure/scopes/names.h"

namespace pellucid::structure {

using ast::Kind;
using ast::ListId;
using ast::NodeId;
using bytecode::Op;

namespace {

// Returns a statement's condition as it reads inside an expression, where a bare constant is tested
// too: undoes tested_condition().
NodeId bare_condition(const ast::Tree& tree, NodeId test) {
  if (!tree.is(test, Kind::BoolOp)) return test;
  const auto items = tree.items(tree.as<ast::BoolOp>(test).values);
  const bool is_made = items.size() == 2 && is_constant(tree, items[0], object::ConstKind::True) &&
                       tree.is(items[1], Kind::Constant);
  return is_made ? items[1] : test;
}

bool is_continue(const ast::Tree& tree, ListId list) {
  const auto items = tree.items(list);
  return items.size() == 1 && tree.is(items[0], Kind::Continue);
}

bool does_nothing(const ast::Tree& tree, const ast::If& branch) {
  const auto items = tree.items(branch.body);
  return tree.items(branch.orelse).empty() &&
         std::all_of(items.begin(), items.end(),
                     [&](NodeId item) { return tree.is(item, Kind::Pass); });
}

// Returns the list without the trailing `return` (of the result), `continue` or `pass` that the
// compiler or our reading added.
std::span<const NodeId> without_tail(const ast::Tree& tree, ListId list) {
  auto items = tree.items(list);
  while (items.size() > 1 &&
         (tree.is(items.back(), Kind::Return) || tree.is(items.back(), Kind::Continue) ||
          tree.is(items.back(), Kind::Pass))) {
    items = items.first(items.size() - 1);
  }
  return items;
}

// Returns true if a statement is `temporary = []` (or an empty set or dict): the container that the
// comprehension fills.
bool makes_container(const ast::Tree& tree, NodeId statement) {
  const NodeId target = ast::only_target(tree, statement);
  if (!target.valid() || !tree.is(target, Kind::Name)) return false;
  const NodeId value = tree.as<ast::Assign>(statement).value;
  const Kind kind = tree.kind(value);
  return (kind == Kind::List || kind == Kind::Set || kind == Kind::Dict) &&
         tree.items(ListId(tree.slot(value, 0))).empty();
}

struct Generator {
  ast::For loop;
  NodeId node;
  std::vector<NodeId> ifs;
  bool is_single = false;  // `for x in [v]`: loop.iter is v
};

// Returns true if an assignment stands for `for x in [v]`, which 3.9+ compiles to one. The target
// of a walrus belongs to the enclosing scope, so it is not among the code's own locals.
bool is_single_loop(const ast::Tree& tree, NodeId statement) {
  const object::CodeId code = tree.where(statement).code;
  const NodeId target = tree.items(tree.as<ast::Assign>(statement).targets)[0];
  if (!tree.is(target, Kind::Name)) return true;
  if (!code.valid()) return false;
  const object::Code& owner = tree.module()[code];
  const Symbol name = tree.as<ast::Name>(target).id;
  const auto holds = [&](const std::vector<Symbol>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return holds(owner.varnames) || holds(owner.cellvars);
}

// The loops of a comprehension. Tests to negate and assignments to fold into the next expression
// are only recorded, so that nothing changes before the form is known.
struct Loops {
  explicit Loops(const ast::Tree& tree) : walrus(tree) {}

  std::vector<Generator> generators;
  std::vector<NodeId> to_negate;
  std::vector<NodeId> to_settle;  // `if not x: pass`, as `if x or True` compiles
  WalrusFold walrus;
  NodeId yield;
  NodeId spread;  // `(*x for x in y)`: the x whose items are yielded
  NodeId dead;    // the statement left in place of what only `if False` can have held
};

// Returns true if the innermost loop yields each of its items unchanged, through a name that is no
// local of the code: `(*x for x in y)`.
bool spreads(const ast::Tree& tree, const std::vector<Generator>& generators, NodeId yielded) {
  const Generator& inner = generators.back();
  const bool is_plain = generators.size() > 1 && inner.ifs.empty() && !inner.is_single &&
                        !inner.loop.is_async && tree.is(yielded, Kind::Name);
  if (!is_plain) return false;
  const Symbol item = tree.as<ast::Name>(yielded).id;
  if (!is_name(tree, inner.loop.target, item)) return false;
  const object::CodeId code = tree.where(inner.node).code;
  if (!code.valid()) return false;
  const auto& locals = tree.module()[code].localsplus;
  return std::find(locals.begin(), locals.end(), item) == locals.end();
}

bool read_loops(const ast::Tree& tree, ListId body, Loops& loops) {
  std::vector<NodeId> at;
  std::vector<NodeId> assignments;
  const auto enter = [&](ListId list) {
    const auto items = without_tail(tree, list);
    at.assign(items.begin(), items.end());
  };
  const auto take = [&](NodeId expression) {
    const bool fits = loops.walrus.plan(assignments, expression);
    assignments.clear();
    return fits;
  };
  enter(body);
  if (!at.empty() && makes_container(tree, at[0])) at.erase(at.begin());
  while (!at.empty()) {
    const NodeId statement = at[0];
    if (tree.is(statement, Kind::For)) {
      const auto loop = tree.as<ast::For>(statement);
      if (at.size() != 1 || !tree.items(loop.orelse).empty()) return false;
      if (!assignments.empty()) return false;
      loops.generators.push_back({loop, statement, {}});
      enter(loop.body);
      continue;
    }
    if (loops.generators.empty()) return false;
    Generator& generator = loops.generators.back();
    if (tree.is(statement, Kind::Assign) && is_single_loop(tree, statement)) {
      const auto assign = tree.as<ast::Assign>(statement);
      if (tree.items(assign.targets).size() != 1 || !take(assign.value)) return false;
      ast::For loop;
      loop.target = tree.items(assign.targets)[0];
      loop.iter = assign.value;
      loops.generators.push_back({loop, statement, {}, true});
      at.erase(at.begin());
    } else if (tree.is(statement, Kind::Assign)) {
      assignments.push_back(statement);
      at.erase(at.begin());
    } else if (tree.is(statement, Kind::If)) {
      auto branch = tree.as<ast::If>(statement);
      branch.test = bare_condition(tree, branch.test);
      if (!take(branch.test)) return false;
      generator.ifs.push_back(branch.test);
      if (does_nothing(tree, branch) && at.size() > 1) {
        loops.to_settle.push_back(branch.test);
        at.erase(at.begin());
        continue;
      }
      if (is_continue(tree, branch.body)) {
        // `if not c: continue`, with the rest after it or in its `else`.
        loops.to_negate.push_back(branch.test);
        if (tree.items(branch.orelse).empty()) {
          at.erase(at.begin());
          continue;
        }
        if (at.size() != 1) return false;
        enter(branch.orelse);
        continue;
      }
      const bool has_else = !tree.items(branch.orelse).empty() && !is_continue(tree, branch.orelse);
      if (at.size() != 1 || has_else) return false;
      enter(branch.body);
    } else if (tree.is(statement, Kind::Expr) && at.size() == 1) {
      loops.yield = tree.as<ast::Expr>(statement).value;
      if (!tree.is(loops.yield, Kind::Yield)) return false;
      const NodeId value = tree.as<ast::Yield>(loops.yield).value;
      if (spreads(tree, loops.generators, value)) {
        loops.spread = loops.generators.back().loop.iter;
        loops.generators.pop_back();
        return assignments.empty();
      }
      return value.valid() ? take(value) : assignments.empty();
    } else if (at.size() == 1 &&
               (tree.is(statement, Kind::Pass) || tree.is(statement, Kind::Continue))) {
      loops.dead = statement;
      return assignments.empty();
    } else {
      return false;
    }
  }
  if (loops.generators.empty() || !assignments.empty()) return false;
  loops.dead = loops.generators.back().node;
  return true;
}

// Adds the mentions of dead code to an element, or to the key of a dict's element.
void add_mentions(ast::Tree& tree, NodeId& elt, const std::vector<NodeId>& mentions) {
  if (!tree.is(elt, Kind::Tuple)) {
    elt = with_mentions(tree, elt, mentions);
    return;
  }
  const auto items = tree.items(tree.as<ast::Tuple>(elt).elts);
  std::vector<NodeId> parts(items.begin(), items.end());
  if (parts.empty()) {
    elt = with_mentions(tree, elt, mentions);
    return;
  }
  parts[0] = with_mentions(tree, parts[0], mentions);
  elt = tree.add(ast::Tuple{tree.list(parts)}, tree.where(elt));
}

// Statements that are to become one expression, followed by those after the branch.
struct Pending {
  std::vector<NodeId> statements;
  NodeId owner;  // the IfExp that takes it as an arm
  bool is_else = false;
  bool ends_here = true;  // whether the body ends where the statements do
};

}  // namespace

bool comprehension_parts(ast::Tree& tree, ListId body, NodeId first_iter,
                         ComprehensionParts& parts) {
  Loops loops(tree);
  std::vector<NodeId> statements;
  const DeadParts dead = take_dead_parts(tree, body, statements);
  if (!read_loops(tree, tree.list(statements), loops)) return false;
  loops.walrus.apply(tree);
  if (loops.yield.valid()) parts.elt = tree.as<ast::Yield>(loops.yield).value;
  if (loops.spread.valid()) {
    parts.elt = tree.add(ast::Starred{loops.spread}, tree.where(loops.spread));
  }
  if (!parts.elt.valid() && !dead.mentions.empty()) {
    parts.elt = mentions_of(tree, dead.mentions);
  } else if (!dead.mentions.empty()) {
    add_mentions(tree, parts.elt, dead.mentions);
  }
  if (!parts.elt.valid()) parts.elt = none_node(tree, {});
  if (loops.dead.valid()) {
    // The code of the element is gone.
    loops.generators.back().ifs.push_back(constant_node(tree, object::ConstKind::False));
  }
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < loops.generators.size(); ++i) {
    Generator& generator = loops.generators[i];
    for (NodeId& test : generator.ifs) {
      for (const NodeId negate : loops.to_negate) {
        if (negate == test) {
          test = negated(tree, test);
          break;
        }
      }
      const auto& settled = loops.to_settle;
      if (std::find(settled.begin(), settled.end(), test) != settled.end()) {
        test = or_true(tree, negated(tree, test));
      }
    }
    NodeId iter = generator.loop.iter;
    if (i == 0 && first_iter.valid()) {
      // The parameter `.0` is mentioned no more: no node keeps its name (fit_names).
      if (tree.is(iter, Kind::Name)) tree.set(iter, ast::Name{});
      iter = first_iter;
    }
    if (generator.is_single) iter = tree.add(ast::List{tree.list({iter})}, tree.where(iter));
    const ast::comprehension made{generator.loop.target, as_iterable(tree, iter),
                                  tree.list(generator.ifs), generator.loop.is_async};
    nodes.push_back(tree.add(made, tree.where(generator.node)));
  }
  if (loops.dead.valid()) {
    for (const Symbol name : dead.bound) nodes.push_back(empty_generator(tree, name));
  }
  parts.generators = tree.list(nodes);
  return true;
}

// Returns the list, set or dict comprehension or generator expression for the call of its function.
NodeId make_comprehension(const ExpressionContext& c, const ir::Value& value, NodeId callee,
                          NodeId iterable) {
  const auto def = c.tree.as<ast::FunctionDef>(callee);
  // The outermost iterable is evaluated, and its iterator made, before the call.
  const ir::Value& argument = c.operand(value, 1);
  if (is_op(argument, Op::GetIter) && c.tree.is(iterable, Kind::Call)) {
    const auto args = c.tree.items(c.tree.as<ast::Call>(iterable).args);
    if (args.size() == 1) iterable = args[0];
  }
  ComprehensionParts parts;
  if (!comprehension_parts(c.tree, def.body, iterable, parts)) return NodeId();
  const ast::Where at = c.where(value);
  const std::string_view name = c.tree.text(def.name);
  // In the place of the function, whose parameter loses its name as well.
  const auto parameters = c.tree.as<ast::arguments>(def.args);
  for (const ListId list : {parameters.posonlyargs, parameters.args}) {
    for (const NodeId parameter : c.tree.items(list)) c.tree.set(parameter, ast::arg{});
  }
  const auto made = [&](const auto& comprehension) {
    c.tree.set(callee, comprehension);
    c.tree.set_where(callee, at);
    return callee;
  };
  if (name == "<listcomp>") return made(ast::ListComp{parts.elt, parts.generators});
  if (name == "<setcomp>") return made(ast::SetComp{parts.elt, parts.generators});
  if (name == "<genexpr>") return made(ast::GeneratorExp{parts.elt, parts.generators});
  if (c.tree.is(parts.elt, Kind::Starred)) {
    const NodeId added = c.tree.as<ast::Starred>(parts.elt).value;
    return made(ast::DictComp{added, NodeId(), parts.generators});
  }
  // A dict comprehension adds pairs; any other value stands for an element that is never reached.
  const bool is_tuple = c.tree.is(parts.elt, Kind::Tuple);
  const auto pair =
      is_tuple ? c.tree.items(c.tree.as<ast::Tuple>(parts.elt).elts) : std::span<const NodeId>();
  if (pair.size() != 2) {
    return made(ast::DictComp{parts.elt, none_node(c.tree, at), parts.generators});
  }
  return made(ast::DictComp{pair[0], pair[1], parts.generators});
}

NodeId returned_expression(ast::Tree& tree, ListId body) {
  std::vector<Pending> todo;
  const auto items = tree.items(body);
  todo.push_back({{items.begin(), items.end()}, NodeId(), false});
  NodeId root;
  while (!todo.empty()) {
    Pending task = std::move(todo.back());
    todo.pop_back();
    const NodeId first = task.statements.empty() ? NodeId() : task.statements[0];
    NodeId made;
    if (!first.valid()) {
      // The implicit `return None` of a body of several blocks has no statement.
      if (!task.ends_here) return NodeId();
      made = none_node(tree, {});
    } else if (tree.is(first, Kind::Return)) {
      made = tree.as<ast::Return>(first).value;
      if (!made.valid()) made = none_node(tree, tree.where(first));
    } else if (tree.is(first, Kind::If)) {
      auto branch = tree.as<ast::If>(first);
      branch.test = bare_condition(tree, branch.test);
      const auto rest = std::span<const NodeId>(task.statements).subspan(1);
      Pending then{{}, NodeId(), false};
      Pending otherwise{{}, NodeId(), true};
      const auto add = [&](Pending& side, ListId list) {
        for (const NodeId item : tree.items(list)) {
          if (!tree.is(item, Kind::Pass)) side.statements.push_back(item);
        }
      };
      add(then, branch.body);
      add(otherwise, branch.orelse);
      // Of two equal arms the compiler kept one: `a if c else a`.
      if (then.statements.empty() && otherwise.statements.empty()) {
        const ListId copied =
            ast::clone(tree, tree.list(std::vector<NodeId>(rest.begin(), rest.end())));
        then.statements.assign(tree.items(copied).begin(), tree.items(copied).end());
        otherwise.statements.clear();
      }
      // Exactly one arm may fall through to the rest, since nothing is written twice.
      const auto ends = [&](const Pending& side) {
        return !side.statements.empty() && (tree.is(side.statements.back(), Kind::Return) ||
                                            tree.is(side.statements.back(), Kind::If));
      };
      if (ends(then) == ends(otherwise) && !rest.empty()) return NodeId();
      Pending& open_arm = ends(then) ? otherwise : then;
      then.ends_here = otherwise.ends_here = task.ends_here && rest.empty();
      open_arm.ends_here = task.ends_here;
      open_arm.statements.insert(open_arm.statements.end(), rest.begin(), rest.end());
      made = tree.add(ast::IfExp{branch.test, NodeId(), NodeId()}, tree.where(first));
      then.owner = otherwise.owner = made;
      todo.push_back(std::move(then));
      todo.push_back(std::move(otherwise));
    } else if (tree.is(first, Kind::Expr) && !task.owner.valid() && task.statements.size() <= 2) {
      // `lambda: (yield)`: the value of a generator's body is dropped.
      if (task.statements.size() == 2) {
        if (!tree.is(task.statements[1], Kind::Return)) return NodeId();
        const NodeId value = tree.as<ast::Return>(task.statements[1]).value;
        if (value.valid() && !is_none(tree, value)) return NodeId();
      }
      made = tree.as<ast::Expr>(first).value;
    } else {
      return NodeId();
    }
    if (!task.owner.valid()) {
      root = made;
    } else {
      auto owner = tree.as<ast::IfExp>(task.owner);
      (task.is_else ? owner.orelse : owner.body) = made;
      tree.set(task.owner, owner);
    }
  }
  return root;
}

}  // namespace pellucid::structure
