// SPDX-License-Identifier: Apache-2.0
// What the compilers of the versions do to all that they compile. What lies after `flow` asks for
// these by name, and for no version.
#pragma once

#include "object/code.h"

namespace pellucid::flow {

// What the compiler of the code has seen through.
struct Folds {
  bool arguments = false;   // the empty tuple of a call that has none by position
  bool choices = false;     // `v and x`, `v or x`, where the operand v is a constant
  bool literals = false;    // the same, and `not v`, before operations and tuples are constants
  bool displays = false;    // a list or set display of constants
  bool drops = false;       // a constant that is loaded and dropped where it was loaded
  bool formats = false;     // `text % (v, ...)`: an f-string
  bool keys = false;        // the keys of a dict display, where all are constants
  bool operations = false;  // an operation on what a choice of constants comes to
  bool slices = false;      // a slice of constants
  bool swaps = false;       // what a comprehension puts back, and the drop of its result after it
  bool tuples = false;    // a tuple with an f-string of nothing in it, after the tests of constants
  bool unpacked = false;  // a tuple display of constants whose elements are stored one by one
  bool walruses = false;  // the value of a walrus
};

// What it writes into the code by itself.
struct Habits {
  bool cleans_docstrings = false;       // of their margin, as inspect.cleandoc does
  bool delays_annotations = false;      // a function of its own evaluates them (PEP 649)
  bool compiles_match = false;          // the statement
  bool copies_exits = false;            // falling off the end of a branch is a `return` there
  bool flags_docstrings = false;        // kHasDocstring says whether the first constant is one
  bool inlines_comprehensions = false;  // PEP 709
  bool leaves_dropped = false;          // instructions that load a constant and drop it
  bool lends_names = false;        // of an inlined comprehension to those that are inlined after it
  bool lists_attributes = false;   // a class has `__static_attributes__`
  bool loses_tests = false;        // of operands from what protects them (kLostTest)
  bool pairs_annotations = false;  // of a function: a tuple of names and values in turn, no dict
};

Folds folds_of(object::Version version);
Habits habits_of(object::Version version);

}  // namespace pellucid::flow
