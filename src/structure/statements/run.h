// SPDX-License-Identifier: Apache-2.0
// Shared by the files of statements: the state of one run, and the functions that read its items.
//
// A function that reads items[i] pushes its value or appends its statement. To find the form that
// the item is part of, it may look at those after it. A form of several items (an unpacking, a
// group, an augmented assignment, an import) is kept here from its first item to its last.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "structure/statements/evaluation_stack.h"
#include "structure/statements/function_context.h"

namespace pellucid::structure {

using Items = std::span<const ValueId>;

// A target list that is being filled: `a, (b, c) = v`.
struct Unpacking {
  ValueId value;  // the unpacked value
  std::vector<ast::NodeId> slots;
  size_t filled = 0;
  uint32_t star = ~0u;
  std::vector<ValueId> loaded;  // loads of locals before it that are still needed
};

struct Unpackings {
  struct Slot {
    size_t unpacking;  // an index into `all`
    size_t index;
  };
  std::vector<Unpacking> all;
  std::unordered_map<ValueId, Slot> slots;  // of Element values
};

// `a, b = v, w`, whose right side is never built.
struct Group {
  std::vector<ValueId> values;
  std::vector<ast::NodeId> nodes;
  std::vector<ast::NodeId> targets;
  size_t filled = 0;
};

// Augmented assignments to attributes and items.
struct AugmentedAssignments {
  std::unordered_set<ValueId> changed;  // Binary values whose store is an augmented assignment
  Items items;                          // those indexed in `uses`
  std::vector<std::pair<ValueId, size_t>> uses;  // by each item: value, index; sorted
};

// The forms of several items that were begun. Most runs have none.
struct Forms {
  Unpackings unpackings;
  AugmentedAssignments augmented;
  std::unordered_map<ValueId, std::vector<ast::NodeId>> imports;  // ImportName -> aliases so far
  std::unordered_set<ValueId> skipped;                            // items that another one includes
};

struct Run {
  explicit Run(FunctionContext& c) : context(c), graph(c.graph), tree(c.tree), stack(c, list) {
    constexpr size_t kUsual = 8;  // most lists have no more statements
    list.reserve(kUsual);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  FunctionContext& context;
  Graph& graph;
  ast::Tree& tree;
  std::vector<ast::NodeId> list;  // the statements so far
  EvaluationStack stack;
  std::optional<Group> group;
  Symbol caught;  // the name of the handled exception, stored at the start
  ValueId giver;  // gives the value of the loop or `with` whose body this is

  std::span<const ValueId> operands(ValueId id) const { return context.operands(id); }
  ValueId operand(ValueId id, size_t n) const { return context.operand(id, n); }
  ast::Where where(ValueId id) const { return context.where(id); }
  ast::NodeId name(Symbol symbol, ast::Where at) { return context.name(symbol, at); }

  // To begin a form, and to look for one.
  Forms& forms() {
    if (!forms_) forms_ = std::make_unique<Forms>();
    return *forms_;
  }
  const Forms& known() const { return forms_ ? *forms_ : kNoForms; }

 private:
  static const Forms kNoForms;
  std::unique_ptr<Forms> forms_;
};

// ---- run.cpp

// Reads items in order, but for those that another one includes.
void read_items(Run& r, Items items);

// Appends a statement, after spilling what is pending.
void append(Run& r, ast::NodeId statement);

// Returns the expressions of values, which this use consumes; the definitions in them are put
// before the statement.
ast::NodeId take(Run& r, ValueId id);
std::vector<ast::NodeId> take_many(Run& r, std::span<const ValueId> ids);

// ---- assignments.cpp

void store(Run& r, Items items, size_t i);

// Assigns `value` to `target`, which items[i] stores: as a slot of an unpacking, a member of a
// group, or one of a chain.
void deliver(Run& r, Items items, size_t i, ValueId value, ast::NodeId target);

// Returns the `with` statement whose `as` value this is: the result of __enter__, or of awaiting
// that of __aenter__. Invalid for another value.
ValueId entered(const Run& r, ValueId id);

// Returns true if the item is a store to a name, an attribute or an item.
bool is_store(const ir::Value& value);

// Returns the names that a target assigns.
std::vector<Symbol> names_in(const ast::Tree& tree, ast::NodeId target);

// ---- groups.cpp

// Returns true if the value still lacks its target in `a, b = v, w`.
bool is_in_group(const Run& r, ValueId value);

// Starts `a, b = v, w` if the values are pending and their stores follow one another; else returns
// false. Compilers omit the tuple for two or three values, and 3.12+ may store in reverse order.
bool start_group(Run& r, Items items, size_t i, ValueId value);

// Sets the target of a value of the group, and appends the statement after the last one. Returns
// false if the value lacks no target there.
bool deliver_to_group(Run& r, ValueId value, ast::NodeId target, ast::Where at);

// ---- unpacking.cpp

void unpack(Run& r, Items items, size_t i);

bool is_unpack(const ir::Value& value);

// Returns true if a computed value is stored and used once more: `(a := v)`, as part of a target.
bool is_walrus(const Run& r, ValueId id);

// Returns the store that is left of several to one local in a row, if items[i] is the pop that
// replaces an earlier one (3.12+), as in `_, _ = v`; else invalid.
ValueId overwriting_store(const Run& r, Items items, size_t i);

// Throws if a local that an unpacking stores to was loaded in the middle of it: an unpacking is one
// statement, at the place of its last store.
void check_unpacked(const Run& r, const Unpacking& unpacking, ast::NodeId target);

// Before an unpacking is appended: spills the earlier loads of the locals that it stores to.
void protect_unpacked(Run& r, const Unpacking& unpacking, ast::NodeId target);

// ---- augmented.cpp

// Returns false if the value is surely not the first half of `x.y op= v`, which has the only use of
// the value, and one of two uses of what it is a part of.
inline bool may_be_augmented(const Run& r, ValueId id) {
  const ir::Value& value = r.graph[id];
  return value.op == Op::BuildSlice || (value.uses == 1 && r.graph[r.operand(id, 0)].uses >= 2);
}

// At the load of `x.y` or `x[k]`: returns true if it is the first half of `x.y op= v`, whose store
// uses the same base once more.
bool augmented_load(Run& r, Items items, size_t i);
void augmented_store(Run& r, ValueId id);

// ---- imports.cpp

// Returns false if an import has an unknown form.
bool read_import(Run& r, Items items, size_t i);

// Appends the import whose module, or a member of it, is stored in `stored`. Returns false for
// another value.
bool stored_import(Run& r, ValueId id, Symbol stored);

// ---- region_values.cpp, comprehension_values.cpp, case_patterns.cpp

void read_region(Run& r, ValueId id);

// Returns the expression of a part of a region. `pivot`: the value that the comparison before it in
// a chain has evaluated.
ast::NodeId part_expression(FunctionContext& c, const Part& part, ValueId pivot = {});

// Returns an inlined comprehension (3.12+).
ast::NodeId inlined_comprehension(FunctionContext& c, const Region& region, ast::NodeId iterable,
                                  ast::Where at);

// Appends what adds an element to a comprehension as a `yield` of the element.
void comprehension_element(Run& r, ValueId id);

ast::NodeId pattern(FunctionContext& c, PatternId id);

}  // namespace pellucid::structure
