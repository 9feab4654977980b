// SPDX-License-Identifier: Apache-2.0
// Statements: a straight run of items -> statements.
//
// Compiled expressions evaluate their operands in order, so a run of values is read like a postfix
// expression: each value goes to the end of `pending_`, each consumer takes its operands from
// there. Stores, deletes and the like are statements; what is pending then was evaluated before
// them. If a value is used twice, or not in the order of evaluation, either a form of Python
// explains it (a = b = v; a, b = b, a; x.y += v; (n := v); a < v < b), or the value is *spilled*:
// assigned to a temporary, in the order of evaluation, so that no effect ever moves.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ast/tree.h"
#include "structure/expressions/expressions.h"
#include "structure/graph/graph.h"
#include "structure/graph/loops.h"
#include "structure/graph/not_structured.h"
#include "structure/statements/inlined_names.h"

namespace pellucid::structure {

// The state that the statements of one function share.
struct FunctionContext {
  Graph& graph;
  ast::Tree& tree;
  Expressions& expressions;
  std::unordered_map<ValueId, Symbol> materialized = {};  // values that a name holds
  // Of ForIter items and BeforeWith results, while their bodies are read; invalid: none so far.
  std::unordered_map<ValueId, ast::NodeId> targets = {};
  std::unordered_map<ValueId, ast::NodeId> managers = {};  // BeforeWith -> context expression
  std::unordered_set<ValueId> iterators = {};              // GetIter values that a loop consumes
  std::unordered_set<ValueId> accumulators = {};           // containers that comprehensions fill
  std::unordered_map<ast::NodeId, ast::NodeId> subjects = {};  // first match_case -> subject
  std::unordered_set<ValueId> dropped = {};                    // values whose only use is a Pop
  uint32_t temporaries = 0;
  std::vector<Symbol> made = {};  // names that were invented
  // The block of the statements, if they are nested as control flows. Invalid: they are on an edge
  // out of a block.
  BlockId here = {};
  const Analysis* analysis = nullptr;                 // of the blocks, if they are nested
  std::unordered_map<ValueId, Symbol> kept_as = {};   // temporaries, once they were made
  std::unordered_map<ValueId, BlockId> kept_in = {};  // the blocks that assigned them last
  InlinedNames inlined_names = InlinedNames(tree);
  std::unordered_set<ast::NodeId> without_literals = {};  // expressions that were searched

  Symbol nothing = {};  // the name for values that nothing reads

  // The values that an expression evaluates before it makes a function are assigned before the
  // function's statement, so that their order stays, at the cost of names for them.
  bool keeps_functions_in_place = false;

  bool is_trial = false;  // nothing of it is written: no name is invented

  Symbol fresh_name(const char* stem);

  // Returns the name of a definition that is put before its expression: its own name, or a similar
  // one that is unused.
  Symbol name_of_definition(ast::NodeId literal);

  // targets.cpp
  Symbol name_of_nothing();
  void name_given(ValueId giver, ValueId value);

  // Throws unless every path to this place has assigned the temporary of the value, if it is one.
  void check_kept(ValueId id) const;
};

class Statements {
 public:
  explicit Statements(FunctionContext& context) : c_(context) {}

  // Starts the body of the loop or `with` that gives this value.
  void begin_body(ValueId giver) { giver_ = giver; }

  // Reads items in order.
  void run(std::span<const ValueId> items);

  // Returns the expression of a pending or materialised value, which this use consumes.
  ast::NodeId take(ValueId id);

  // Returns the expressions of several values, evaluated in this order.
  std::vector<ast::NodeId> take_many(std::span<const ValueId> ids);

  // Assigns every pending value that is not reloadable to a temporary.
  void spill_all();

  // Does the same, also for locals that were loaded and are not used yet, except for adopted ones
  // if `own_only`.
  void settle(bool own_only = false);

  // Takes over the locals that `other` has loaded and not used yet. They have to be forgotten at
  // the end: temporaries that this run made for them hold on its path only.
  void adopt(const Statements& other);
  void forget_adopted();

