// SPDX-License-Identifier: Apache-2.0
// The symbolic state: the values of both sides at one pair of points.
//
// Two slots that have the same Value hold the same object; nothing else is known about how slots
// relate. A stored state stands for every pair of concrete states that fits it, so a state that was
// met before covers a new one if the values can be renamed to fit; if they cannot, the stored one
// is weakened until both fit (`merge`): each pair of values becomes one new value, and a fact is
// kept if both had it. Values only split and facts are only lost, so this terminates.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "verify/domain/locals.h"

namespace pellucid::verify {

// The locals of both code objects, cells and free variables among them, by name.
struct Frame {
  // kPrivate: a name that both sides use, each for a temporary that the other does not see.
  enum Owner : uint8_t { kOnlyA = 1, kOnlyB = 2, kShared = 3, kPrivate = 4 };

  std::vector<Name> names;
  std::vector<Owner> owners;
  std::unordered_map<uint32_t, uint32_t> slots;  // Name -> index

  uint32_t slot(Name name) const;
  void add(Name name, Side side);
  // Returns the slots that only one side has.
  std::vector<uint32_t> of_one_side() const;
};

// Returns the variables of a frame in the order of their slots. Outside functions the locals are
// names in a mapping, but for those of inlined comprehensions, which nothing else sees.
std::vector<Symbol> slots_of(const object::Code& code);

// One side's half.
struct Half {
  std::vector<Value> stack;
  Locals locals;                  // by slot of the Frame
  std::vector<Value> exceptions;  // being handled, the innermost last
  // Shared locals that were stored or deleted since the last effect. Overwriting a local may run a
  // destructor, so the order is compared.
  std::vector<uint32_t> stores;
  // Values that this side has ceased to refer to since the last effect (machine/releases.h).
  std::vector<Value> released;
  // The handler of the last jump back since the last effect, or since both sides jumped back.
  std::optional<flow::HandlerId> interrupted;
  // The value whose truth was tested last, and the answer. Valid until it is used or the next
  // effect, and only for copies kept on the stack: a local that is loaded again is tested again.
  Value tested;
  Value truth;
};

// The contents of a Fresh value. The items of a dictionary alternate between constant keys and
// values; those of a function are its code, its qualified name (up to 3.10) and its attributes
// (functions.cpp), NULL where it has none.
struct Container {
  enum Shape : uint8_t { kTuple, kList, kSlice, kDict, kFunction };
  enum Part : uint8_t { kCode, kQualname, kFirstAttribute };

  Value self;
  Side side = Side::A;
  Shape shape = kTuple;
  std::vector<Value> items;
  // Of the first keys of a dictionary, where they are (dictionaries.cpp).
  std::unordered_map<uint32_t, uint32_t> places = {};
};

// The cell of an argument of generated code that no other frame refers to and that still holds the
// value the frame was called with (cells.cpp).
struct OwnCell {
  uint32_t slot = 0;  // of the Frame
  Value content;
  bool is_taken = false;  // a value in this frame may refer to it
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

// Returns true if the container is a tuple of cells that the frame starts with: the closure of a
// function. Nothing can be added to it.
bool is_closure(const Values& values, const Container& container);

// Replaces `from` by `to` everywhere in `state`.
void replace(Values& values, State& state, Value from, Value to);

// Lets `from` escape from this frame: it and the containers in it become Unknown. `hint` is the
// name shown in messages, if not that of `from`.
void give_up(Values& values, State& state, Value from, Name hint = Name());

// Returns true if `x` of A and `y` of B are the same or, if both are fresh, can be treated as one
// object from here on; if so, unifies them. Appends the pairs of code objects that have to be equal
// for that to `pairs`, and the unified objects to `made`.
using CodePairs = std::vector<std::pair<object::CodeId, object::CodeId>>;
bool unify(Values& values, State& state, Value x, Value y, CodePairs& pairs,
           std::vector<Value>* made = nullptr);

// Drops unreferenced containers.
void collect(const Values& values, State& state);

// Unifies the containers of A and B that have equal contents, the last allocated first; functions
// are unified only as items of containers. With kButDictionaries, dictionaries stay separate with
// their contents known: a call may copy one and not the other. Returns false if no pair was
// unified.
enum class Settle : uint8_t { kButDictionaries, kAll };
bool settle_heap(Values& values, State& state, CodePairs& pairs, Settle what);

// Weakens `known` until it covers `next` too; returns false if it already did. Their stacks are
// equally deep. If a dictionary is not known in both states, all containers with equal contents are
// unified.
bool merge(Values& values, State& known, State next, CodePairs& pairs);

}  // namespace pellucid::verify
