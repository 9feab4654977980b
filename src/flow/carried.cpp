// SPDX-License-Identifier: Apache-2.0
#include "flow/carried.h"

namespace pellucid::flow {
namespace {

constexpr size_t kMostCarried = 1u << 22;

}  // namespace

std::optional<Error> carried_too_much(const Graph& graph) {
  size_t carried = 0;
  for (const Block& block : graph.blocks) {
    carried += block.depth;
    if (carried <= kMostCarried) continue;
    return Error{ErrorCode::Limit, block.offset, "too many values on the stack in too many blocks"};
  }
  return std::nullopt;
}

}  // namespace pellucid::flow
