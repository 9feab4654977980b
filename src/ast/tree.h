// SPDX-License-Identifier: Apache-2.0
// ast: Python's abstract syntax as one flat store of nodes.
//
// Every kind of node has a struct of that name below (generated from nodes.def), whose fields are
// ids; a node is read with `tree.as<If>(id)` and made with `tree.add(If{test, body, orelse},
// where)`. Nodes are small and never move between trees; rewriting replaces ids in lists and fields
// (`tree.set`). A tree owns no names or constants: they are those of an object::Module, to which
// the tree adds the few that it needs (temporaries, folded strings).
//
// Invariants (check()): every child is of its field's category, absent only if the field allows it;
// lists are in range; the nodes below a root form a tree (no sharing).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ast/kinds.h"
#include "base/check.h"
#include "base/ids.h"
#include "object/code.h"

namespace pellucid::ast {

using object::ConstId;
using NodeId = Id<struct NodeTag>;
using ListId = Id<struct ListTag>;        // of nodes
using NumbersId = Id<struct NumbersTag>;  // of enumerators

enum class Category : uint8_t { Mod, Stmt, Expr, Part, Pattern, TypeParam };

enum class FieldType : uint8_t { Node, List, Name, Value, Number, Numbers };

enum class BoolOperator : uint8_t { And, Or };
enum class Operator : uint8_t {  // in the order of bytecode::BinaryOperator
  Add,
  Sub,
  Mult,
  MatMult,
  Div,
  Mod,
  Pow,
  LShift,
  RShift,
  BitOr,
  BitXor,
  BitAnd,
  FloorDiv
};
enum class UnaryOperator : uint8_t {
  USub,
  UAdd,
  Not,
  Invert
};  // in the order of bytecode::UnaryOperator
enum class CmpOperator : uint8_t { Lt, LtE, Eq, NotEq, Gt, GtE, Is, IsNot, In, NotIn };

namespace field {
using Node = NodeId;
using List = ListId;
using Name = Symbol;
using Value = ConstId;
using Number = uint32_t;
using Numbers = NumbersId;
}  // namespace field

#define FIELD(type, name) field::type name{};
#define NODE(kind, category, fields)          \
  struct kind {                               \
    static constexpr Kind kKind = Kind::kind; \
    fields                                    \
  };
#include "ast/nodes.def"
#undef NODE
#undef FIELD

inline constexpr uint32_t kNowhere = 0xffffffffu;  // the offset of no instruction

// The origin of a node.
struct Where {
  int32_t line = -1;           // in the original source; -1: unknown
  uint32_t offset = kNowhere;  // byte offset of the instruction that made it
  object::CodeId code{};       // whose; set when a body is complete (mark_code)
};

// What the bytecode shows to have been in the source of a statement, and no tree of it has.
enum class Lost : uint8_t {
  Annotation,  // of a local or an attribute
  Expression,  // which the compiler folded to `value`
};
struct Loss {
  NodeId statement;
  Lost lost;
  ConstId value{};
};

// The fields of statements, and those of clauses that have such fields.
enum class Suite : uint8_t { None, Body, Orelse, Finalbody, Handlers, Cases };

struct FieldInfo {
  FieldType type;
  const char* name;
  Suite suite;  // by its name: an expression may have a `body`, too
};
// A field that holds nodes: the number of its slot, and whether it is a list of them.
struct ChildField {
  uint8_t slot;
  bool is_list;
  Suite suite;

