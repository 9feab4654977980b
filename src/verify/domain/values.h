// SPDX-License-Identifier: Apache-2.0
// Value numbers, of which the symbolic states of both sides consist.
//
// A Value stands for one object (or for none: NULL, an unbound local). Both code objects share one
// table, so that "the same object" is "the same number", whichever side holds it.
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
#include "verify/domain/constant_table.h"

namespace pellucid::verify {

using Value = Id<struct ValueTag>;

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

// Returns true if the release of such a value may run code.
constexpr bool may_run_code(Kind kind) {
  switch (kind) {
    case Kind::Null:
    case Kind::Const:
    case Kind::Code:
    case Kind::Cell:
    case Kind::Special:
    case Kind::Bool:
    case Kind::Not:
    case Kind::Is:
      return false;
    case Kind::Method:
    case Kind::Unknown:
    case Kind::Maybe:
    case Kind::Fresh:
      return true;
  }
  return true;
}

struct Node {
  Kind kind = Kind::Unknown;
  uint32_t x = 0;
  uint32_t y = 0;
  Name hint;  // for messages: the name it was loaded from
};

// Returns true if `b` is the qualified name `a` without its outermost part.
bool qualname_fits(std::string_view a, std::string_view b);

// What is known of a new Unknown value.
enum class Known : uint8_t {
  Nothing,
  NotNone,
  OfFrame,  // it refers only to objects that the frame refers to as long as it lives
};

class Values {
 public:
  // `moved`: code may have been moved out of A, so that its qualified names lack the enclosing
  // scope.
  Values(const object::Module& a, const object::Module& b, bool moved = false);

  const object::Module& module(Side side) const { return constants_.module(side); }
  const Node& operator[](Value value) const { return nodes_[value.index()]; }
  std::string_view text(Name name) const { return constants_.text(name); }
  Name name(std::string_view text) { return constants_.name(text); }
  Name name(Side side, Symbol symbol) { return constants_.name(side, symbol); }

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
  // Returns the constant that a global of this name represents (ConstantTable::opaque).
  std::optional<Value> opaque(Name name);
  // Returns the tuple or slice constant of these values if all are constants.
  std::optional<Value> constant_of(object::ConstKind kind, const std::vector<Value>& items);

  // Returns a new value each time. `known` is for Unknown ones.
  Value fresh(Kind kind, Name hint = Name(), Known known = Known::Nothing);

  bool is(Value value, Kind kind) const { return (*this)[value].kind == kind; }
  bool is_object(Value value) const { return !is(value, Kind::Null) && !is(value, Kind::Maybe); }
  bool is_boolean(Value value) const;
  const Constant* as_constant(Value value) const;
  // Returns what messages say of a constant.
  const std::string& repr(Value constant) const { return constants_.repr((*this)[constant].x); }
  // Returns true if these are the same constant.
  bool same_constant(object::ConstId in_a, object::ConstId in_b) {
    return constants_.same(in_a, in_b);
  }
  // Returns true if these are the same name.
  bool same_name(Symbol in_a, Symbol in_b) const {
    const std::string_view a = module(Side::A).text(in_a);
    const std::string_view b = module(Side::B).text(in_b);
    // (Modules of one origin share their bytes.)
    return a.size() == b.size() && (a.data() == b.data() || a == b);
  }
  // Returns true if these are the qualified names of one code object that was moved out of A.
  bool same_qualname(Value of_a, Value of_b) const;

 private:
  Value shared(Kind kind, uint32_t x, uint32_t y);

  ConstantTable constants_;
  bool moved_;
  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, Value> shared_[12];
  Value null_, none_, true_, false_;
};

// Returns true if the value is known not to be None.
inline bool is_some(const Values& values, Value value) {
  return values.is(value, Kind::Unknown) && values[value].x == 1;
}

// -- what values are, where it follows from constants ---------------------------------------------

// Returns the integer of an int that is not a bool.
std::optional<int64_t> as_integer(const Values& values, Value value);
// Returns true if the value is a constant number; a bool is none.
bool is_number(const Values& values, Value value);
// Returns the truth of a constant, where no user code determines it.
std::optional<bool> constant_truth(const Values& values, Value value);
// Returns the items of a tuple constant.
std::optional<std::vector<Value>> tuple_items(Values& values, Value value);
// Returns the items of a frozenset constant, sorted, if comparing and hashing them runs no user
// code.
std::optional<std::vector<Value>> set_items(Values& values, Value value);
// Returns start, stop and step of a slice constant.
std::optional<std::vector<Value>> slice_items(Values& values, Value value);
// Returns the slice constant of constants: start, stop and optionally a step.
std::optional<Value> slice_of(Values& values, std::vector<Value> items);
// Returns the tuple with its items in a canonical order, for tuples that represent sets.
Value sorted(Values& values, Value tuple);

std::string describe(const Values& values, Value value);

}  // namespace pellucid::verify
