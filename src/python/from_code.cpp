// SPDX-License-Identifier: Apache-2.0
#include "python/from_code.h"

#include <nanobind/eval.h>

#include <cctype>
#include <optional>

#include "object/admit.h"
#include "object/code.h"
#include "object/fitting_names.h"
#include "object/identifiers.h"
#include "object/known.h"
#include "pellucid/generated.h"
#include "python/literals.h"
#include "python/types.h"

namespace nb = nanobind;

namespace pellucid::python {

using object::Code;
using object::CodeId;
using object::Const;
using object::ConstId;
using object::ConstKind;
using object::LocalKind;
using object::Module;

namespace {

// Tuples nested deeper than this are opaque; no compiler emits them.
constexpr int kTupleDepth = 200;

std::vector<uint8_t> bytes_of(nb::handle code, const char* attribute) {
  nb::object value = code.attr(attribute);
  const auto* data = reinterpret_cast<const uint8_t*>(PyBytes_AsString(value.ptr()));
  return std::vector<uint8_t>(data, data + PyBytes_Size(value.ptr()));
}

uint32_t number(nb::handle code, const char* attribute) {
  return nb::cast<uint32_t>(code.attr(attribute));
}

std::vector<std::string> texts(nb::handle code, const char* attribute) {
  std::vector<std::string> found;
  for (nb::handle item : nb::tuple(code.attr(attribute))) found.push_back(utf8(item));
  return found;
}

// Returns the characters of `text` for an identifier: ASCII letters, digits and underscores.
std::string identifier_part(const std::string& text) {
  std::string kept;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128 && (std::isalnum(byte) != 0 || c == '_')) kept += c;
    if (kept.size() == 40) break;
  }
  return kept;
}

// Returns a word that describes the object: its own name if it has one, otherwise its type's.
std::string hint_of(nb::handle object) {
  for (const nb::handle named :
       {object, nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())))}) {
    // Only these, since attribute access on other objects, such as proxies, may run user code.
    PyObject* p = named.ptr();
    if (!PyType_Check(p) && !is_function(p) && !PyCFunction_Check(p) && !PyModule_Check(p)) {
      continue;
    }
    nb::object name = nb::steal(PyObject_GetAttrString(p, "__name__"));
    if (!name.is_valid()) {
      PyErr_Clear();
    } else if (PyUnicode_CheckExact(name.ptr())) {
      std::string part = identifier_part(utf8(name));
      if (!part.empty()) return part;
    }
  }
  return "object";
}

// Returns what an identifier can show of a constant's value: `0_5`.
std::string hint_of_value(nb::handle object) {
  nb::object shown = nb::steal(PyObject_Repr(object.ptr()));
  if (!shown.is_valid()) {
    PyErr_Clear();  // an int of too many digits
    return hint_of(object);
  }
  std::string spaced;
  for (const char c : utf8(shown)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool fits = byte < 128 && std::isalnum(byte) != 0;
    if (fits || (!spaced.empty() && spaced.back() != '_')) spaced += fits ? c : '_';
  }
  std::string part = identifier_part(spaced);
  while (!part.empty() && part.back() == '_') part.pop_back();
  return part.empty() ? hint_of(object) : part;
}

// Returns true for the original built-in `iter`.
bool is_builtin_iter(nb::handle object) {
  if (!PyCFunction_Check(object.ptr())) return false;
  const auto text_of = [&](const char* attribute) {
    nb::object text = nb::steal(PyObject_GetAttrString(object.ptr(), attribute));
    if (!text.is_valid()) PyErr_Clear();
    return text.is_valid() && PyUnicode_CheckExact(text.ptr()) ? utf8(text) : std::string();
  };
  return text_of("__name__") == "iter" && text_of("__module__") == "builtins";
}

