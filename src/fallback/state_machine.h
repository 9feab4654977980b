// SPDX-License-Identifier: Apache-2.0
// Machine: a graph of slots -> the loops and states of unstructured.h.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fallback/code_maker.h"
#include "fallback/slots.h"
#include "structure/statements/statements.h"

namespace pellucid::fallback {

// Thrown where not even a state can be written. Callers that try another form must not catch it.
class NoBody : public std::runtime_error {
 public:
  NoBody(const std::string& what, uint32_t at) : std::runtime_error(what), offset(at) {}
  uint32_t offset;
};

// The bodies of nested functions, a few of them replaced during the lifetime of this object.
class Replaced {
 public:
  explicit Replaced(std::vector<ast::ListId>& bodies) : bodies_(bodies) {}
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;
  ~Replaced() {
    for (size_t i = before_.size(); i-- > 0;) bodies_[before_[i].first] = before_[i].second;
  }

  ast::ListId operator[](size_t index) const { return bodies_[index]; }
  void replace(size_t index, ast::ListId body) {
    before_.emplace_back(index, std::exchange(bodies_[index], body));
  }

 private:
  std::vector<ast::ListId>& bodies_;
  std::vector<std::pair<size_t, ast::ListId>> before_;
};

class Machine {
 public:
  Machine(Graph& graph, ast::Tree& tree, Expressions& expressions, Replaced& bodies,
          BoundNames& bound);

  ast::ListId run(const std::string& reason, uint32_t offset);

 private:
  using Nodes = std::vector<ast::NodeId>;

  // A state. Its block runs at its level. If `raises`: the kept exception is raised again, to be
  // caught at its level, and control continues at its block.
  struct Arm {
    BlockId block;
    uint32_t level = 0;
    HandlerId handler;  // of the block; if `raises`: the one that catches, invalid after a push
    bool raises = false;
  };
  enum class Scope : uint8_t { Function, Class, Module };

  // plan.cpp: the states
  void plan();
  void choose_heads();
  uint32_t state_of(BlockId block) const { return state_[block.index()]; }
  bool is_inlined(BlockId block) const { return !is_head_[block.index()]; }
  bool is_pure_entry(BlockId block) const;

  // state_machine.cpp: the loops
  Nodes level_loop(uint32_t level);
  Nodes dispatch(uint32_t low, uint32_t high, uint32_t level);
  Nodes state(uint32_t index);
  Nodes exception_clause(uint32_t level);
  Nodes landing(uint32_t index, uint32_t level);
  void land(HandlerId handler, uint32_t level, Nodes& out);
  void go(BlockId to, uint32_t level, Nodes& out);
  void set_state(uint32_t index, Nodes& out);
  void hide_names(Nodes& front, Nodes& end);
  ast::NodeId restore(ast::NodeId exception);
  void hand_over(ast::NodeId exception, Nodes& out);

  // blocks.cpp: one block after the other
  void block(BlockId id, Nodes& out);
  Nodes statements_of(BlockId id);
  void leave(BlockId id, Statements& code);
  void fork(BlockId id, ast::NodeId test, uint8_t yes, Statements& code);
  Nodes way(BlockId id, uint8_t edge, const Statements& code);
  void pass(BlockId id, uint8_t edge, Statements& code);
  void for_iter(BlockId id, Statements& code);
  void send(BlockId id, Statements& code);
  void finish_with(BlockId id, Statements& code);
  void reraise(BlockId id, Statements& code);
  void raise_as_it_is(ast::NodeId exception, Statements& code);
  Symbol home(BlockId id, ValueId value);
  void check_uses(BlockId id) const;

