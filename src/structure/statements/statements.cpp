// SPDX-License-Identifier: Apache-2.0
#include "structure/statements/statements.h"

#include "ast/nodes.h"
#include "structure/graph/not_structured.h"
#include "structure/statements/hoisting.h"

namespace pellucid::structure {

using ast::NodeId;

void Statements::run(std::span<const ValueId> items) { read_items(run_, items); }

std::vector<NodeId> Statements::take_list() {
  // Its other use is on another path.
  if (const PendingTargets& targets = run_.stack.targets(); !targets.empty()) {
    throw NotStructured("a store of a value that other ways use",
                        run_.where(targets.first()).offset);
  }
  if (run_.caught.valid()) throw NotStructured("an exception that is stored outside a clause", 0);
  return std::move(run_.list);
}

void Statements::pass(const ir::Edge& edge) {
  FunctionContext& c = run_.context;
  const auto& params = c.graph[edge.to].params;
  std::vector<ValueId> moved, args;  // parameters, and their arguments
  for (size_t p = 0; p < params.size(); ++p) {
    const ValueId arg = c.graph.resolve(edge.args[p]);
    const ValueKind kind = c.graph[arg].kind;
    if (kind == ValueKind::Exception && c.graph[params[p]].uses > 0) {
      throw NotStructured("an exception that is one of several values", c.graph[arg].offset);
    }
    if (kind == ValueKind::Null || kind == ValueKind::Exception || arg == params[p]) continue;
    moved.push_back(params[p]);
    args.push_back(arg);
  }
  if (moved.empty()) return;
  const std::vector<NodeId> values = take_many(args);
  std::vector<NodeId> targets;
  for (const ValueId param : moved) {
    auto it = c.materialized.find(param);
    if (it == c.materialized.end()) {
      it = c.materialized.emplace(param, c.fresh_name("temp")).first;
    }
    targets.push_back(c.name(it->second));
  }
  const ast::Where at = c.where(args[0]);
  if (moved.size() == 1) {
    return append(c.tree.add(ast::Assign{c.tree.list(targets), values[0]}, at));
  }
  const NodeId left = c.tree.add(ast::Tuple{c.tree.list(targets)}, at);
  const NodeId right = c.tree.add(ast::Tuple{c.tree.list(values)}, at);
  append(c.tree.add(ast::Assign{c.tree.list({left}), right}, at));
}

}  // namespace pellucid::structure
