// SPDX-License-Identifier: Apache-2.0
#include "fallback/state_machine.h"

#include <algorithm>
#include <cstdio>

#include "fallback/borrowed.h"
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

}  // namespace

Machine::Machine(Graph& graph, ast::Tree& tree, Expressions& expressions, Replaced& bodies,
                 BoundNames& bound)
    : graph_(graph),
      tree_(tree),
      expressions_(expressions),
      bodies_(bodies),
      context_{graph, tree, expressions},
      make_(tree, bound),
      slots_(graph, tree.module()),
      suffix_("_" + std::to_string(graph.f.code.value)) {
  const object::Module& module = tree.module();
  if (is_class_or_module(module[graph.f.code])) {
    scope_ = module.root == graph.f.code ? Scope::Module : Scope::Class;
  }
  for (size_t v = 0; v < graph.f.values.size(); ++v) {
    if (graph.f.values[v].kind != ValueKind::Element) continue;
    elements_[graph.f.operands(ValueId(v))[0]].push_back(ValueId(v));
  }
  deepest_.resize(graph.f.handlers.size(), 0);
  for (const BlockId b : graph.order()) {
    if (!graph[b].handler.valid()) continue;
    size_t& deepest = deepest_[graph[b].handler.index()];
    deepest = std::max(deepest, graph[b].params.size());
  }
  if (scope_ == Scope::Function) return;
  for (const ir::Value& value : graph.f.values) {
    if (is_op(value, Op::StoreFast)) hide(value.symbol());
  }
}

void Machine::fail(const std::string& what, BlockId block) const {
  throw NotStructured(what, graph_[block].items.empty() ? graph_[block].exit_offset
                                                        : graph_[graph_[block].items[0]].offset);
}

// Returns a new name: the names that the module uses are all known.
Symbol Machine::generated(const std::string& stem) {
  std::string text = stem + suffix_;
  while (tree_.module().strings.find(text).valid()) text += "_";
  context_.made.push_back(tree_.intern(text));
  return context_.made.back();
}

Symbol Machine::variable(size_t slot) {
  if (variables_.size() <= slot) variables_.resize(slot + 1);
  if (!variables_[slot].valid()) {
    variables_[slot] = generated("stack_" + std::to_string(slot));
  }
  return variables_[slot];
}

// Adds a name to those deleted at the end of the body.
void Machine::hide(Symbol name) {
  if (std::find(context_.made.begin(), context_.made.end(), name) == context_.made.end()) {
    context_.made.push_back(name);
  }
}

void Machine::hide_if_body(Symbol name) {
  if (scope_ != Scope::Function) hide(name);
}

// Returns the name of the exception that is being handled at this level, 1 being the outermost.
Symbol Machine::exception_name(uint32_t level) {
  if (exceptions_.size() <= level) exceptions_.resize(level + 1);
  if (!exceptions_[level].valid()) {
    std::string text = "exception_" + std::to_string(level) + suffix_;
    while (tree_.module().strings.find(text).valid()) text += "_";
    exceptions_[level] = tree_.intern(text);  // its clause deletes it
  }
  return exceptions_[level];
}

ListId Machine::run(const std::string& reason, uint32_t offset) {
  plan();
  make_.at = {bytecode::kNoLine, offset};
  state_name_ = generated("state");
  for (const BlockId id : graph_.order()) {
    for (size_t p = 0; p < graph_[id].params.size(); ++p) {
      const Slot& slot = slots_(id, p);
      if (slot.is_variable()) context_.materialized[graph_[id].params[p]] = variable(p);
      if (slot.kind == SlotKind::Static) graph_.alias(graph_[id].params[p], slot.source);
    }
  }
  // Code before the loop consists of ordinary statements.
  graph_.apply_aliases();
  Nodes body, region;
  if (entry_first_) {
    block(graph_.entry(), body);
  } else {
    set_state(state_of(graph_.entry()), region);
  }
  const bool in_front = missing_.valid();
  const Nodes loop = arms_.empty() ? Nodes() : level_loop(0);
  region.insert(region.end(), loop.begin(), loop.end());
  if (missing_.valid()) {
    Nodes& first = in_front ? body : region;
    first.insert(first.begin(), make_.assign(missing_, make_.empty_list()));
  }
  if (scope_ != Scope::Function) hide_names(body, region);
  if (arms_.empty()) {
    // No further states: the body is complete. Class bodies begin with what the compiler put there.
    if (scope_ != Scope::Function) {
      body.insert(body.end(), region.begin(), region.end());
      return tree_.list(body);
    }
    region.insert(region.begin(), body.begin(), body.end());
    body.clear();
  }
  const ast::Unstructured node{tree_.intern(reason), offset, tree_.list(region)};
  body.push_back(tree_.add(node, make_.at));
  return tree_.list(body);
}

