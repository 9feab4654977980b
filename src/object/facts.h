// SPDX-License-Identifier: Apache-2.0
// What the caller knows of program-generated code, and the bytecode does not say.
//
// A decompiler cannot know that `tmp_3` is a name that no person chose, or that nobody ever binds
// `__compiled_fn_1` anew. Who had the code generated does. The facts hold for the root code object,
// and for those within it that they name; all other code is taken as it is. They are assumptions of
// the proof: `verify` uses them as they are, and finds on its own what follows. Two go without
// saying where there are any: what a generator put among the constants to call stays what it is
// (known.h), and an import that takes no names is the same whether it is given None or an empty
// tuple of them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace pellucid::object {

struct Facts {
  // Locals that the generator made for itself. They are stack slots with names: that they exist
  // shows nowhere, and what they hold may be released earlier, never later.
  std::vector<std::string> temporaries;
  // Globals, and attributes of globals ("module.name"), that are bound before the code runs and
  // stay what they are while it does. Loading one is no effect.
  std::vector<std::string> steady;
  // Steady functions that keep books of their own: their calls keep their order, and may pass
  // loads of names, attributes and items, which neither see them nor are seen by them.
  std::vector<std::string> apart;
  // Steady functions that only read, as loads do.
  std::vector<std::string> reads;
  // Steady functions that return a tuple or a list with every item that the code asks for.
  std::vector<std::string> graphs;
  // Steady functions that return an object, never None.
  std::vector<std::string> objects;
  // Steady functions that make a function of what they are given, and show it to nobody.
  std::vector<std::string> makers;

  // Attributes whose value their object keeps for as long as it lives itself, and with "[]" after
  // the name the value's items too: who refers to these longer keeps nothing alive.
  std::vector<std::string> owned;

  // Code objects within the root's that the same generator made, by their names: whatever is said
  // here of the root's is so of them.
  std::vector<std::string> nested;

  bool empty() const { return temporaries.empty() && steady.empty(); }

  // Returns true if they hold for a code object of this name.
  bool hold_for(bool is_root, std::string_view name) const { return is_root || has(nested, name); }

  static bool has(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
};

}  // namespace pellucid::object
