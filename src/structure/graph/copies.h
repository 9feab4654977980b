// SPDX-License-Identifier: Apache-2.0
// How long a copy of code may be, and how far to look for copies.
#pragma once

#include <cstddef>

namespace pellucid::structure {

// CPython copies a block to the jumps to it (tail duplication) if it leaves the code and has at
// most four instructions: MAX_COPY_SIZE, of compile.c in 3.10 and 3.11 and of flowgraph.c since.
inline constexpr size_t kCopiedInstructions = 4;
// The same in items: RETURN_CONST and BINARY_SLICE are two each, and both may be in one block.
inline constexpr size_t kCopiedItems = 6;
// A copy may contain blocks that have become empty, or hold a marker alone: at most this many.
inline constexpr size_t kCopiedBlocks = 8;

// Copies among the endings of one line are close together, however many endings a `finally` adds to
// the line. Each ending is compared with this many after it: comparing all would take quadratic
// time.
inline constexpr size_t kFarthestCopy = 32;

// A place in a `finally` body corresponds to several places of its copy if the compiler has copied
// its ending once more. With more places than this, the correspondence is unknown.
inline constexpr size_t kMostCopies = 8;
// The most ends that a copy of a `finally` body may have: they have to mean the same, two by two.
inline constexpr size_t kMostEnds = 16;

}  // namespace pellucid::structure
