// SPDX-License-Identifier: Apache-2.0
#include "flow/compilers.h"

namespace pellucid::flow {

using object::Version;

Folds folds_of(Version version) {
  Folds folds;
  folds.arguments = version >= Version{3, 10};
  // 3.14 does so before tuples are constants: Folds::literals.
  folds.choices = version >= Version{3, 10} && version < Version{3, 14};
  folds.copies = version >= Version{3, 14};
  folds.displays = version >= Version{3, 9};
  folds.drops = version >= Version{3, 12};
  folds.formats = version >= Version{3, 11};
  folds.keys = version < Version{3, 14};
  folds.literals = version >= Version{3, 14};
  folds.long_tuples = version < Version{3, 14};
  folds.operations = version >= Version{3, 14};
  folds.slices = version >= Version{3, 14};
  folds.swaps = version >= Version{3, 13};
  folds.tuples = version >= Version{3, 13} && version < Version{3, 14};
  folds.unpacked = version >= Version{3, 14};
  folds.walruses = version >= Version{3, 10};
  return folds;
}

Habits habits_of(Version version) {
  Habits habits;
  habits.cleans_docstrings = version >= Version{3, 13};
  habits.compiles_match = version >= Version{3, 10};
  habits.copies_exits = version >= Version{3, 10};
  habits.delays_annotations = version >= Version{3, 14};
  habits.exchanges_stores = version >= Version{3, 11};
  habits.flags_docstrings = version >= Version{3, 14};
  habits.gives_columns = version >= Version{3, 11};
  habits.inlines_comprehensions = version >= Version{3, 12};
  habits.leaves_dropped = version == Version{3, 12} || version == Version{3, 13};
  habits.lends_names = version == Version{3, 12};
  habits.lists_attributes = version >= Version{3, 13};
  habits.loses_tests = version >= Version{3, 14};
  habits.pairs_annotations = version >= Version{3, 10};
  habits.places_dead_names = version >= Version{3, 10};
  habits.tests_on_one_line = version < Version{3, 10};
  return habits;
}

}  // namespace pellucid::flow
