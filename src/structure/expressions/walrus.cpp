// SPDX-License-Identifier: Apache-2.0
#include "structure/expressions/walrus.h"

#include "ast/nodes.h"
#include "ast/walk.h"

namespace pellucid::structure {

using ast::Kind;
using ast::NodeId;

namespace {

// Returns true if evaluating a node, once its operands are evaluated, only packs or loads values.
bool only_packs(Kind kind) {
  return kind == Kind::Tuple || kind == Kind::List || kind == Kind::Starred ||
         kind == Kind::keyword || kind == Kind::Dict || kind == Kind::Name ||
         kind == Kind::Constant;
}

// Returns the operands in order of evaluation; only the first if not all of them are always
// evaluated.
std::vector<NodeId> operands_of(const ast::Tree& tree, NodeId node) {
  std::vector<NodeId> out;
  switch (tree.kind(node)) {
    case Kind::NamedExpr:
      return {tree.as<ast::NamedExpr>(node).value};
    case Kind::IfExp:
      return {tree.as<ast::IfExp>(node).test};
    case Kind::BoolOp:
      return {tree.items(tree.as<ast::BoolOp>(node).values)[0]};
    case Kind::Lambda:
    case Kind::ListComp:
    case Kind::SetComp:
    case Kind::DictComp:
    case Kind::GeneratorExp:
      return {};
    case Kind::Dict: {
      const auto dict = tree.as<ast::Dict>(node);
      for (size_t i = 0; i < tree.items(dict.keys).size(); ++i) {
        if (tree.items(dict.keys)[i].valid()) out.push_back(tree.items(dict.keys)[i]);
        out.push_back(tree.items(dict.values)[i]);
      }
      return out;
    }
    default:
      break;
  }
  ast::for_each_child(tree, node, [&](NodeId child) { out.push_back(child); });
  return out;
}

}  // namespace

NodeId WalrusFold::first_load(NodeId expression, Symbol name) const {
  struct Step {
    NodeId node;
    bool is_done;  // its operands have been evaluated
  };
  std::vector<Step> todo = {{expression, false}};
  while (!todo.empty()) {
    const Step step = todo.back();
    todo.pop_back();
    const Kind kind = tree_.kind(step.node);
    if (step.is_done) {
      if (!only_packs(kind)) return NodeId();
      continue;
    }
    const auto place = places_.find(step.node);
    if (place != places_.end()) {
      todo.push_back({tree_.as<ast::Assign>(place->second).value, false});
      continue;
    }
    if (is_name(tree_, step.node, name)) return step.node;
    todo.push_back({step.node, true});
    const std::vector<NodeId> operands = operands_of(tree_, step.node);
    for (size_t i = operands.size(); i-- > 0;) todo.push_back({operands[i], false});
  }
  return NodeId();
}

bool WalrusFold::plan(const std::vector<NodeId>& assignments, NodeId expression) {
  for (size_t i = assignments.size(); i-- > 0;) {
    const NodeId target = ast::only_target(tree_, assignments[i]);
    if (!target.valid() || !tree_.is(target, Kind::Name)) return false;
    const NodeId load = first_load(expression, tree_.as<ast::Name>(target).id);
    if (!load.valid()) return false;
    places_.emplace(load, assignments[i]);
  }
  return true;
}

void WalrusFold::apply(ast::Tree& tree) const {
  for (const auto& [load, assignment] : places_) {
    const auto assign = tree.as<ast::Assign>(assignment);
    tree.set(load, ast::NamedExpr{tree.items(assign.targets)[0], assign.value});
  }
}

}  // namespace pellucid::structure
