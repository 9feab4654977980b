// SPDX-License-Identifier: Apache-2.0
#include "fallback/state_machine.h"

#include <algorithm>
#include <cstdio>

#include "ast/nodes.h"
#include "fallback/blocks.h"
#include "fallback/borrowed.h"
#include "fallback/plan.h"
#include "fallback/unstructured.h"
#include "structure/graph/not_structured.h"

namespace pellucid::fallback {

using ast::CmpOperator;
using ast::ListId;
using ast::NodeId;

namespace {

constexpr uint32_t kFinished = ~0u;
// More states than this are found by bisection.
constexpr uint32_t kChain = 6;
// Each level is a loop and a clause, and CPython nests at most twenty blocks.
constexpr uint32_t kDeepestLevel = 6;

bool is_class_or_module(const object::Code& code) { return (code.flags & object::kOptimized) == 0; }

// Returns true for statements that must come first: docstrings, imports from __future__, and what
// the compiler begins classes with.
bool stays_in_front(const ast::Tree& tree, NodeId statement) {
  if (ast::is_future_import(tree, statement)) return true;
  const NodeId target = ast::only_target(tree, statement);
  if (!target.valid() || !tree.is(target, ast::Kind::Name)) return false;
  const std::string_view name = tree.text(tree.as<ast::Name>(target).id);
  return name == "__doc__" || name == "__module__" || name == "__qualname__" ||
         name == "__firstlineno__" || name == "__type_params__" || name == "__classdict__";
}

Nodes level_loop(Machine& machine, uint32_t level);

// Sets the generated names of a module or class body at its start and deletes them at its end: none
// may remain, and none may appear while other code iterates over the names.
void hide_names(Machine& machine, Nodes& front, Nodes& end) {
  if (machine.context.made.empty()) return;
  size_t at = 0;
  while (at < front.size() && stays_in_front(machine.tree, front[at])) ++at;
  front.insert(front.begin() + static_cast<ptrdiff_t>(at),
               machine.make.assign_all(machine.context.made, machine.make.none()));
  end.push_back(machine.make.delete_all(machine.context.made));
}

Nodes state(Machine& machine, uint32_t index) {
  Nodes out;
  if (machine.arms[index].raises) {
    machine.name_thrown();
    out.push_back(machine.make.raise(machine.make.name(machine.thrown)));
  } else {
    block(machine, machine.arms[index].block, out);
  }
  return out;
}

Nodes dispatch(Machine& machine, uint32_t low, uint32_t high, uint32_t level) {
  if (high - low > kChain) {
    const uint32_t middle = low + (high - low) / 2;
    const NodeId test = machine.make.compare(machine.make.name(machine.state_name), CmpOperator::Lt,
                                             machine.make.integer(middle));
    return {machine.make.if_else(test, dispatch(machine, low, middle, level),
                                 dispatch(machine, middle, high, level))};
  }
  // A state of an outer level ends the loop of this one.
  const bool may_leave = level > 0 || machine.scope != Scope::Function;
  Nodes chain;
  if (may_leave) chain = {machine.make.break_loop()};
  for (uint32_t i = high; i-- > low;) {
    const Nodes body = state(machine, i);
    if (chain.empty() && !may_leave) {
      chain = body;
      continue;
    }
    const NodeId test = machine.make.compare(machine.make.name(machine.state_name), CmpOperator::Eq,
                                             machine.make.integer(i));
    chain = {machine.make.if_else(test, body, chain)};
  }
  return chain;
}

// Continues at a handler, with the exception in its stack slot.
void land(Machine& machine, HandlerId id, uint32_t level, Nodes& out) {
  const flow::Handler& handler = machine.graph.f.handlers[id.index()];
  BlockId target = handler.entry;
  size_t slot = handler.depth + handler.pushes - 1;
  if (handler.is_on_block_stack()) {
    slot = handler.depth + 4;
  } else if (only_pushes(machine.graph, target)) {
    // After the values that PUSH_EXC_INFO pushed.
    target = machine.graph[target].next[0].to;
    ++slot;
  }
  if (machine.slots(target, slot).is_variable()) {
    out.push_back(machine.make.assign(machine.variable(slot), machine.exception_at(level + 1)));
  }
  // The slots above are cleared.
  std::vector<Symbol> gone;
  for (size_t s = handler.depth; s < machine.deepest[id.index()] && s < machine.variables.size();
       ++s) {
    const bool is_set =
        s < machine.graph[target].params.size() && machine.slots(target, s).is_variable();
    if (machine.variables[s].valid() && !is_set) gone.push_back(machine.variables[s]);
  }
  if (!gone.empty()) out.push_back(machine.make.assign_all(gone, machine.make.none()));
  set_state(machine, machine.state_of(target), out);
}

// Returns what the clause does with an exception of one state.
Nodes landing(Machine& machine, uint32_t index, uint32_t level) {
  const Arm& arm = machine.arms[index];
  Nodes out;
  if (arm.raises) {
    out.push_back(restore(machine, machine.exception_at(level + 1)));
    out.push_back(machine.make.assign_all({machine.thrown, machine.saved}, machine.make.none()));
    if (arm.handler.valid()) {
      land(machine, arm.handler, level, out);
    } else {
      set_state(machine, machine.state_of(machine.graph[arm.block].next[0].to), out);
    }
    return out;
  }
  if (!arm.handler.valid()) return {machine.make.raise()};
  if (level_of(machine.graph.f.handlers[arm.handler.index()]) == level) {
    land(machine, arm.handler, level, out);
    return out;
  }
  // For an outer handler: raised again where no exception of this level is being handled.
  hand_over(machine, machine.exception_at(level + 1), out);
  set_state(machine, machine.raised_to[arm.handler.index()], out);
  out.push_back(machine.make.break_loop());
  return out;
}

// Returns the clause that finds the handler of an exception at this level: one test for each run of
// states with the same handler.
Nodes exception_clause(Machine& machine, uint32_t level) {
  Nodes clause, chain;
  const auto same = [&](uint32_t a, uint32_t b) {
    return !machine.arms[a].raises && !machine.arms[b].raises &&
           machine.arms[a].handler == machine.arms[b].handler;
  };
  uint32_t low = 0;
  while (machine.arms[low].level < level) ++low;
  uint32_t high = low;
  while (high < machine.arms.size() && machine.arms[high].level == level) ++high;
  for (uint32_t end = high; end > low;) {
    uint32_t begin = end - 1;
    while (begin > low && same(begin - 1, begin)) --begin;
    const Nodes body = landing(machine, begin, level);
    if (end == high) {
      chain = body;
    } else {
      const NodeId test = machine.make.compare(machine.make.name(machine.state_name),
                                               CmpOperator::Lt, machine.make.integer(end));
      chain = {machine.make.if_else(test, body, chain)};
    }
    end = begin;
  }
  clause = chain;
  if (high < machine.arms.size() && machine.arms[high].level == level + 1) {
    const Nodes inner = level_loop(machine, level + 1);
    clause.insert(clause.end(), inner.begin(), inner.end());
  }
  return clause;
}

Nodes level_loop(Machine& machine, uint32_t level) {
  if (level > kDeepestLevel) {
    throw NotStructured("exceptions that are handled while others are, too deeply", 0);
  }
  uint32_t low = 0;
  while (low < machine.arms.size() && machine.arms[low].level < level) ++low;
  uint32_t high = low;
  bool catches = false;
  for (; high < machine.arms.size() && machine.arms[high].level == level; ++high) {
    catches |= machine.arms[high].raises || machine.arms[high].handler.valid();
  }
  Nodes body = dispatch(machine, low, high, level);
  if (catches) {
    // The states of the next level are written inside the clause.
    const Nodes clause = exception_clause(machine, level);
    const NodeId handler = machine.make.handler(machine.make.builtin("BaseException"),
                                                machine.exception_name(level + 1), clause);
    body = {machine.make.try_except(body, {handler})};
  }
  return {machine.make.forever(body)};
}

}  // namespace

Machine::Machine(Graph& of, ast::Tree& into, Expressions& reads, Replaced& nested,
                 BoundNames& bound)
    : graph(of),
      tree(into),
      expressions(reads),
      bodies(nested),
      context{of, into, reads},
      make(into, bound),
      slots(of, into.module()),
      suffix("_" + std::to_string(of.f.code.value)) {
  const object::Module& module = tree.module();
  if (is_class_or_module(module[graph.f.code])) {
    scope = module.root == graph.f.code ? Scope::Module : Scope::Class;
  }
  for (size_t v = 0; v < graph.f.values.size(); ++v) {
    if (graph.f.values[v].kind != ValueKind::Element) continue;
    elements[graph.f.operands(ValueId(v))[0]].push_back(ValueId(v));
  }
  deepest.resize(graph.f.handlers.size(), 0);
  for (const BlockId b : graph.order()) {
    if (!graph[b].handler.valid()) continue;
    size_t& most = deepest[graph[b].handler.index()];
    most = std::max(most, graph[b].params.size());
  }
  if (scope == Scope::Function) return;
  for (const ir::Value& value : graph.f.values) {
    if (is_op(value, Op::StoreFast)) hide(value.symbol());
  }
}

void Machine::fail(const std::string& what, BlockId block) const {
  throw NotStructured(what, graph[block].items.empty() ? graph[block].exit_offset
                                                       : graph[graph[block].items[0]].offset);
}

Symbol Machine::variable(size_t slot) {
  if (variables.size() <= slot) variables.resize(slot + 1);
  if (!variables[slot].valid()) {
    variables[slot] = generated("stack_" + std::to_string(slot));
  }
  return variables[slot];
}

// Adds a name to those deleted at the end of the body.
void Machine::hide(Symbol name) {
  if (std::find(context.made.begin(), context.made.end(), name) == context.made.end()) {
    context.made.push_back(name);
  }
}

void Machine::hide_if_body(Symbol name) {
  if (scope != Scope::Function) hide(name);
}

// Returns a new name: the names that the module uses are all known.
Symbol Machine::generated(const std::string& stem) {
  std::string text = stem + suffix;
  while (tree.module().strings.find(text).valid()) text += "_";
  context.made.push_back(tree.intern(text));
  return context.made.back();
}

// Returns the name of the exception that is being handled at this level, 1 being the outermost.
Symbol Machine::exception_name(uint32_t level) {
  if (exceptions.size() <= level) exceptions.resize(level + 1);
  if (!exceptions[level].valid()) {
    std::string text = "exception_" + std::to_string(level) + suffix;
    while (tree.module().strings.find(text).valid()) text += "_";
    exceptions[level] = tree.intern(text);  // its clause deletes it
  }
  return exceptions[level];
}

void Machine::name_thrown() {
  if (thrown.valid()) return;
  thrown = generated("thrown");
  saved = generated("saved");
}

void set_state(Machine& machine, uint32_t index, Nodes& out) {
  const int64_t number = index == kFinished ? -1 : static_cast<int64_t>(index);
  out.push_back(machine.make.assign(machine.state_name, machine.make.integer(number)));
}

void go(Machine& machine, BlockId to, uint32_t level, Nodes& out) {
  set_state(machine, machine.state_of(to), out);
  if (machine.graph[to].exc_depth < level) out.push_back(machine.make.break_loop());
}

void hand_over(Machine& machine, NodeId exception, Nodes& out) {
  machine.name_thrown();
  out.push_back(machine.make.assign(machine.thrown, exception));
  out.push_back(machine.make.assign(
      machine.saved,
      machine.make.tuple(
          {machine.make.attribute(machine.make.name(machine.thrown), "__context__"),
           machine.make.attribute(machine.make.name(machine.thrown), "__traceback__")})));
}

NodeId restore(Machine& machine, NodeId exception) {
  machine.name_thrown();
  const Symbol name = machine.tree.as<ast::Name>(exception).id;
  const NodeId target =
      machine.make.tuple({machine.make.attribute(exception, "__context__"),
                          machine.make.attribute(machine.make.name(name), "__traceback__")});
  return machine.make.assign(target, machine.make.name(machine.saved));
}

ListId write(Machine& machine, const std::string& reason, uint32_t offset) {
  plan(machine);
  machine.make.at = {bytecode::kNoLine, offset};
  machine.state_name = machine.generated("state");
  for (const BlockId id : machine.graph.order()) {
    for (size_t p = 0; p < machine.graph[id].params.size(); ++p) {
      const Slot& slot = machine.slots(id, p);
      if (slot.is_variable())
        machine.context.materialized[machine.graph[id].params[p]] = machine.variable(p);
      if (slot.kind == SlotKind::Static)
        machine.graph.alias(machine.graph[id].params[p], slot.source);
    }
  }
  // Code before the loop consists of ordinary statements.
  apply_aliases(machine.graph);
  Nodes body, region;
  if (machine.entry_first) {
    block(machine, machine.graph.entry(), body);
  } else {
    set_state(machine, machine.state_of(machine.graph.entry()), region);
  }
  const bool in_front = machine.missing.valid();
  const Nodes loop = machine.arms.empty() ? Nodes() : level_loop(machine, 0);
  region.insert(region.end(), loop.begin(), loop.end());
  if (machine.missing.valid()) {
    Nodes& first = in_front ? body : region;
    first.insert(first.begin(), machine.make.assign(machine.missing, machine.make.list()));
  }
  if (machine.scope != Scope::Function) hide_names(machine, body, region);
  if (machine.arms.empty()) {
    // No further states: the body is complete. Class bodies begin with what the compiler put there.
    if (machine.scope != Scope::Function) {
      body.insert(body.end(), region.begin(), region.end());
      return machine.tree.list(body);
    }
    region.insert(region.begin(), body.begin(), body.end());
    body.clear();
  }
  const ast::Unstructured node{machine.tree.intern(reason), offset, machine.tree.list(region)};
  body.push_back(machine.make.add(node));
  return machine.tree.list(body);
}

Result<ListId> unstructured(const ir::Function& function, ast::Tree& tree,
                            std::vector<ListId>& bodies, BoundNames& bound,
                            const std::string& reason, uint32_t offset) {
  Replaced replaced(bodies);
  try {
    ir::Function renamed = function;
    rename_hidden_locals(renamed, tree);
    free_borrowed_cells(renamed, tree);
    Graph graph(std::move(renamed));
    Expressions expressions(graph.f, tree, bodies);
    Machine machine(graph, tree, expressions, replaced, bound);
    return write(machine, reason, offset);
  } catch (const NoBody& problem) {
    return Error{ErrorCode::Unsupported, problem.offset, problem.what()};
  } catch (const NotStructured& problem) {
    return Error{ErrorCode::Unsupported, problem.offset, problem.what()};
  }
}

}  // namespace pellucid::fallback
