// SPDX-License-Identifier: Apache-2.0
// python: conversions for all functions that Python calls: text, bytes, versions, and errors as
// exceptions.
#pragma once

#include <nanobind/nanobind.h>
// One list for all files, since a missing caster is a std::bad_cast at run time.
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

// Throws the Python exception for an error.
[[noreturn]] void raise(const Error& error);

template <typename T>
T value_or_raise(Result<T> result) {
  if (!result.ok()) raise(result.error());
  return std::move(*result);
}

// Runs `work` without the GIL.
template <typename Work>
auto without_gil(Work work) {
  const nanobind::gil_scoped_release others_may_run;
  return work();
}

// Returns a str from UTF-8; invalid bytes become escapes.
nanobind::str text(const std::string& utf8);

std::span<const uint8_t> span_of(const nanobind::bytes& data);

// A version such as (3, 11), or None.
using MaybeVersion = std::optional<std::tuple<int, int>>;

// Throws a Python exception for a version that is not supported.
std::optional<Version> version_of(const MaybeVersion& given);

// Reads a file as this version, or as the one that its header gives or that fits. Throws Python
// exceptions.
Program read_input(const nanobind::bytes& data, const MaybeVersion& wanted);

}  // namespace pellucid::python
