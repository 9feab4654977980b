// SPDX-License-Identifier: Apache-2.0
// python: live Python objects -> object::Module. Converts and calls, no logic.
//
// Constants that a literal can write become plain values. Everything else (a tensor, a list, a
// subclass of int, a tuple with one of these in it) becomes an Opaque constant with a name, which
// the source uses and Decompilation.globals binds.
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
  // Reserves a name that the code already uses.
  void reserve(std::string_view name) { taken_.emplace(name); }

  bool taken(const std::string& name) const { return taken_.count(name) != 0; }

  // Returns the name of `object`, made from its own or its type's name on first use.
  const std::string& name_of(nanobind::handle object);

  // Gives an object that a literal could write a name made from its value; returns the name.
  const std::string& set_apart(nanobind::handle object);
  bool is_apart(nanobind::handle object) const { return apart_.count(object.ptr()) != 0; }

  // The replacements for names of variables that are not identifiers, such as `.0`, by original
  // name.
  std::unordered_map<std::string, std::string>& variables() { return variables_; }

  // Returns name -> object, in the order of their first use.
  nanobind::dict bindings() const;

 private:
  const std::string& add(nanobind::handle object, const std::string& hint);

  std::unordered_map<PyObject*, std::string> names_;
  std::unordered_set<PyObject*> apart_;
  std::unordered_map<std::string, std::string> variables_;
  std::unordered_set<std::string> taken_;
  std::vector<nanobind::object> objects_;  // kept alive, so that an address means one object
};

// A code object with all code nested in it. Names of variables of the root that are not identifiers
// are replaced one-to-one; `renamed` maps the replacements to the originals.
struct LiveCode {
  object::Module module;
  std::unordered_map<std::string, std::string> renamed;
  std::vector<nanobind::object> codes;  // the live object of each of the module's code objects
};

// Returns the text of a str, including surrogates.
std::string utf8(nanobind::handle text);

// Returns the name of a `def` for a code object's name, which may be no identifier:
// `resume_in_<lambda>`.
std::string function_name(nanobind::handle name);

// Converts `code`, a types.CodeType of the running interpreter, whose version may be unsupported.
// Throws nanobind::python_error. Of equal constants that are several objects all but one become
// opaque if they are to be `apart`, and in all modules that share the names. In code that a
// program `generated`, any slice will do for an equal constant.
Result<LiveCode> from_code(nanobind::handle code, OpaqueNames& names, bool apart = false,
                           bool generated = false);

}  // namespace pellucid::python
