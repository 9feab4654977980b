// SPDX-License-Identifier: Apache-2.0
#include "flow/graphs.h"

#include <utility>

#include "bytecode/decode.h"
#include "flow/build.h"

namespace pellucid::flow {
namespace {

// The number of instructions that are kept. Their streams and graphs take about 100 bytes each.
constexpr size_t kMostKept = 1u << 14;

}  // namespace

const Result<bytecode::Stream>& Graphs::stream(object::CodeId code) {
  std::optional<Result<bytecode::Stream>>& stream = entry(code).stream;
  if (!stream) {
    stream = bytecode::decode(module_, code);
    keep(code, stream->ok() ? (*stream)->instrs.size() : 0);
  }
  return *stream;
}

void Graphs::keep(object::CodeId code, size_t instructions) {
  kept_.emplace_back(code, instructions);
  kept_instructions_ += instructions;
  for (; kept_instructions_ > kMostKept && kept_.size() > 1; kept_.pop_front()) {
    const auto& [oldest, count] = kept_.front();
    part_of(entries_, oldest).reset();
    kept_instructions_ -= count;
    is_rest_ = true;
  }
}

void Graphs::free_rest() {
  if (!is_rest_) return;
  for (const auto& [code, count] : kept_) part_of(entries_, code).reset();
  kept_.clear();
  kept_instructions_ = 0;
}

Result<Graph> Graphs::built(object::CodeId code, bool keep_ends) {
  const Result<bytecode::Stream>& decoded = stream(code);
  if (!decoded.ok()) return decoded.error();
  return build(module_, *decoded, keep_ends);
}

const Result<Graph>& Graphs::graph(object::CodeId code) {
  std::optional<Result<Graph>>& graph = entry(code).graph;
  if (!graph) graph = built(code, false);
  return *graph;
}

const Result<Graph>& Graphs::graph_with_ends(object::CodeId code) {
  Entry& known = entry(code);
  if (known.has_no_ends) return graph(code);
  if (!known.with_ends) {
    Result<Graph> made = built(code, true);
    known.has_no_ends = !made.ok() || !(made->marks_ends || made->marks_empty_bodies);
    if (known.has_no_ends) {
      if (!known.graph) known.graph = std::move(made);
      return *known.graph;
    }
    known.with_ends = std::move(made);
  }
  return *known.with_ends;
}

}  // namespace pellucid::flow