  // Assigns the arguments of an edge to the names of the parameters of its target.
  void pass(const ir::Edge& edge);

  // Appends a statement, after spilling what is pending.
  void append(ast::NodeId statement);

  // Returns the number of pending values that are not reloadable.
  size_t hard_pending() const;

  // Returns all statements; none may be incomplete.
  std::vector<ast::NodeId> take_list();
  const std::vector<ast::NodeId>& list() const { return list_; }

  // Returns the name under which the handled exception was stored at the start, if any. Only a
  // clause can have it: no other list may hold one.
  Symbol take_caught() { return std::exchange(caught_, {}); }

  // Makes `id` pending with a given expression.
  void preload(ValueId id, ast::NodeId node) { pending_.push_back({id, node, 1, false, false}); }

 private:
  struct Entry {
    ValueId value;
    ast::NodeId node;  // invalid for reloadable values: made on each use
    uint32_t uses_left;
    bool reloadable;       // a constant, or a local that no store has changed since
    bool adopted = false;  // loaded on the path that leads here
  };
  // A target list that is being filled: `a, (b, c) = v`.
  struct Unpacking {
    ValueId value;  // the unpacked value
    std::vector<ast::NodeId> slots;
    size_t filled = 0;
    uint32_t star = ~0u;
    std::vector<ValueId> loaded;  // loads of locals before it that are still needed
  };
  // `a = b = v` so far.
  struct Assignment {
    ValueId value;
    std::vector<ast::NodeId> targets;
  };
  // `a, b = v, w`, whose right side is never built.
  struct Group {
    std::vector<ValueId> values;
    std::vector<ast::NodeId> nodes;
    std::vector<ast::NodeId> targets;
    size_t filled = 0;
  };

  void step(std::span<const ValueId> items, size_t i);
  void expression(std::span<const ValueId> items, size_t i);
  bool named_statement(ValueId id, ast::Where at);
  ast::NodeId annotated(ast::NodeId node, ast::Where at);
  void dropped_constant(ValueId id);
  bool is_constant_slice(ValueId id) const;
  void region(ValueId id);
  ast::NodeId part(const Part& part, ValueId pivot);
  bool holds_lost_test(ValueId id) const;
  std::vector<ast::NodeId> in_brackets(const std::vector<ast::NodeId>& values,
                                       const std::vector<size_t>& lost, uint32_t op, ast::Where at);
  ast::NodeId pattern(PatternId id);
  ast::NodeId pattern_of(const Pattern& pattern, ast::Where at);
  void store(std::span<const ValueId> items, size_t i);
  void deliver(std::span<const ValueId> items, size_t i, ValueId value, ast::NodeId target);
  bool receives(ValueId giver, ValueId value, ast::NodeId target);
  std::vector<ValueId> loaded_before(ValueId unpacked) const;
  bool is_load_before(const Unpacking& unpacking, const Entry& entry) const;
  void check_unpacked(const Unpacking& unpacking, ast::NodeId target) const;
  void protect_unpacked(const Unpacking& unpacking, ast::NodeId target);
  std::vector<Symbol> names_in(ast::NodeId target) const;
  void assign(ValueId value, ast::NodeId target, ast::Where where);
  bool are_locals_once(std::span<const ValueId> stores) const;
  bool start_group(std::span<const ValueId> items, size_t i, ValueId value);
  bool is_in_group(ValueId value) const;
  void finish_group(Group& group, ast::Where where);
  void unpack(std::span<const ValueId> items, size_t i);
  ValueId overwriting_store(std::span<const ValueId> items, size_t i) const;
  bool is_walrus(ValueId id) const;
  bool unpacks_into_targets(std::span<const ValueId> items, size_t i) const;
  uint32_t stored_at_once(std::span<const ValueId> items, size_t i) const;
  size_t next_use(std::span<const ValueId> items, size_t i, ValueId value);
  bool augmented_load(std::span<const ValueId> items, size_t i);
  void use_once(const std::vector<ValueId>& bases);
  bool augmented_store(ValueId id);
  bool is_used_as_it_is(std::span<const ValueId> items, size_t i);
  bool import(std::span<const ValueId> items, size_t i);
  bool stored_import(ValueId id, Symbol name);
  ValueId entered(ValueId id) const;
  bool annotates(std::span<const ValueId> items, size_t i) const;
  ValueId element_of(ValueId unpacked, uint32_t index) const;
  template <typename Visit>
  void for_each_element(ValueId unpacked, Visit visit) const;
  ast::NodeId inlined_comprehension(const Region& region, ast::NodeId iterable, ast::Where at);
  void comprehension_element(ValueId id);
  ast::NodeId comprehension_of(Op container, ast::NodeId elt,
                               const std::vector<ast::NodeId>& generators, ast::Where at);
  bool is_read_as_global(const Region& region, Symbol name) const;
  void mention_dead_names(const Region& region, ast::NodeId comprehension, bool is_reached);