namespace {

// Returns true for statements that must come first: docstrings, imports from __future__, and what
// the compiler begins classes with.
bool stays_in_front(const ast::Tree& tree, NodeId statement) {
  if (tree.is(statement, ast::Kind::ImportFrom)) {
    const Symbol module = tree.as<ast::ImportFrom>(statement).module;
    return module.valid() && tree.text(module) == "__future__";
  }
  if (!tree.is(statement, ast::Kind::Assign)) return false;
  const auto targets = tree.items(tree.as<ast::Assign>(statement).targets);
  if (targets.size() != 1 || !tree.is(targets[0], ast::Kind::Name)) return false;
  const std::string_view name = tree.text(tree.as<ast::Name>(targets[0]).id);
  return name == "__doc__" || name == "__module__" || name == "__qualname__" ||
         name == "__firstlineno__" || name == "__type_params__" || name == "__classdict__";
}

}  // namespace

// Sets the generated names of a module or class body at its start and deletes them at its end: none
// may remain, and none may appear while other code iterates over the names.
void Machine::hide_names(Nodes& front, Nodes& end) {
  if (context_.made.empty()) return;
  size_t at = 0;
  while (at < front.size() && stays_in_front(tree_, front[at])) ++at;
  front.insert(front.begin() + static_cast<ptrdiff_t>(at),
               make_.assign_all(context_.made, make_.none()));
  end.push_back(make_.delete_all(context_.made));
}

void Machine::set_state(uint32_t index, Nodes& out) {
  const int64_t number = index == kFinished ? -1 : static_cast<int64_t>(index);
  out.push_back(make_.assign(state_name_, make_.integer(number)));
}

// Appends the jump to the next state, at the end of a block of this level.
void Machine::go(BlockId to, uint32_t level, Nodes& out) {
  set_state(state_of(to), out);
  if (graph_[to].exc_depth < level) out.push_back(make_.break_loop());
}

Machine::Nodes Machine::level_loop(uint32_t level) {
  if (level > kDeepestLevel) {
    throw NotStructured("exceptions that are handled while others are, too deeply", 0);
  }
  uint32_t low = 0;
  while (low < arms_.size() && arms_[low].level < level) ++low;
  uint32_t high = low;
  bool catches = false;
  for (; high < arms_.size() && arms_[high].level == level; ++high) {
    catches |= arms_[high].raises || arms_[high].handler.valid();
  }
  Nodes body = dispatch(low, high, level);
  if (catches) {
    // The states of the next level are written inside the clause.
    const Nodes clause = exception_clause(level);
    const NodeId handler =
        make_.handler(make_.builtin("BaseException"), exception_name(level + 1), clause);
    body = {make_.try_except(body, {handler})};
  }
  return {make_.forever(body)};
}

Machine::Nodes Machine::dispatch(uint32_t low, uint32_t high, uint32_t level) {
  if (high - low > kChain) {
    const uint32_t middle = low + (high - low) / 2;
    const NodeId test =
        make_.compare(make_.name(state_name_), CmpOperator::Lt, make_.integer(middle));
    return {make_.if_else(test, dispatch(low, middle, level), dispatch(middle, high, level))};
  }
  // A state of an outer level ends the loop of this one.
  const bool may_leave = level > 0 || scope_ != Scope::Function;
  Nodes chain;
  if (may_leave) chain = {make_.break_loop()};
  for (uint32_t i = high; i-- > low;) {
    const Nodes body = state(i);
    if (chain.empty() && !may_leave) {
      chain = body;
      continue;
    }
    const NodeId test = make_.compare(make_.name(state_name_), CmpOperator::Eq, make_.integer(i));
    chain = {make_.if_else(test, body, chain)};
  }
  return chain;
}

Machine::Nodes Machine::state(uint32_t index) {
  Nodes out;
  if (arms_[index].raises) {
    name_thrown();
    out.push_back(make_.raise(make_.name(thrown_)));
  } else {
    block(arms_[index].block, out);
  }
  return out;
}

