// SPDX-License-Identifier: Apache-2.0
// A graph of slots -> the loops and states of unstructured.h.
//
// plan.h chooses the states; state_machine.cpp writes the loops around them, blocks.h one block,
// items.h and plain.h its items, match.h and star.h those of `match` and `except*`.
#pragma once

#include <span>
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

using Nodes = CodeMaker::Nodes;

// A state. Its block runs at its level. If `raises`: the kept exception is raised again, to be
// caught at its level, and control continues at its block.
struct Arm {
  BlockId block;
  uint32_t level = 0;
  HandlerId handler;  // of the block; if `raises`: the one that catches, invalid after a push
  bool raises = false;
};
enum class Scope : uint8_t { Function, Class, Module };

// What is known while the states of a body are written.
struct Machine {
  Machine(Graph& of, ast::Tree& into, Expressions& reads, Replaced& nested, BoundNames& bound);

  [[noreturn]] void fail(const std::string& what, BlockId block) const;

  uint32_t state_of(BlockId block) const { return arm_of[block.index()]; }
  bool is_inlined(BlockId block) const { return !is_head[block.index()]; }
  std::span<const ValueId> operands(ValueId id) const { return graph.f.operands(id); }

  // -- names --

  // Returns the name of a stack slot.
  Symbol variable(size_t slot);
  // Returns a new name: the names that the module uses are all known.
  Symbol generated(const std::string& stem);
  // Adds a name to those deleted at the end of the body.
  void hide(Symbol name);
  void hide_if_body(Symbol name);
  // Names the exception that is raised elsewhere, and what is kept of it.
  void name_thrown();
  // Returns the name of the exception that is being handled at this level, 1 being the outermost.
  Symbol exception_name(uint32_t level);
  ast::NodeId exception_at(uint32_t level) { return make.name(exception_name(level)); }

  Graph& graph;
  ast::Tree& tree;
  Expressions& expressions;
  Replaced& bodies;  // the same bodies that `expressions` reads
  FunctionContext context;
  CodeMaker make;
  Slots slots;
  Scope scope = Scope::Function;
  std::string suffix;  // of every generated name: the number of the code object
  std::vector<Arm> arms;
  std::vector<uint8_t> is_head;     // by block: 1 if it starts a state
  std::vector<uint32_t> arm_of;     // by block: its arm
  std::vector<uint32_t> raised_to;  // by handler: the arm that raises for it, or ~0
  std::vector<uint32_t> pushed_by;  // by block: the arm that raises what it pushes, or ~0
  std::vector<size_t> deepest;      // by handler: the most slots in its region
  std::vector<Symbol> variables;    // by slot
  std::vector<Symbol> exceptions;   // by level
  std::unordered_map<ValueId, std::vector<ValueId>> elements;
  Symbol state_name, thrown, saved, missing;
  ast::NodeId waiting;       // the operand of an `await` that is not complete
  bool entry_first = false;  // the entry's arm runs before the loop
};

// Appends the store of the next state.
void set_state(Machine& machine, uint32_t index, Nodes& out);
// Appends the jump to the next state, at the end of a block of this level.
void go(Machine& machine, BlockId to, uint32_t level, Nodes& out);
// Keeps an exception with its context and traceback, to be raised elsewhere.
void hand_over(Machine& machine, ast::NodeId exception, Nodes& out);
// Returns a statement that restores the context and the traceback of an exception: raising it again
// has changed the one and added to the other.
ast::NodeId restore(Machine& machine, ast::NodeId exception);

}  // namespace pellucid::fallback
