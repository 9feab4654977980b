// SPDX-License-Identifier: Apache-2.0
// verify's symbolic state: what both sides hold at one pair of points.
//
// Two slots that have the same Value hold the same object; nothing else is known about how slots
// relate. A stored state stands for every pair of concrete states that fits it, so a state that was
// met before covers a new one if the values can be renamed to fit; if they cannot, the stored one
// is weakened until both fit (`merge`): each pair of values becomes a value, a fact stays if both
// had it. Values only split and facts only go, so this ends.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "verify/domain/locals.h"

namespace pellucid::verify {

// The locals of both code objects, cells and free variables among them, by name.
struct Frame {
  // kPrivate: a name of both, but for each a temporary of its own.
  enum Owner : uint8_t { kOnlyA = 1, kOnlyB = 2, kShared = 3, kPrivate = 4 };

  std::vector<Name> names;
  std::vector<Owner> owners;
  std::unordered_map<uint32_t, uint32_t> slots;  // Name -> index

  uint32_t slot(Name name) const;
  void add(Name name, Side side);
  // The slots that one side alone has.
  std::vector<uint32_t> of_one_side() const;
};

// One side's half.
struct Half {
  std::vector<Value> stack;
  Locals locals;                  // by slot of the Frame
  std::vector<Value> exceptions;  // being handled, the innermost last
  // Shared locals that were stored or deleted since the last effect. Overwriting a local may run a
  // destructor, so the order is compared.
  std::vector<uint32_t> stores;
  // The value whose truth was asked last, and the answer: as long as there was no effect since, and
  // only for copies that were kept on the stack. Who loads a local again, asks again.
  Value tested;
  Value truth;
};

// The contents of a Fresh value. Those of a dictionary are constant strings and values, in turn;
// those of a function are its code, its qualified name up to 3.10 and its attributes
// (functions.cpp), NULL where it has none.
struct Container {
  enum Shape : uint8_t { kTuple, kList, kSlice, kDict, kFunction };
  enum Part : uint8_t { kCode, kQualname, kFirstAttribute };

  Value self;
  Side side = Side::A;
  Shape shape = kTuple;
  std::vector<Value> items;
};

// The cell of an argument of generated code, which nobody but this frame has and which still holds
// what the frame was called with (cells.cpp).
struct OwnCell {
  uint32_t slot = 0;  // of the Frame
  Value content;
  bool is_taken = false;  // something in this frame may refer to it
};

struct State {
  Half half[2];
  std::vector<Container> heap;  // in the order of allocation
  std::vector<OwnCell> cells;   // in the order of their slots

  Half& operator[](Side side) { return half[index(side)]; }
  const Half& operator[](Side side) const { return half[index(side)]; }
  Container* container(Value value);
  const Container* container(Value value) const;
  OwnCell* own_cell(uint32_t slot);
};

// Returns true if it is a tuple of cells that the frame starts with, as functions are made of.
// Nobody can put anything into it.
bool is_closure(const Values& values, const Container& container);

// Everywhere in `state`, `from` turns out to be `to`.
void replace(Values& values, State& state, Value from, Value to);

// `from` becomes known to more than this frame: it and the containers in it turn Unknown. `hint` is
// for people, where it is not the one that `from` has.
void give_up(Values& values, State& state, Value from, Name hint = Name());

// Whether `x` of A and `y` of B are the same or, if both are fresh, can be taken for one object
// from here on; if so, makes them one. Pairs of code objects that have to be equal for that are
// appended, and the objects that were made one to `made`.
using CodePairs = std::vector<std::pair<object::CodeId, object::CodeId>>;
bool unify(Values& values, State& state, Value x, Value y, CodePairs& pairs,
           std::vector<Value>* made = nullptr);

// Drops the containers that nothing refers to.
void collect(const Values& values, State& state);

// Makes one of the containers of A and B that hold the same, in order of allocation, from the last;
// functions are left alone but for those that are in them.
// Dictionaries may stay two, of which it is known what they hold: a call may copy one and not the
// other. False if there were none.
enum class Settle : uint8_t { kButDictionaries, kAll };
bool settle_heap(Values& values, State& state, CodePairs& pairs, Settle what);

// Weakens `known` until it covers `next` too; false if it did already. Their stacks are equally
// deep. Where a dictionary is not known on both ways, all that hold the same become one.
bool merge(Values& values, State& known, State next, CodePairs& pairs);

}  // namespace pellucid::verify