// Returns true if a function has the code of `lambda`, which uses no names except its arguments.
bool does_what(nb::handle function, const std::string& lambda) {
  nb::object scope = nb::dict();
  const std::string text = "(" + lambda + ").__code__";
  nb::object other = nb::eval(nb::str(text.c_str()), scope);
  nb::object code = function.attr("__code__");
  for (const char* attribute : {"co_argcount", "co_kwonlyargcount", "co_code", "co_consts"}) {
    if (!code.attr(attribute).equal(other.attr(attribute))) return false;
  }
  constexpr uint32_t kinds = object::kVarArgs | object::kVarKeywords | object::kGenerator |
                             object::kCoroutine | object::kAsyncGenerator;
  return (number(code, "co_flags") & kinds) == 0;
}

// Returns true for a function that only returns None, called without arguments. Dynamo calls one to
// pop a NULL from the stack, for which there is no instruction.
bool returns_none(nb::handle object) {
  return is_function(object) && does_what(object, "lambda: None");
}

// Returns the number of arguments of a function that returns them in the order of object/known.h
// (Known::Rotates); 0 for other objects. Dynamo calls one where a version has no instruction to
// rotate so many values.
uint32_t rotates(nb::handle object) {
  if (!is_function(object)) return 0;
  nb::object code = object.attr("__code__");
  const uint32_t count = number(code, "co_argcount");
  if (count < 2 || count > object::kMostRotated || number(code, "co_nlocals") != count) return 0;
  std::string given, returned;
  for (uint32_t i = 0; i < count; ++i) {
    given += (i == 0 ? "v" : ", v") + std::to_string(i);
    returned += "v" + std::to_string(i + 1 < count ? count - 2 - i : i) + ", ";
  }
  return does_what(object, "lambda " + given + ": (" + returned + ")") ? count : 0;
}

// Fills the fast-locals index space, which a live code object shows only through its parts.
void fill_localsplus(Code& code) {
  object::derive_localsplus(code);
  if ((code.flags & object::kOptimized) != 0) return;
  // Fast locals of a class or module body are those of inlined comprehensions.
  for (LocalKind& kind : code.localspluskinds) {
    if (kind == LocalKind::Local) kind = LocalKind::Hidden;
  }
}

// One conversion: a worklist of code objects, so that nesting costs no native stack.
class Converter {
 public:
  Converter(OpaqueNames& names, bool generated) : names_(names), generated_(generated) {}

  Result<LiveCode> run(nb::handle root, bool apart) {
    module_ = object::new_module(running_version());
    module_.root = id_of(root);
    reserve_names(root);
    for (size_t done = 0; done < pending_.size(); ++done) fill(CodeId(done), pending_[done]);
    object::fit_names(module_, names_.variables(), module_.root);
    std::unordered_map<std::string, std::string> renamed;
    for (const auto& [given, before] : module_.names_given.pairs) {
      names_.reserve(module_.text(given));
      renamed.emplace(module_.text(given), module_.text(before));
    }
    if (auto error = object::admit(module_)) return std::move(*error);
    if (apart) {
      PELLUCID_TRY(const std::vector<ConstId> twins, twin_constants(module_));
      set_apart(twins);
    }
    return LiveCode{std::move(module_), std::move(renamed), std::move(pending_)};
  }

 private:
  CodeId id_of(nb::handle code) {
    const auto [it, fresh] = codes_.try_emplace(code.ptr(), CodeId(pending_.size()));
    if (fresh) {
      pending_.push_back(nb::borrow(code));
      module_.codes.push_back({});
    }
    return it->second;
  }

  // Reserves every name in the code and nested code, from which opaque names must differ.
  void reserve_names(nb::handle root) {
    std::vector<nb::handle> todo{root};
    std::unordered_set<PyObject*> seen{root.ptr()};
    while (!todo.empty()) {
      const nb::handle code = todo.back();
      todo.pop_back();
      for (const char* attribute : {"co_names", "co_varnames", "co_cellvars", "co_freevars"}) {
        for (const std::string& name : texts(code, attribute)) {
          names_.reserve(name);
        }
      }
      for (nb::handle item : nb::tuple(code.attr("co_consts"))) {
        if (is_code(item) && seen.insert(item.ptr()).second) todo.push_back(item);
      }
    }
  }

  Symbol intern(const std::string& text) { return module_.strings.intern(text); }

