// SPDX-License-Identifier: Apache-2.0
// Properties of each version's compiler, for all the code that it makes. The layers after `flow`
// ask for these by name, and never for a version.
#pragma once

#include "object/code.h"

namespace pellucid::flow {

// What the compiler of the code folds.
struct Folds {
  bool arguments = false;  // the empty tuple of a call without positional arguments
  bool choices = false;    // `v and x`, `v or x` with a constant operand v
  bool literals = false;   // the same, and `not v`, before operations and tuples are constants
  bool copies = false;     // constants in copies of an ending, block by block
  bool displays = false;   // a list or set display of constants
  bool drops = false;      // a constant that is loaded and dropped at once
  bool formats = false;    // `text % (v, ...)`: an f-string
  bool keys = false;       // the keys of a dict display, if all are constants
  bool long_tuples =
      false;                // a tuple of more than 30 constants, such as the defaults of a function
  bool operations = false;  // an operation on the result of a choice of constants
  bool slices = false;      // a slice of constants
  bool swaps = false;       // the restored locals of a comprehension, and the drop of its result
  bool tuples = false;      // a tuple with an empty f-string in it, after the tests of constants
  bool unpacked = false;    // a tuple display of constants whose elements are stored one by one
  bool walruses = false;    // the value of a walrus
};

// What the compiler adds or changes by itself.
struct Habits {
  bool cleans_docstrings = false;   // removes their margin, as inspect.cleandoc does
  bool delays_annotations = false;  // evaluates them in a separate function (PEP 649)
  bool compiles_match = false;      // the `match` statement
  bool copies_exits = false;        // falling off the end of a branch compiles to a `return` there
  bool exchanges_stores = false;    // of `a, b = v, w` in locals, and not the values
  bool flags_docstrings = false;    // kHasDocstring says whether the first constant is one
  bool gives_columns = false;       // instructions have the columns of their expressions (PEP 657)
  bool inlines_comprehensions = false;  // PEP 709
  bool leaves_dropped = false;          // instructions that load a constant and drop it
  bool lends_names = false;       // a variable of one is visible to comprehensions inlined after it
  bool lists_attributes = false;  // a class has `__static_attributes__`
  bool loses_tests = false;       // tests of operands lose their handler (kLostTest)
  bool pairs_annotations = false;  // of a function: a tuple that alternates names and values
  bool places_dead_names = false;  // what only code that never runs mentions has a slot
  bool tests_on_one_line = false;  // all jumps of one test have the line of its statement
};

Folds folds_of(object::Version version);
Habits habits_of(object::Version version);

}  // namespace pellucid::flow
