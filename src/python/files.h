// SPDX-License-Identifier: Apache-2.0
// python: what files hold besides source: versions, headers, tables, constants, findings.
#pragma once

#include "python/boundary.h"

namespace pellucid::python {

std::tuple<int, int> pyc_version(const nanobind::bytes& data);

// What tables of archives are: numbers, strings, and tuples, lists and dicts of these.
nanobind::object unmarshal(const nanobind::bytes& data);

// The bytes that a .pyc of a version begins with, its date and size unknown; none: not supported.
nanobind::object header_for(int major, int minor);

// How a file was read, its code objects and what is in them beside their instructions.
nanobind::dict inspect_pyc(const nanobind::bytes& data, const MaybeVersion& version);

// Every string and bytes constant of no less than `least` bytes, with the path of its code object:
// [(path, value), ...]. What lies in tuples and other constants is there too.
nanobind::list long_constants(const nanobind::bytes& data, size_t least,
                              const MaybeVersion& version);

// Returns true if the bytes hold marshalled code that pellucid reads.
bool holds_code(const nanobind::bytes& data);

}  // namespace pellucid::python