  // Returns the name of a code object's `def`. Nested code that is unnamed in source keeps the
  // compiler's name, such as `<lambda>`.
  static std::string name_of(nb::handle live, bool is_root) {
    const nb::object name = live.attr("co_name");
    const std::string text = utf8(name);
    const bool is_function = (number(live, "co_flags") & object::kOptimized) != 0;
    return is_function && (is_root || text.substr(0, 1) != "<") ? function_name(name) : text;
  }

  std::vector<Symbol> names(nb::handle code, const char* attribute) {
    std::vector<Symbol> symbols;
    for (const std::string& name : texts(code, attribute)) symbols.push_back(intern(name));
    return symbols;
  }

  void fill(CodeId id, nb::handle live) {
    Code code;
    code.version = module_.version;
    code.argcount = number(live, "co_argcount");
    code.posonlyargcount = number(live, "co_posonlyargcount");
    code.kwonlyargcount = number(live, "co_kwonlyargcount");
    code.nlocals = number(live, "co_nlocals");
    code.stacksize = number(live, "co_stacksize");
    code.flags = number(live, "co_flags");
    code.firstlineno = nb::cast<int32_t>(live.attr("co_firstlineno"));
    code.name = intern(name_of(live, id == module_.root));
    code.filename = intern(utf8(live.attr("co_filename")));
    code.bytecode = bytes_of(live, "co_code");
#if PY_VERSION_HEX >= 0x030B0000
    code.qualname = intern(utf8(live.attr("co_qualname")));
    code.exceptiontable = bytes_of(live, "co_exceptiontable");
#else
    code.qualname = code.name;
#endif
#if PY_VERSION_HEX >= 0x030A0000
    code.linetable = bytes_of(live, "co_linetable");
#else
    code.linetable = bytes_of(live, "co_lnotab");
#endif
    code.names = names(live, "co_names");
    code.varnames = names(live, "co_varnames");
    code.cellvars = names(live, "co_cellvars");
    code.freevars = names(live, "co_freevars");
    fill_localsplus(code);
    for (nb::handle item : nb::tuple(live.attr("co_consts"))) code.consts.push_back(convert(item));
    module_.codes.edit(id) = std::move(code);
  }

  // Returns the constant of `value`; one object is one constant.
  ConstId convert(nb::handle value) {
    const auto known = consts_.find(value.ptr());
    if (known != consts_.end()) return known->second;
    std::optional<ConstId> literal;
    if (!names_.is_apart(value)) literal = convert_literal(value, 0);
    const ConstId id = literal ? *literal : opaque(value);
    consts_.emplace(value.ptr(), id);
    return id;
  }

  void set_apart(const std::vector<ConstId>& twins) {
    std::unordered_map<ConstId, PyObject*> objects;
    for (const auto& [object, id] : consts_) objects.emplace(id, object);
    for (const ConstId id : twins) {
      Const made;
      made.kind = ConstKind::Opaque;
      made.text = intern(names_.set_apart(objects.at(id)));
      module_.consts[id.index()] = std::move(made);
    }
  }

  ConstId opaque(nb::handle value) {
    Const made;
    made.kind = ConstKind::Opaque;
    made.text = intern(names_.name_of(value));
    if (is_builtin_iter(value)) made.integer = static_cast<int64_t>(object::Known::Iter);
    if (returns_none(value)) made.integer = static_cast<int64_t>(object::Known::ReturnsNone);
    if (const uint32_t count = rotates(value)) made.integer = object::rotates(count);
    return module_.add(std::move(made));
  }

  // Returns nothing if no literal makes an equal object of the same type.
  std::optional<ConstId> convert_literal(nb::handle value, int depth) {
    if (const auto literal = add_literal(module_, value)) return literal;
    PyObject* p = value.ptr();
    if (is_code(p)) {
      Const made;
      made.kind = ConstKind::Code;
      made.code = id_of(value);
      return module_.add(std::move(made));
    }
    if (depth < kTupleDepth && PyTuple_CheckExact(p)) return items(ConstKind::Tuple, value, depth);
    // Compilers make constants of slices since 3.14.
    const bool has_slices = generated_ || module_.version.minor >= 14;
    if (depth < kTupleDepth && PySlice_Check(p) && has_slices) return slice(value, depth);
    // Compilers never nest a frozenset in another constant.
    if (depth == 0 && PyFrozenSet_CheckExact(p)) return items(ConstKind::FrozenSet, value, depth);
    return std::nullopt;
  }