// Returns the clause that finds the handler of an exception at this level: one test for each run of
// states with the same handler.
Machine::Nodes Machine::exception_clause(uint32_t level) {
  Nodes clause, chain;
  const auto same = [&](uint32_t a, uint32_t b) {
    return !arms_[a].raises && !arms_[b].raises && arms_[a].handler == arms_[b].handler;
  };
  uint32_t low = 0;
  while (arms_[low].level < level) ++low;
  uint32_t high = low;
  while (high < arms_.size() && arms_[high].level == level) ++high;
  for (uint32_t end = high; end > low;) {
    uint32_t begin = end - 1;
    while (begin > low && same(begin - 1, begin)) --begin;
    const Nodes body = landing(begin, level);
    if (end == high) {
      chain = body;
    } else {
      const NodeId test =
          make_.compare(make_.name(state_name_), CmpOperator::Lt, make_.integer(end));
      chain = {make_.if_else(test, body, chain)};
    }
    end = begin;
  }
  clause = chain;
  if (high < arms_.size() && arms_[high].level == level + 1) {
    const Nodes inner = level_loop(level + 1);
    clause.insert(clause.end(), inner.begin(), inner.end());
  }
  return clause;
}

// Returns what the clause does with an exception of one state.
Machine::Nodes Machine::landing(uint32_t index, uint32_t level) {
  const Arm& arm = arms_[index];
  Nodes out;
  if (arm.raises) {
    out.push_back(restore(exception_at(level + 1)));
    out.push_back(make_.assign_all({thrown_, saved_}, make_.none()));
    if (arm.handler.valid()) {
      land(arm.handler, level, out);
    } else {
      set_state(state_of(graph_[arm.block].next[0].to), out);
    }
    return out;
  }
  if (!arm.handler.valid()) return {make_.raise()};
  if (level_of(graph_.f.handlers[arm.handler.index()]) == level) {
    land(arm.handler, level, out);
    return out;
  }
  // For an outer handler: raised again where no exception of this level is being handled.
  hand_over(exception_at(level + 1), out);
  set_state(raised_to_[arm.handler.index()], out);
  out.push_back(make_.break_loop());
  return out;
}

void Machine::name_thrown() {
  if (thrown_.valid()) return;
  thrown_ = generated("thrown");
  saved_ = generated("saved");
}

// Keeps an exception with its context and traceback, to be raised elsewhere.
void Machine::hand_over(NodeId exception, Nodes& out) {
  name_thrown();
  out.push_back(make_.assign(thrown_, exception));
  out.push_back(
      make_.assign(saved_, make_.tuple({make_.attribute(make_.name(thrown_), "__context__"),
                                        make_.attribute(make_.name(thrown_), "__traceback__")})));
}

// Restores both: raising the exception again has changed its context and added to its traceback.
NodeId Machine::restore(NodeId exception) {
  name_thrown();
  const Symbol name = tree_.as<ast::Name>(exception).id;
  const NodeId target = make_.tuple({make_.attribute(exception, "__context__"),
                                     make_.attribute(make_.name(name), "__traceback__")});
  return make_.assign(target, make_.name(saved_));
}

// Continues at a handler, with the exception in its stack slot.
void Machine::land(HandlerId id, uint32_t level, Nodes& out) {
  const flow::Handler& handler = graph_.f.handlers[id.index()];
  BlockId target = handler.entry;
  size_t slot = handler.depth + handler.pushes - 1;
  if (handler.is_on_block_stack()) {
    slot = handler.depth + 4;
  } else if (only_pushes(graph_, target)) {
    // After the values that PUSH_EXC_INFO pushed.
    target = graph_[target].next[0].to;
    ++slot;
  }
  if (slots_(target, slot).is_variable()) {
    out.push_back(make_.assign(variable(slot), exception_at(level + 1)));
  }
  // The slots above are cleared.
  std::vector<Symbol> gone;
  for (size_t s = handler.depth; s < deepest_[id.index()] && s < variables_.size(); ++s) {
    const bool is_set = s < graph_[target].params.size() && slots_(target, s).is_variable();
    if (variables_[s].valid() && !is_set) gone.push_back(variables_[s]);
  }
  if (!gone.empty()) out.push_back(make_.assign_all(gone, make_.none()));
  set_state(state_of(target), out);
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
    return Machine(graph, tree, expressions, replaced, bound).run(reason, offset);
  } catch (const NoBody& problem) {
    return Error{ErrorCode::Unsupported, problem.offset, problem.what()};
  } catch (const NotStructured& problem) {
    return Error{ErrorCode::Unsupported, problem.offset, problem.what()};
  }
}

}  // namespace pellucid::fallback
