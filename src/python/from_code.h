// SPDX-License-Identifier: Apache-2.0
// python: live Python objects -> object::Module. Converts and calls, no logic.
//
// Constants that a literal can write become plain values. Everything else (a tensor, a list, a
// subclass of int, a tuple with one of these in it) becomes an Opaque constant with a name, which
// the source refers to and Decompilation.globals binds.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "object/code.h"
#include "pellucid/result.h"

namespace pellucid::python {

// The names given to opaque objects: one object has one name, in all modules that share this.
class OpaqueNames {
 public:
  // Names that must not be given out, because the code already uses them.
  void reserve(std::string_view name) { taken_.emplace(name); }

  bool taken(const std::string& name) const { return taken_.count(name) != 0; }

  // The name of `object`, made up from what it is on first sight.
  const std::string& name_of(nanobind::handle object);

  // The names given to variables that have none, such as `.0`, by what they are called.
  std::unordered_map<std::string, std::string>& variables() { return variables_; }

  // Name -> object, in the order in which the objects were met.
  nanobind::dict bindings() const;

 private:
  std::unordered_map<PyObject*, std::string> names_;
  std::unordered_map<std::string, std::string> variables_;
  std::unordered_set<std::string> taken_;
  std::vector<nanobind::object> objects_;  // kept alive, so that an address means one object
};

// A code object with everything nested in it. Names of variables of the root that are no
// identifiers are replaced one-to-one; `renamed` maps the new ones to the old.
struct LiveCode {
  object::Module module;
  std::unordered_map<std::string, std::string> renamed;
  std::vector<nanobind::object> codes;  // the live object of each of the module's code objects
};

// The text of a str, surrogates and all.
std::string utf8(nanobind::handle text);

// What a `def` is called whose code object has this name: `resume_in_<lambda>` is none.
std::string function_name(nanobind::handle name);

// Converts `code`, a types.CodeType of the running interpreter, which may be one that pellucid does
// not read. Throws nanobind::python_error.
Result<LiveCode> from_code(nanobind::handle code, OpaqueNames& names);

}  // namespace pellucid::python