  std::vector<ast::NodeId> take_all(std::span<const ValueId> ids);
  bool stands_in_front(ast::NodeId node) const;
  bool is_decorated(std::span<const ValueId> items, size_t i, ast::NodeId function) const;
  bool is_movable(const Entry& entry) const;
  bool are_names(const std::vector<ast::NodeId>& targets) const;
  bool is_part_of_expression(ValueId id);
  size_t first_in_order(std::span<const ValueId> ids);
  void spill_until(size_t end);
  void spill_entry(Entry& entry);
  bool is_load_of(const Entry& entry, Symbol local) const;
  size_t protect(Symbol local, size_t begin = 0, size_t end = ~size_t{0});
  size_t protect_targets(size_t index);
  bool is_assigned_above(size_t index) const;
  bool has_called_above(size_t index) const;
  bool is_annotation(ast::NodeId target) const;
  bool is_left_unfolded(ast::NodeId root) const;
  void settle_loads_below(std::span<const ValueId> ids, size_t at);
  bool reads_out_of_order(std::span<const ValueId> ids, size_t at) const;
  void settle_dropped();
  void push(ValueId id, ast::NodeId node, bool reloadable);
  size_t find(ValueId id, size_t guess = ~size_t{0}) const;
  ast::NodeId remake(ValueId id);
  ast::NodeId name(Symbol symbol, ast::Where where = {});
  ast::NodeId hoist_literals(ast::NodeId node);
  void hoist_within(std::span<const ast::NodeId> nodes);
  void hoist_from_header(ast::NodeId definition);
  void refuse_unstructured(ast::NodeId literal) const;
  Assignment* assignment_of(ValueId id);
  const Assignment* assignment_of(ValueId id) const {
    return const_cast<Statements*>(this)->assignment_of(id);
  }
  ast::Where where(ValueId id) const { return {c_.graph[id].line, c_.graph[id].offset}; }
  std::span<const ValueId> operands(ValueId id) const;

  FunctionContext& c_;
  std::vector<Entry> pending_;
  std::vector<ast::NodeId> list_;
  std::vector<Unpacking> unpackings_;
  std::vector<Assignment> assignments_;
  std::vector<Group> groups_;
  Symbol caught_;
  ValueId giver_;
  std::vector<ValueId> adopted_;
  std::unordered_map<ValueId, std::pair<size_t, size_t>> slots_;  // Element -> unpacking, slot
  std::unordered_set<ValueId> augmented_;  // Binary values whose store is an augmented assignment
  std::unordered_set<ValueId> skipped_;    // items that another one includes
  std::unordered_map<ValueId, std::vector<ast::NodeId>> imports_;  // ImportName -> aliases so far
  std::span<const ValueId> uses_in_;                               // the items indexed in `uses_`
  std::vector<std::pair<ValueId, size_t>> uses_;  // by each item: value, index; sorted
};

}  // namespace pellucid::structure
