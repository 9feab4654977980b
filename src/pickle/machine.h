// SPDX-License-Identifier: Apache-2.0
// pickle::run: bytes -> Graph. The stack machine of CPython's pickle, which calls and imports
// nothing.
//
// It stops where CPython's pickle would fail, and keeps everything before that place. A failure
// that depends on what an import or a call would return is not foreseen.
#pragma once

#include <cstdint>
#include <span>

#include "pickle/graph.h"

namespace pellucid::pickle {

// Reads the pickle that starts at `at`. More values, or more on the stack and in the memo, are an
// error (ErrorCode::Limit).
Graph run(std::span<const uint8_t> bytes, uint64_t at = 0, size_t most_values = kMostValues);

}  // namespace pellucid::pickle
