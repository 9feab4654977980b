// SPDX-License-Identifier: Apache-2.0
// python: the contents of files other than source: versions, headers, constants, remarks.
#pragma once

#include "python/boundary.h"

namespace pellucid::python {

std::tuple<int, int> pyc_version(const nanobind::bytes& data);

// Returns the header of a .pyc of a version, with date and size unknown; None if not supported.
nanobind::object header_for(int major, int minor);

// Returns how a file was read, its code objects and what is in them besides their instructions.
nanobind::dict inspect_pyc(const nanobind::bytes& data, const MaybeVersion& version);

// Returns every string and bytes constant of at least `least` bytes, with the path of its code
// object: [(path, value), ...]. Includes items of tuples and other constants, and tuples of at
// least 16 numbers that are bytes.
nanobind::list long_constants(const nanobind::bytes& data, size_t least,
                              const MaybeVersion& version);

// Returns true if the bytes hold marshalled code that pellucid reads.
bool holds_code(const nanobind::bytes& data);

}  // namespace pellucid::python
