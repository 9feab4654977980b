// SPDX-License-Identifier: Apache-2.0
// object: facts about program-generated code that the caller warrants and the bytecode does not
// show.
//
// A decompiler cannot know that `tmp_3` is a name that no person chose, or that `__compiled_fn_1`
// is never rebound. The owner of the generator does. The facts hold for the root code object, and
// for the nested ones that they name; no other code is affected. They are assumptions of the proof:
// `verify` uses them as they are, and derives their consequences itself. Three are implied by any
// others: functions that a generator put among the constants do not change (known.h), an import of
// no names is the same with None and with an empty tuple, and of equal constants any will do, for a
// tuple or slice that is made of constants, too.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace pellucid::object {

struct Facts {
  // Locals that the generator made for itself. They are stack slots with names: they cannot be
  // observed, and their values may be released earlier, never later; while an exception leaves the
  // frame, so may the values on its stack.
  std::vector<std::string> temporaries;
  // Globals, and attributes of globals ("module.name"), that are bound before the code runs and not
  // rebound while it does. Loading one is not an effect.
  std::vector<std::string> steady;
  // Steady functions with private state: their calls keep their order among themselves, and may be
  // reordered with loads of names, attributes and items, which are independent of them.
  std::vector<std::string> apart;
  // Steady functions that only read, as loads do.
  std::vector<std::string> reads;
  // Steady functions that return a tuple or a list with every item that the code takes.
  std::vector<std::string> graphs;
  // Steady functions that return an object, never None.
  std::vector<std::string> objects;
  // Steady functions that make a function from their arguments, which does not escape.
  std::vector<std::string> makers;

  // Attributes whose value their object keeps alive as long as it lives itself, and with "[]" after
  // the name the value's items too: a longer reference to these keeps nothing else alive.
  std::vector<std::string> owned;

  // Code objects nested in the root that the same generator made, by their names: all facts hold
  // for them too.
  std::vector<std::string> nested;

  bool empty() const { return temporaries.empty() && steady.empty(); }

  // Returns true if the facts hold for a code object of this name.
  bool hold_for(bool is_root, std::string_view name) const { return is_root || has(nested, name); }

  static bool has(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
};

}  // namespace pellucid::object