  bool has_clauses() const { return suite >= Suite::Handlers; }
  bool has_statements() const { return is_list && suite != Suite::None && !has_clauses(); }
};
struct KindInfo {
  const char* name;
  Category category;
  std::span<const FieldInfo> fields;
  std::array<ChildField, 7> children;  // the first child_count of them
  uint8_t child_count;
  uint8_t name_fields;  // a bit for each field that is a name
};
// By kind. Every walk reads it for every node: not through a call.
extern const KindInfo kKindInfos[];

inline std::span<const FieldInfo> fields_of(Kind kind) {
  return kKindInfos[static_cast<size_t>(kind)].fields;
}
// Returns those of the fields that hold nodes, in their order.
inline std::span<const ChildField> child_fields_of(Kind kind) {
  const KindInfo& info = kKindInfos[static_cast<size_t>(kind)];
  return {info.children.data(), info.child_count};
}
// Returns which field is in a slot, and the slot of a field that the kind has.
inline Suite suite_in(Kind kind, size_t slot) { return fields_of(kind)[slot].suite; }
inline size_t slot_of(Kind kind, Suite suite) {
  size_t slot = 0;
  while (suite_in(kind, slot) != suite) ++slot;
  return slot;
}
// Returns a bit for each of the fields that is a name.
inline unsigned name_fields_of(Kind kind) {
  return kKindInfos[static_cast<size_t>(kind)].name_fields;
}
inline const char* name_of(Kind kind) { return kKindInfos[static_cast<size_t>(kind)].name; }
inline Category category_of(Kind kind) { return kKindInfos[static_cast<size_t>(kind)].category; }

class Tree {
 public:
  // A node of any kind: the fields of its struct are in the slots.
  struct Record {
    Kind kind = Kind::Pass;
    Where where;
    std::array<uint32_t, 7> slots{};
  };

  explicit Tree(object::Module& module) : module_(&module) {}

  template <typename T>
  NodeId add(const T& node, Where where = {}) {
    static_assert(std::is_trivially_copyable_v<T>);
    Record& record = records_.emplace_back();
    record.kind = T::kKind;
    record.where = where;
    if constexpr (!std::is_empty_v<T>) {
      static_assert(sizeof(T) <= sizeof(record.slots));
      std::memcpy(record.slots.data(), &node, sizeof(T));
    }
    made_.add(T::kKind);
    return NodeId(records_.size() - 1);
  }

  // Adds a node whose fields are in the slots, for table-driven makers.
  NodeId add_record(const Record& record) {
    records_.push_back(record);
    made_.add(record.kind);
    return NodeId(records_.size() - 1);
  }

  // Reserves room for `nodes` more nodes, so that a tree mostly made from one code object is not
  // reallocated again and again while it grows.
  void make_room(size_t nodes) {
    if (nodes <= records_.capacity() - records_.size()) return;
    records_.reserve(std::max(records_.size() + nodes, 2 * records_.capacity()));
  }

  // Returns a new node with the same fields; its children are shared until they are replaced.
  NodeId copy(NodeId id) { return add_record(Record(part_of(records_, id))); }

  // Returns the node as a T; its kind must be T's.
  template <typename T>
  T as(NodeId id) const {
    return as<T>(part_of(records_, id));
  }
  template <typename T>
  static T as(const Record& record) {
    PELLUCID_CHECK(record.kind == T::kKind);
    T node;
    if constexpr (!std::is_empty_v<T>) {
      std::memcpy(static_cast<void*>(&node), record.slots.data(), sizeof(T));
    }
    return node;
  }

  // Replaces the content of a node; its kind may change.
  template <typename T>
  void set(NodeId id, const T& node) {
    Record& record = changed(id);
    record.kind = T::kKind;
    if constexpr (!std::is_empty_v<T>) std::memcpy(record.slots.data(), &node, sizeof(T));
    made_.add(T::kKind);
  }

  // Returns the node itself, for walks. Invalidated by add() and copy().
  const Record& operator[](NodeId id) const { return part_of(records_, id); }

  // Returns all nodes in the order in which they were made, those that no other one refers to as
  // well: for what is asked of every node. Invalidated by add() and copy().
  std::span<const Record> records() const { return records_; }

  Kind kind(NodeId id) const { return part_of(records_, id).kind; }
  bool is(NodeId id, Kind kind) const { return id.valid() && part_of(records_, id).kind == kind; }
  Where where(NodeId id) const { return part_of(records_, id).where; }
  void set_where(NodeId id, Where where) { changed(id).where = where; }

  // Sets the origin of all nodes from number `first` on to `code`.
  void mark_code(size_t first, object::CodeId code) {
    for (size_t i = first; i < records_.size(); ++i) records_[i].where.code = code;
  }

  // Records what a statement cannot have, for a comment.
  void note(const Loss& loss) { losses_.push_back(loss); }
  std::span<const Loss> losses() const { return losses_; }

