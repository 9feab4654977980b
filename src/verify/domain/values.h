// SPDX-License-Identifier: Apache-2.0
// Value numbers, of which the symbolic states of both sides consist.
//
// A Value stands for one object (or for none: NULL, an unbound local). Both code objects share one
// table, so that "the same object" is "the same number", whichever side holds it. Constants, names
// and locals of the two modules are unified here too: from here on no text is compared.
//
// A value's node never changes. A fact learnt on a path (a boolean is true, a local is bound)
// replaces the value in the state of that path (state.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "flow/graph.h"
#include "object/code.h"

namespace pellucid::verify {

using Value = Id<struct ValueTag>;
using Name = Symbol;  // in Values::names, never in a module's pool

enum class Side : uint8_t { A, B };
inline constexpr size_t index(Side side) { return side == Side::A ? 0 : 1; }
inline constexpr Side other(Side side) { return side == Side::A ? Side::B : Side::A; }

enum class Kind : uint8_t {
  Null,     // no object: an unbound local, or the NULL beside a callable
  Const,    // x: its number among the constants
  Code,     // x: its CodeId, y: its Side
  Cell,     // x: Name of the variable; the cell that the frame starts with
  Special,  // x: an op without inputs that always pushes the same object, y: its operand
  Unknown,  // an object; x = 1: not None; y = 1: refers only to objects that the frame refers to
  Bool,     // True or False
  Maybe,    // an object or none
  Not,      // x: a boolean value; its negation
  Is,       // x, y: values in the order of the test; true if they are one object
  Fresh,    // a container that only this frame knows; its contents are in State::heap
  Method,   // x: value of a Fresh list, y: Name; its bound method
};

struct Node {
  Kind kind = Kind::Unknown;
  uint32_t x = 0;
  uint32_t y = 0;
  Name hint;  // for messages: the name it was loaded from
};

// A constant, with items that are numbers of constants: equal constants have equal numbers.
struct Constant {
  object::ConstKind kind = object::ConstKind::None;
  int64_t integer =
      0;  // of an Opaque one: object::Known; of a float or complex: whether it is true
  Name text;
  std::vector<uint32_t> items;
  std::string repr;
};

// Returns true if `b` is the qualified name `a` without its outermost part.
bool qualname_fits(std::string_view a, std::string_view b);

class Values {
 public:
  // `moved`: code may have been moved out of A, so that its qualified names lack the enclosing
  // scope.
  Values(const object::Module& a, const object::Module& b, bool moved = false);

  const object::Module& module(Side side) const { return *modules_[index(side)]; }
  const Node& operator[](Value value) const { return nodes_[value.index()]; }
  std::string_view text(Name name) const { return names_.view(name); }
  Name name(std::string_view text) { return names_.intern(text); }
  Name name(Side side, Symbol symbol);

  // These return the same value for the same arguments.
  Value null() const { return null_; }
  Value none() const { return none_; }
  Value boolean(bool truth) const { return truth ? true_ : false_; }
  Value constant(Side side, object::ConstId id);
  Value constant_number(uint32_t number) { return shared(Kind::Const, number, 0); }
  Value cell(Name name) { return shared(Kind::Cell, name.value, 0); }
  Value special(bytecode::Op op, uint32_t operand) {
    return shared(Kind::Special, static_cast<uint32_t>(op), operand);
  }
  Value negation(Value truth);
  Value identity(Value x, Value y);
  Value method(Value list, Name name) { return shared(Kind::Method, list.value, name.value); }
  // Returns the constant that a global of this name represents, if A has an object that is no
  // literal and B loads it by the name it was given.
  std::optional<Value> opaque(Name name);
  // Returns the tuple with its items in a canonical order, for tuples that represent sets.
  Value sorted(Value tuple);
  // Returns the tuple constant of these values if all are constants.
  std::optional<Value> tuple_of(const std::vector<Value>& items);
  // Returns the slice constant of constants: start, stop and optionally a step.
  std::optional<Value> slice_of(std::vector<Value> items);

  // These return a new value each time.
  Value fresh(Kind kind, Name hint = Name());
  // Returns a new object that is known not to be None.
  Value fresh_some(Name hint);
  // Returns a new object that refers only to objects that the frame refers to as long as it lives.
  Value fresh_of_frame(Name hint);

  bool is(Value value, Kind kind) const { return (*this)[value].kind == kind; }
  bool is_object(Value value) const { return !is(value, Kind::Null) && !is(value, Kind::Maybe); }
  bool is_boolean(Value value) const;
  bool is_some(Value value) const { return is(value, Kind::Unknown) && (*this)[value].x == 1; }
  const Constant* as_constant(Value value) const;
  std::optional<int64_t> as_integer(Value value) const;  // of an int that is not a bool
  bool is_number(Value value) const;                     // a constant, not a bool
  // Returns the items of a tuple constant.
  std::optional<std::vector<Value>> tuple_items(Value value);
  // Returns the items of a frozenset constant, sorted, if comparing and hashing them runs no user
  // code.
  std::optional<std::vector<Value>> set_items(Value value);
  // Returns start, stop and step of a slice constant.
  std::optional<std::vector<Value>> slice_items(Value value);
  // Returns true if these are the qualified names of one code object that was moved out of A.
  bool same_qualname(Value of_a, Value of_b) const;
  // Returns the truth of the object if the value alone determines it.
  std::optional<bool> truth(Value value) const;

  std::string describe(Value value) const;

 private:
  Value shared(Kind kind, uint32_t x, uint32_t y);
  uint32_t number(Side side, object::ConstId id);
  uint32_t intern(Constant constant, const std::string& key);
  uint32_t intern_one(Side side, const object::Const& value);
  std::optional<Value> constant_of(object::ConstKind kind, const std::vector<Value>& items);

  const object::Module* modules_[2];
  bool moved_;
  StringPool names_;
  std::vector<Name> unified_[2];      // by Symbol of the module
  std::vector<uint32_t> numbers_[2];  // by ConstId; kUnnumbered: not yet
  std::vector<Constant> constants_;
  std::unordered_map<std::string, uint32_t> constant_index_;
  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, Value> shared_[12];
  std::unordered_map<uint32_t, uint32_t> opaques_;  // Name -> number of the constant
  Value null_, none_, true_, false_;
};

}  // namespace pellucid::verify
