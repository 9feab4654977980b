// SPDX-License-Identifier: Apache-2.0
// python: what every function that Python calls needs on its way in and out: text, bytes, versions,
// errors that become exceptions.
#pragma once

#include <nanobind/nanobind.h>
// What is not included here turns into std::bad_cast at run time: one list for all.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pellucid/pellucid.h"

namespace pellucid::python {

// Throws the exception that an error is in Python.
[[noreturn]] void raise(const Error& error);

template <typename T>
T value_or_raise(Result<T> result) {
  if (!result.ok()) raise(result.error());
  return std::move(*result);
}

// Lets other threads run meanwhile.
template <typename Work>
auto without_gil(Work work) {
  const nanobind::gil_scoped_release others_may_run;
  return work();
}

// A str of what should be UTF-8: bytes that are none are shown as escapes.
nanobind::str text(const std::string& utf8);

std::span<const uint8_t> span_of(const nanobind::bytes& data);

// (3, 11) or None.
using MaybeVersion = std::optional<std::tuple<int, int>>;

// Reads a file as this version, or as the one that it says or that fits. Throws what Python sees.
Program read_input(const nanobind::bytes& data, const MaybeVersion& wanted);

}  // namespace pellucid::python
