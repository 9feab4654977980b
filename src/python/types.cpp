// SPDX-License-Identifier: Apache-2.0
#include "python/types.h"

namespace nb = nanobind;

namespace pellucid::python {

namespace {

// Never freed: both are static objects of the interpreter.
PyTypeObject* code_type = nullptr;
PyTypeObject* function_type = nullptr;

}  // namespace

void find_types() {
  const nb::module_ types = nb::module_::import_("types");
  code_type = reinterpret_cast<PyTypeObject*>(nb::object(types.attr("CodeType")).ptr());
  function_type = reinterpret_cast<PyTypeObject*>(nb::object(types.attr("FunctionType")).ptr());
}

bool is_code(nb::handle object) { return Py_TYPE(object.ptr()) == code_type; }

bool is_function(nb::handle object) { return Py_TYPE(object.ptr()) == function_type; }

object::Version running_version() {
#ifdef Py_LIMITED_API
  return {static_cast<uint8_t>(Py_Version >> 24), static_cast<uint8_t>(Py_Version >> 16)};
#else
  return {PY_MAJOR_VERSION, PY_MINOR_VERSION};
#endif
}

}  // namespace pellucid::python
