// SPDX-License-Identifier: Apache-2.0
#include "structure/statements/function_context.h"

#include <algorithm>
#include <string>

#include "object/identifiers.h"
#include "structure/graph/not_structured.h"
#include "structure/scopes/names.h"

namespace pellucid::structure {

using ast::NodeId;

namespace {

// Returns true if a function, or one nested in it, has the name.
bool mentions(const object::Module& module, object::CodeId function, Symbol name) {
  std::vector<object::CodeId> todo{function};
  std::unordered_set<object::CodeId> seen;
  while (!todo.empty()) {
    const object::CodeId id = todo.back();
    todo.pop_back();
    // A code object that marshal refers to may be a constant of several.
    if (!seen.insert(id).second) continue;
    const object::Code& code = module[id];
    for (const auto* names : {&code.names, &code.localsplus}) {
      if (std::find(names->begin(), names->end(), name) != names->end()) return true;
    }
    for (const object::ConstId constant : code.consts) {
      if (module[constant].kind == object::ConstKind::Code) todo.push_back(module[constant].code);
    }
  }
  return false;
}

}  // namespace

NodeId FunctionContext::remake_with_operands(const ir::Value& value) {
  std::vector<NodeId> bounds;  // of a constant slice
  for (const ValueId operand : graph.f.operands(value)) {
    bounds.push_back(remake(graph.resolve(operand)));
  }
  const NodeId node = expressions.make(value, bounds);
  if (!node.valid())
    throw NotStructured("no expression for " + std::string(name_of(value.op)), value.offset);
  return node;
}

const char* stem_of(const ir::Value& value) {
  if (value.kind != ValueKind::Instr) return "temp";
  if (value.op == Op::GetIter || value.op == Op::GetAiter) return "iterator";
  if (value.op == Op::Compare || value.op == Op::IsOp || value.op == Op::ContainsOp)
    return "condition";
  if (value.op == Op::Call || value.op == Op::CallKw || value.op == Op::CallEx) return "result";
  return "temp";
}

Symbol FunctionContext::fresh_name(const char* stem) {
  if (is_trial) return tree.module()[graph.f.code].name;
  for (;;) {
    const std::string text = stem + std::string("_") + std::to_string(++temporaries);
    if (tree.module().strings.find(text).valid()) continue;
    made.push_back(tree.intern(text));
    return made.back();
  }
}

Symbol FunctionContext::name_of_definition(NodeId literal) {
  const Symbol own = literal_name(tree, literal);
  if (is_trial) return own;
  const std::string text = object::as_identifier(tree.text(own));
  if (text == tree.text(own)) return own;
  if (tree.module().strings.find(text).valid()) return fresh_name(text.c_str());
  made.push_back(tree.intern(text));
  return made.back();
}

Symbol FunctionContext::name_of_nothing() {
  if (nothing.valid()) return nothing;
  const object::CodeId code = graph.f.code;
  nothing = tree.intern("_");
  const bool is_function = (tree.module()[code].flags & object::kOptimized) != 0;
  if (!is_function || mentions(tree.module(), code, nothing)) nothing = fresh_name("unused");
  return nothing;
}

void FunctionContext::name_given(ValueId giver, ValueId value) {
  const auto target = targets.find(giver);
  auto known = materialized.find(value);
  if (known == materialized.end()) {
    if (target == targets.end()) {
      throw NotStructured("a value that is stored after its statement", graph[giver].offset);
    }
    const bool is_item = graph[giver].kind == ValueKind::Item;
    known = materialized.emplace(value, fresh_name(is_item ? "item" : "entered")).first;
  }
  if (target != targets.end()) targets[giver] = tree.add(ast::Name{known->second});
}

void FunctionContext::check_kept(ValueId id) const {
  const auto kept = kept_in.find(id);
  if (analysis == nullptr || kept == kept_in.end()) return;
  const BlockId there = kept->second;
  if (there.valid() && here.valid() && (there == here || analysis->dominates(there, here))) return;
  throw NotStructured("a value that is kept on some ways only", graph[id].offset);
}

std::vector<ValueId> resolved(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<ValueId> found;
  found.reserve(ids.size());
  for (const ValueId id : ids) found.push_back(graph.resolve(id));
  return found;
}

}  // namespace pellucid::structure
