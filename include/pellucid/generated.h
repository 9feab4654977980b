// SPDX-License-Identifier: Apache-2.0
// generated.h: live code objects, and code that a program has generated. Experimental and not
// installed: it uses types of the source tree and changes with them. For the extension.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ast/tree.h"
#include "object/code.h"
#include "object/facts.h"
#include "object/known.h"
#include "pellucid/pellucid.h"

namespace pellucid {

// How a body is written.
enum class Form : uint8_t {
  Usual,         // as a person would
  InOrder,       // the same, after code that never runs and binds all locals in their order
  Plain,         // with structure, but in the order of the bytecode and not polished
  Unstructured,  // as a loop over a state
};
using FormsByPath = std::unordered_map<std::string, Form>;  // what is missing is Usual

// A value that the source refers to by a name.
struct Opaque {
  std::string name;
  object::Known known = object::Known::Nothing;
  object::CodeId code;  // if it is a code object
};

struct LiveDecompilation : Decompilation {
  std::vector<Opaque> opaques;
};

// Returns the constants that a code object loads together with equal ones that are different
// objects. No source can contain both as literals, because `is` distinguishes them.
Result<std::vector<object::ConstId>> twin_constants(const object::Module& module);

// Returns the source of a code object that is live in an interpreter (Module::root). `facts` is
// what the caller knows about it.
Result<LiveDecompilation> decompile_live(const object::Module& module,
                                         const DecompileOptions& options,
                                         const FormsByPath& forms = {},
                                         const object::Facts& facts = {});

// decompile() in these forms only: no other forms are tried for code that is not proven, and the
// verdict ignores a doubt of the version. `facts` is what the caller knows about a program that is
// one generated function, which they name as nested.
Result<Decompilation> decompile_in_forms(const Program& program, const DecompileOptions& options,
                                         const FormsByPath& forms, const object::Facts& facts = {});

// What may differ when two live code objects are compared.
struct Allowance {
  bool ignore_name = false;   // a name that is not an identifier was renamed
  bool extra_locals = false;  // temporaries on either side
  object::Facts facts = {};   // what is assumed about both
  bool strict = false;        // as CompareOptions::strict
};
Result<Verdict> compare_live(const object::Module& original, const object::Module& candidate,
                             const Allowance& allowance);

Result<Dump> dump_live(const object::Module& module, std::string_view stage);

// Compares a program with the tree of a source, which is lowered for the program's version. Spends
// the tree's module, in which the tree was made (object::new_module).
Result<Verdict> compare_with_source(const Program& original, ast::Tree& tree, ast::NodeId top,
                                    const object::Facts& facts = {});

// Returns a program in which these texts are not constants: each stands for an object, and is the
// name that the object is shown under.
Program with_objects(const Program& program, std::span<const std::string> stand_ins);

// The code objects of a program.
const object::Module& module_of(const Program& program);

// The names of the code objects in the text down to the one that the file holds, which is last;
// none for a module.
std::vector<std::string> subject_path(const Program& program);

// The path of each code object, by its number.
std::vector<std::string> paths_of(const object::Module& module);

}  // namespace pellucid
