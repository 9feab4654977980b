// SPDX-License-Identifier: Apache-2.0
// archive: what bytes hold, judged by themselves: a name may lie.
#pragma once

#include <cstddef>
#include <optional>

#include "archive/source.h"
#include "archive/unpack.h"

namespace pellucid::archive {

enum class DataKind { Code, Zip, Pyz, Program, Tar, Gzip, Packed, Pickle, Carved };

// Returns the kind of archive, wherever in the bytes it shows; Code if there is none. (Whether it
// is a pickle is known once it was read.)
DataKind kind_of(Span bytes);

// The first bytes of a file, so many, show whether it may be one of these.
constexpr size_t kHeadSize = 512;

// Returns true if it may be a `.pyc`, or code without all or part of its header.
bool looks_like_code(Span head);

// Returns true if it has the header of a `.pyc`, and code may follow.
bool is_headed(Span head);

// Returns true if it may be an archive, or a program that has one.
bool may_be_archive(Span head);

// Returns true for compressed data that is no archive: a tar archive or code may be in it.
bool is_packed(Span head);

// Returns how it is compressed, if the core cannot unpack it.
std::optional<Packing> packing_of(Span head);

// Returns true if it is code that pellucid reads, with any header.
bool holds_code(Span bytes);

}  // namespace pellucid::archive