  // Returns the raw slot of the i-th field, for table-driven walks (fields_of).
  uint32_t slot(NodeId id, size_t i) const { return part_of(records_, id).slots[i]; }
  void set_slot(NodeId id, size_t i, uint32_t value) { changed(id).slots[i] = value; }

  ListId list(std::span<const NodeId> items) {
    ++changes_;
    const auto count = static_cast<uint32_t>(items.size());
    spans_.push_back({static_cast<uint32_t>(items_.size()), count, count});
    if (count > 0) items_.insert(items_.end(), items.begin(), items.end());
    return ListId(spans_.size() - 1);
  }
  ListId list(std::initializer_list<NodeId> items) {
    return list(std::span<const NodeId>(items.begin(), items.size()));
  }
  // Returns the items of a list; an invalid id is the empty list. Invalidated by list().
  std::span<const NodeId> items(ListId id) const {
    if (!id.valid()) return {};
    const Span& span = part_of(spans_, id);
    return {items_.data() + span.begin, span.count};
  }
  // Appends an item and returns the list; `id` must not be used afterwards. Takes amortised
  // constant time, even if other lists are made meanwhile.
  ListId append(ListId id, NodeId item) {
    if (!id.valid()) return list({item});
    ++changes_;
    Span& span = part_of(spans_, id);
    if (id.index() < known_lists_) old_spans_.emplace_back(id, span);
    if (span.count == span.capacity) {
      const auto begin = static_cast<uint32_t>(items_.size());
      span.capacity = span.count * 2 + 4;
      items_.resize(items_.size() + span.capacity);
      std::copy_n(items_.begin() + span.begin, span.count, items_.begin() + begin);
      span.begin = begin;
    }
    items_[span.begin + span.count++] = item;
    return id;
  }
  NumbersId numbers(std::span<const uint32_t> values) {
    numbers_.emplace_back(values.begin(), values.end());
    return NumbersId(numbers_.size() - 1);
  }
  std::span<const uint32_t> numbers(NumbersId id) const {
    if (!id.valid()) return {};
    return part_of(numbers_, id);
  }

  // Returns how often a node or a list was changed, or a list made.
  size_t changes() const { return changes_; }

  // Returns the kinds that nodes got since start_kinds(), and those that it was given: a step that
  // concerns none of them has nothing to do.
  Kinds made() const { return made_; }
  void start_kinds(Kinds kinds) { made_ = kinds; }

  // Starts recording changes to the present nodes and lists, for an attempt that may fail:
  // restore() undoes the changes, and leaves added nodes, which are unreferenced.
  void remember() {
    known_nodes_ = records_.size();
    known_lists_ = spans_.size();
    old_records_.clear();
    old_spans_.clear();
  }
  void restore();

  object::Module& module() { return *module_; }
  const object::Module& module() const { return *module_; }
  Symbol intern(std::string_view text) { return module_->strings.intern(text); }
  std::string_view text(Symbol symbol) const { return module_->text(symbol); }
  size_t size() const { return records_.size(); }

 private:
  struct Span {
    uint32_t begin;
    uint32_t count;
    uint32_t capacity;
  };

  Record& changed(NodeId id) {
    ++changes_;
    if (id.index() < known_nodes_) old_records_.emplace_back(id, part_of(records_, id));
    return part_of(records_, id);
  }

  object::Module* module_;
  std::vector<Record> records_;
  std::vector<NodeId> items_;
  std::vector<Span> spans_;
  std::vector<std::vector<uint32_t>> numbers_;
  std::vector<Loss> losses_;
  size_t changes_ = 0;
  Kinds made_;
  // The extent of the remembered state, and the previous values of what was changed.
  size_t known_nodes_ = 0;
  size_t known_lists_ = 0;
  std::vector<std::pair<NodeId, Record>> old_records_;
  std::vector<std::pair<ListId, Span>> old_spans_;
};

// Returns text like Python's ast.dump(node, indent=1), for goldens and people.
std::string dump(const Tree& tree, NodeId root);
void check(const Tree& tree, NodeId root);

// Returns a deep copy of a list of nodes; only names and constants are shared.
ListId clone(Tree& tree, ListId list);

// Returns true if two subtrees (of one tree) are equal except for their origins.
bool same(const Tree& tree, NodeId a, NodeId b);

}  // namespace pellucid::ast