  // items.cpp: items without a Python statement
  void items(BlockId id, Statements& code);
  bool is_special(const std::vector<ValueId>& all, size_t i) const;
  size_t special(BlockId block, size_t index, Statements& code);
  void keep(BlockId block, ValueId id, ast::NodeId value, Statements& code);
  Symbol named(ValueId id, const char* stem, Statements& code);
  void enter_with(BlockId block, ValueId id, Statements& code);
  bool is_handled(ValueId value, uint32_t level) const;
  void exception_match(BlockId block, ValueId id, Statements& code);
  void end_async_for(BlockId block, Statements& code);
  void clear_local(BlockId block, ValueId id, Statements& code);
  void restore_local(ValueId id, Statements& code);
  void add_to_container(ValueId id, Statements& code);
  bool is_left_out(ValueId id) const;
  bool needs_definition(ValueId id) const;
  void remake_functions(BlockId id, Statements& code, bool preloads);
  ast::NodeId made_for_a_call(ValueId function);
  bool is_iterated_by_comprehension(const std::vector<ValueId>& all, size_t i) const;
  bool is_passed_on(const std::vector<ValueId>& all, size_t i) const;
  size_t function(BlockId block, size_t index, Statements& code);
  Symbol define(ast::NodeId literal, Statements& code);

  // match.cpp: the same for patterns
  void match_kind(BlockId block, ValueId id, ast::NodeId pattern, Statements& code);
  void match_keys(BlockId block, ValueId id, Statements& code);
  void match_class(BlockId block, ValueId id, Statements& code);
  void copy_without_keys(BlockId block, ValueId id, Statements& code);
  void found_or_not(ValueId id, Symbol values, Statements& code);

  // star.cpp: the same for `except*`
  bool ends_in_split(BlockId id) const;
  void handle_match(BlockId id, Nodes& out);
  void split_group(BlockId block, ValueId id, Statements& code);
  void join_raised(BlockId block, ValueId id, Statements& code);

  // plain.cpp: the same without looking at neighbours
  void plain(BlockId id, Statements& code);
  void plain_item(ValueId id, Statements& code);
  ast::NodeId operand(ValueId id);
  Nodes operand_nodes(ValueId id);
  void plain_update(ValueId id, Statements& code);
  void plain_import(ValueId id, Statements& code);
  Symbol plain_function(ValueId id, Statements& code);
  Symbol name_of_function(ast::NodeId function) const;
  void set_attribute(ast::NodeId function, uint32_t flag, ast::NodeId value, Statements& code);

  [[noreturn]] void fail(const std::string& what, BlockId block) const;
  Symbol variable(size_t slot);
  void name_thrown();
  void hide(Symbol name);
  void hide_if_body(Symbol name);
  Symbol generated(const std::string& stem);
  ast::NodeId exception_at(uint32_t level) { return make_.name(exception_name(level)); }
  Symbol exception_name(uint32_t level);
  std::span<const ValueId> operands(ValueId id) const { return graph_.f.operands(id); }

  Graph& graph_;
  ast::Tree& tree_;
  Expressions& expressions_;
  Replaced& bodies_;  // the same bodies that `expressions_` reads
  FunctionContext context_;
  CodeMaker make_;
  Slots slots_;
  Scope scope_ = Scope::Function;
  std::string suffix_;  // of every generated name: the number of the code object
  std::vector<Arm> arms_;
  std::vector<uint8_t> is_head_;     // by block: 1 if it starts a state
  std::vector<uint32_t> state_;      // by block: its arm
  std::vector<uint32_t> raised_to_;  // by handler: the arm that raises for it, or ~0
  std::vector<uint32_t> pushed_by_;  // by block: the arm that raises what it pushes, or ~0
  std::vector<size_t> deepest_;      // by handler: the most slots in its region
  std::vector<Symbol> variables_;    // by slot
  std::vector<Symbol> exceptions_;   // by level
  std::unordered_map<ValueId, std::vector<ValueId>> elements_;
  Symbol state_name_, thrown_, saved_, missing_;
  ast::NodeId waiting_;       // the operand of an `await` that is not complete
  bool entry_first_ = false;  // the entry's arm runs before the loop
};

}  // namespace pellucid::fallback
