// SPDX-License-Identifier: Apache-2.0
// How much of one piece of code may be a copy of another, and how far copies are looked for.
#pragma once

#include <cstddef>

namespace pellucid::structure {

// CPython copies a block to the jumps that lead to it if it leaves the code and has four
// instructions at most: MAX_COPY_SIZE, of compile.c in 3.10 and 3.11 and of flowgraph.c since.
inline constexpr size_t kCopiedInstructions = 4;
// The same in items: RETURN_CONST and BINARY_SLICE are two each, and both may be in one block.
inline constexpr size_t kCopiedItems = 6;
// Such code goes on through blocks that have become empty, or hold a marker alone, to where it
// leaves: more than this many stand in no copy.
inline constexpr size_t kCopiedBlocks = 8;

// Among the endings of one line copies lie close together, however many a `finally` brings there:
// each is compared with so many after it, for otherwise a line costs the square of its endings.
inline constexpr size_t kFarthestCopy = 32;

// One place of a `finally` body stands for several of a copy if the compiler has copied its ending
// once more. If there are more, nothing tells any longer what stands for what.
inline constexpr size_t kMostCopies = 8;
// The places where a copy of a `finally` body ends, which have to mean the same, two by two.
inline constexpr size_t kMostEnds = 16;

}  // namespace pellucid::structure
