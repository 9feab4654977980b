// SPDX-License-Identifier: Apache-2.0
// pickle: what loading a pickle would make, as a graph of plain values.
//
// A pickle is a program for a small stack machine whose instructions import and call anything. Here
// nothing is imported or called: an import is a value (a name), and a call is a value (the
// function, its arguments, and what is done to the result afterwards). `effects` lists what loading
// would do, in its order.
//
// Memory is flat and linear in the input: a value has 24 bytes, each place of an item 8, and texts
// are views of the input, except those that escapes or folded calls made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace pellucid::pickle {

using ValueId = Id<struct ValueTag>;

enum class Kind : uint8_t {
  None,
  False,
  True,
  Int,         // `number`
  BigInt,      // text: two's complement, least significant byte first
  Float,       // `number`: the bits
  Str,         // text: UTF-8, lone surrogates as three bytes each
  Bytes,       // text
  ByteArray,   // text
  Tuple,       // items
  List,        // items
  Dict,        // items: key, value, key, value, ...; a later pair replaces an earlier one
  Set,         // items
  FrozenSet,   // items
  Global,      // items: module, qualified name (each a Str, unless it cannot be known); changes
  Call,        // items: function, arguments[, keywords]; changes
  Persistent,  // items: the id that persistent_load gets; changes
  Extension,   // `number`: of the registry of copyreg; changes
  Buffer,      // `number`: an out-of-band buffer
  Array,       // `number`: bytes of an array that joblib writes into the stream
  State,       // a change. items: what BUILD passes to __setstate__, or puts into __dict__
  Appended,    // a change. items: what append() or extend() gets
  Stored,      // a change. items: key, value, ...
  Added,       // a change. items: what add() or update() gets
};

// How a Call is made.
enum class Form : uint8_t {
  Reduce,    // function(*arguments)
  New,       // function.__new__(function, *arguments)
  NewEx,     // the same, with keywords
  Instance,  // INST and OBJ: function(*arguments), or __new__ without arguments
};

struct Value {
  Kind kind = Kind::None;
  Form form = Form::Reduce;
  bool is_own = false;                 // the text is in Graph::own_text
  uint32_t first = Id<int>::kInvalid;  // of its places; of a text the length
  uint32_t last = Id<int>::kInvalid;   // of its places
  int64_t number = 0;                  // of a text the offset
};

// Where an item of a value is.
struct Place {
  ValueId value;
  uint32_t next = Id<int>::kInvalid;
};

// Something that loading would do besides making plain values.
struct Effect {
  enum class Kind : uint8_t {
    Import,      // `value`: a Global
    Call,        // `value`: a Call
    State,       // `value` gets the change `detail`: __setstate__, or an update of __dict__
    Append,      // ... append() or extend()
    Store,       // ... __setitem__
    Add,         // ... add()
    Persistent,  // `value`: a Persistent; the program that loads it decides
    Extension,   // `value`: an Extension; the program that loads it decides
    Buffer,      // `value`: a Buffer
  };
  Kind kind = Kind::Import;
  uint64_t offset = 0;  // of the opcode
  ValueId value;
  ValueId detail{};
};

struct Graph {
  std::span<const uint8_t> input;
  std::vector<Value> values;
  std::vector<Place> places;
  std::string own_text;
  std::vector<Effect> effects;
  std::vector<std::string> notes;  // unusual things that do not stop CPython
  uint64_t start = 0;              // of the pickle in `input`
  uint64_t end = 0;                // after STOP; after a failure, the place of the failing opcode
  int protocol = 0;                // the highest that PROTO names
  ValueId result{};                // invalid after a failure
  Error failure{};                 // where CPython's pickle would fail, or ours
  bool has_failed = false;
  uint64_t folding_left = 10'000'000;  // steps of fold.h

  const Value& operator[](ValueId id) const { return values.at(id.index()); }
  std::string_view text(ValueId id) const;
  std::vector<ValueId> items(ValueId id, size_t most = SIZE_MAX) const;

  // Returns an item; invalid if there are fewer.
  ValueId item(ValueId id, size_t index) const;

  ValueId add(Kind kind, int64_t number = 0);
  ValueId add_text(Kind kind, uint64_t offset, size_t size);  // a part of `input`
  ValueId add_own(Kind kind, std::string_view text);
  ValueId add_with(Kind kind, std::span<const ValueId> items);
  void append(ValueId to, ValueId item);

  bool is_text(ValueId id) const;
  bool is(ValueId id, Kind kind) const { return id.valid() && (*this)[id].kind == kind; }
};

// The limits of one input, which end it with an error (ErrorCode::Limit).
inline constexpr size_t kMostValues = size_t{1} << 24;
inline constexpr size_t kMostPlaces = size_t{1} << 25;

}  // namespace pellucid::pickle
