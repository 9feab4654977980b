// SPDX-License-Identifier: Apache-2.0
// Targets: where the value is stored that a loop or a `with` gives to its body.
#include <algorithm>

#include "structure/graph/items.h"
#include "structure/graph/not_structured.h"
#include "structure/statements/statements.h"

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

// Returns `_` if nothing can observe it, else a fresh name. Names of modules and classes can always
// be observed.
Symbol FunctionContext::name_of_nothing() {
  if (nothing.valid()) return nothing;
  const object::CodeId code = graph.f.code;
  nothing = tree.intern("_");
  const bool is_function = (tree.module()[code].flags & object::kOptimized) != 0;
  if (!is_function || mentions(tree.module(), code, nothing)) nothing = fresh_name("unused");
  return nothing;
}

// Gives the value of a loop or a `with` a fresh name, by which it is known from now on.
void FunctionContext::name_given(ValueId giver, ValueId value) {
  const auto target = targets.find(giver);
  auto known = materialized.find(value);
  if (known == materialized.end()) {
    if (target == targets.end()) {
      throw NotStructured("a value that is stored behind the statement it is of",
                          graph[giver].offset);
    }
    const bool is_item = graph[giver].kind == ValueKind::Item;
    known = materialized.emplace(value, fresh_name(is_item ? "item" : "entered")).first;
  }
  if (target != targets.end()) target->second = tree.add(ast::Name{known->second});
}

// Sets the target of a loop or a `with`, if this is its only use and the first action of the body.
// A store that comes later, on some paths only or again stays a store, of the fresh name that
// becomes the target; then returns false.
bool Statements::receives(ValueId giver, ValueId value, NodeId target) {
  const bool is_first = giver == giver_ && list_.empty() && pending_.empty();
  if (is_first && c_.graph[value].uses == 1 && !c_.materialized.count(value)) {
    c_.targets[giver] = target;
    return true;
  }
  c_.name_given(giver, value);
  return false;
}

// Returns the pending loads of locals. An element that is itself unpacked becomes one target with
// the outer unpacking.
std::vector<ValueId> Statements::loaded_before(ValueId unpacked) const {
  const auto outer = slots_.find(unpacked);
  if (outer != slots_.end()) return unpackings_[outer->second.first].loaded;
  std::vector<ValueId> found;
  for (const Entry& entry : pending_) {
    if (is_op(c_.graph[entry.value], Op::LoadFast)) found.push_back(entry.value);
  }
  return found;
}

bool Statements::is_load_before(const Unpacking& unpacking, const Entry& entry) const {
  const auto& loaded = unpacking.loaded;
  return std::find(loaded.begin(), loaded.end(), entry.value) != loaded.end();
}

// Throws if a local that an unpacking stores to was loaded in the middle of it: an unpacking is one
// statement, at the place of its last store.
void Statements::check_unpacked(const Unpacking& unpacking, NodeId target) const {
  if (!c_.tree.is(target, ast::Kind::Name)) return;
  const Symbol local = c_.tree.as<ast::Name>(target).id;
  for (const Entry& entry : pending_) {
    if (!is_load_of(entry, local) || is_load_before(unpacking, entry)) continue;
    throw NotStructured("a local that is loaded in the middle of an unpacking",
                        where(entry.value).offset);
  }
}

// Before an unpacking is appended: spills the earlier loads of the locals that it stores to.
void Statements::protect_unpacked(const Unpacking& unpacking, NodeId target) {
  if (unpacking.loaded.empty()) return;
  for (const Symbol local : names_in(target)) {
    for (size_t i = 0; i < pending_.size();) {
      const bool is_other = pending_[i].value != unpacking.value;
      const bool is_kept = is_other && is_load_before(unpacking, pending_[i]);
      if (!is_kept || protect(local, i, i + 1) == 0) ++i;
    }
  }
}

// Returns the names that a target assigns.
std::vector<Symbol> Statements::names_in(NodeId target) const {
  std::vector<Symbol> found;
  std::vector<NodeId> todo{target};
  while (!todo.empty()) {
    const NodeId node = todo.back();
    todo.pop_back();
    if (c_.tree.is(node, ast::Kind::Tuple)) {
      const auto parts = c_.tree.items(c_.tree.as<ast::Tuple>(node).elts);
      todo.insert(todo.end(), parts.begin(), parts.end());
    } else if (c_.tree.is(node, ast::Kind::Starred)) {
      todo.push_back(c_.tree.as<ast::Starred>(node).value);
    } else if (c_.tree.is(node, ast::Kind::Name)) {
      found.push_back(c_.tree.as<ast::Name>(node).id);
    }
  }
  return found;
}

}  // namespace pellucid::structure