  // Returns a container constant, or nothing if an item is not a literal: rebuilding the container
  // of an opaque item would lose the container's identity.
  std::optional<ConstId> items(ConstKind kind, nb::handle value, int depth) {
    Const made;
    made.kind = kind;
    for (nb::handle item : value) {
      // No source makes a code object inside a tuple.
      if (is_code(item)) return std::nullopt;
      const std::optional<ConstId> id = convert_literal(item, depth + 1);
      if (!id) return std::nullopt;
      made.items.push_back(*id);
      // A tuple with a slice in it has a display only in a subscript.
      const Const& part = module_[*id];
      if (part.text.valid() && !has_own_text(part.kind)) made.text = intern(names_.name_of(value));
    }
    // A frozenset has a display only if it is searched or iterated; otherwise it is a name.
    if (kind == ConstKind::FrozenSet) made.text = intern(names_.name_of(value));
    return module_.add(std::move(made));
  }

  // Returns true if `text` is the content of such a constant, not its name.
  static bool has_own_text(ConstKind kind) {
    return kind == ConstKind::Str || kind == ConstKind::Bytes || kind == ConstKind::BigInt;
  }

  // Returns a slice constant, or nothing. It has a display only in a subscript; otherwise it is a
  // name.
  std::optional<ConstId> slice(nb::handle value, int depth) {
    Const made;
    made.kind = ConstKind::Slice;
    for (const char* part : {"start", "stop", "step"}) {
      const std::optional<ConstId> id = convert_literal(value.attr(part), depth + 1);
      if (!id) return std::nullopt;
      made.items.push_back(*id);
    }
    made.text = intern(names_.name_of(value));
    return module_.add(std::move(made));
  }

  OpaqueNames& names_;
  const bool generated_;
  Module module_;
  std::vector<nb::object> pending_;  // by CodeId
  std::unordered_map<PyObject*, CodeId> codes_;
  std::unordered_map<PyObject*, ConstId> consts_;
};

}  // namespace

std::string utf8(nb::handle text) {
  Py_ssize_t size = 0;
  if (const char* fast = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) {
    return std::string(fast, static_cast<size_t>(size));
  }
  PyErr_Clear();  // a lone surrogate
  nb::object encoded = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
  if (!encoded.is_valid()) throw nb::python_error();
  return std::string(PyBytes_AsString(encoded.ptr()),
                     static_cast<size_t>(PyBytes_Size(encoded.ptr())));
}

const std::string& OpaqueNames::name_of(nb::handle object) {
  const auto known = names_.find(object.ptr());
  if (known != names_.end()) return known->second;
  return add(object, hint_of(object));
}

const std::string& OpaqueNames::set_apart(nb::handle object) {
  apart_.insert(object.ptr());
  const auto known = names_.find(object.ptr());
  return known != names_.end() ? known->second : add(object, hint_of_value(object));
}

const std::string& OpaqueNames::add(nb::handle object, const std::string& hint) {
  const std::string base = "_const_" + hint;
  std::string name = base;
  for (int n = 1; taken(name); ++n) name = base + "_" + std::to_string(n);
  reserve(name);
  objects_.push_back(nb::borrow(object));
  return names_.emplace(object.ptr(), name).first->second;
}

nb::dict OpaqueNames::bindings() const {
  nb::dict bound;
  for (const nb::object& object : objects_) bound[names_.at(object.ptr()).c_str()] = object;
  return bound;
}

std::string function_name(nb::handle name) { return object::as_function_name(utf8(name)); }

Result<LiveCode> from_code(nb::handle code, OpaqueNames& names, bool apart, bool generated) {
  return Converter(names, generated).run(code, apart);
}

}  // namespace pellucid::python
