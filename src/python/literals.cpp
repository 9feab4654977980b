// SPDX-License-Identifier: Apache-2.0
#include "python/literals.h"

#include <string>
#include <utility>

#include "python/from_code.h"

namespace nb = nanobind;

namespace pellucid::python {
namespace {

using object::Const;
using object::ConstKind;

Const plain(ConstKind kind) {
  Const made;
  made.kind = kind;
  return made;
}

Const with_text(object::Module& module, ConstKind kind, const std::string& text) {
  Const made = plain(kind);
  made.text = module.strings.intern(text);
  return made;
}

Const integer(object::Module& module, nb::handle value) {
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow == 0) {
    Const made = plain(ConstKind::Int);
    made.integer = small;
    return made;
  }
  nb::object base16 = nb::steal(PyNumber_ToBase(value.ptr(), 16));
  if (!base16.is_valid()) throw nb::python_error();
  std::string digits = utf8(base16);
  digits.erase(digits.find("0x"), 2);
  return with_text(module, ConstKind::BigInt, digits);
}

std::optional<Const> literal(object::Module& module, nb::handle value) {
  PyObject* p = value.ptr();
  if (p == Py_None) return plain(ConstKind::None);
  if (p == Py_False) return plain(ConstKind::False);
  if (p == Py_True) return plain(ConstKind::True);
  if (p == Py_Ellipsis) return plain(ConstKind::Ellipsis);
  if (PyLong_CheckExact(p)) return integer(module, value);
  if (PyUnicode_CheckExact(p)) return with_text(module, ConstKind::Str, utf8(value));
  if (PyBytes_CheckExact(p)) {
    const std::string bytes(PyBytes_AsString(p), static_cast<size_t>(PyBytes_Size(p)));
    return with_text(module, ConstKind::Bytes, bytes);
  }
  if (PyFloat_CheckExact(p)) {
    Const made = plain(ConstKind::Float);
    made.real = PyFloat_AsDouble(p);
    return made;
  }
  if (PyComplex_CheckExact(p)) {
    Const made = plain(ConstKind::Complex);
    made.real = PyComplex_RealAsDouble(p);
    made.imag = PyComplex_ImagAsDouble(p);
    return made;
  }
  return std::nullopt;
}

}  // namespace

std::optional<object::ConstId> add_literal(object::Module& module, nb::handle value) {
  std::optional<Const> made = literal(module, value);
  if (!made) return std::nullopt;
  return module.add(std::move(*made));
}

}  // namespace pellucid::python
