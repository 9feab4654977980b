// SPDX-License-Identifier: Apache-2.0
#include "python/boundary.h"

#include "pellucid/views.h"

namespace nb = nanobind;

namespace pellucid::python {

void raise(const Error& error) {
  nb::object type = nb::module_::import_("pellucid.errors").attr("DecompileError");
  nb::object raised = type(error.message, error.offset, name_of(error.code));
  PyErr_SetObject(type.ptr(), raised.ptr());
  throw nb::python_error();
}

nb::str text(const std::string& utf8) {
  PyObject* made =
      PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "surrogatepass");
  if (made == nullptr) {
    // A message may quote bytes, or be cut within a character.
    PyErr_Clear();
    made =
        PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "backslashreplace");
  }
  if (made == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(made);
}

std::span<const uint8_t> span_of(const nb::bytes& data) {
  return {static_cast<const uint8_t*>(data.data()), data.size()};
}

std::optional<Version> version_of(const MaybeVersion& given) {
  if (!given) return std::nullopt;
  const auto [major, minor] = *given;
  const auto version = version_named(std::to_string(major) + '.' + std::to_string(minor));
  if (!version) throw nb::value_error("no version that is supported");
  return version;
}

Program read_input(const nb::bytes& data, const MaybeVersion& wanted) {
  const std::optional<Version> version = version_of(wanted);
  return value_or_raise(without_gil([&] { return read_pyc(span_of(data), version); }));
}

}  // namespace pellucid::python
