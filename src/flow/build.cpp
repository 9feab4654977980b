// SPDX-License-Identifier: Apache-2.0
#include "flow/build.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "flow/draft.h"
#include "flow/inlined_locals.h"
#include "flow/shown_iterators.h"

namespace pellucid::flow {

namespace {

// Sums of counts below this cannot overflow; CPython's own limit is lower.
constexpr uint32_t kMaxCount = 1u << 24;

std::optional<Error> find_excess(const bytecode::Stream& stream) {
  for (const Instr& instr : stream.instrs) {
    const bytecode::Operand operand = bytecode::operand_of(instr.op);
    if (operand != bytecode::Operand::Count && operand != bytecode::Operand::Depth) continue;
    if (instr.a < kMaxCount && instr.b < kMaxCount) continue;
    return Error{ErrorCode::Limit, instr.offset,
                 "flow: count out of range at offset " + std::to_string(instr.offset)};
  }
  return std::nullopt;
}

// Returns the start of the code that push_cold_blocks_to_end moved (3.11+): handlers, and what only
// they lead to.
size_t find_moved(const bytecode::Stream& stream, const Draft& draft) {
  size_t moved = stream.instrs.size();
  for (const Handler& handler : draft.handlers) {
    const size_t at = draft.blocks[handler.entry.index()].at;
    if (handler.pushes < 6) moved = std::min(moved, at);
  }
  // The handlers of empty bodies protect nothing.
  for (size_t i = 0; i < moved; ++i) {
    if (stream.instrs[i].op == Op::PushExcInfo) moved = i;
  }
  return moved;
}

// Returns the ends of loops: after the last jump back to each instruction. A jump back from moved
// code does not show where it was written. If the handler of an `async for` was moved, so was all
// the code after that loop: then no place shows anything.
std::vector<uint32_t> find_loop_ends(const bytecode::Stream& stream, const Draft& draft) {
  const size_t moved = find_moved(stream, draft);
  std::vector<uint32_t> ends(stream.instrs.size(), 0);
  for (size_t i = 0; i < stream.instrs.size(); ++i) {
    const Instr& instr = stream.instrs[i];
    if (instr.op == Op::EndAsyncFor && i >= moved) return std::vector<uint32_t>(ends.size(), 0);
    if (bytecode::operand_of(instr.op) != bytecode::Operand::Target || instr.a > i) continue;
    if (i < moved || instr.a >= moved) ends[instr.a] = instr.offset + 1;
  }
  return ends;
}

Graph finish(const bytecode::Stream& stream, Draft draft, object::Version version) {
  draft.loop_ends = find_loop_ends(stream, draft);
  Graph graph = assemble(std::move(draft));
  graph.folds = folds_of(version);
  graph.habits = habits_of(version);
  graph.faults = stream.faults;
  return graph;
}

}  // namespace

Result<Graph> build(const object::Module& module, const bytecode::Stream& stream, bool keep_ends) {
  if (auto error = find_excess(stream)) return *error;
  const object::Version version = module[stream.code].version;
  const bool has_block_stack = version < object::Version{3, 11};
  std::optional<Draft> kept;
  if (keep_ends && has_block_stack) {
    Result<Draft> with_ends = draft_from_block_stack(module, stream, true);
    // The ends are code that never runs, which need not be valid.
    if (with_ends.ok() && (with_ends->marks_ends || with_ends->marks_empty_bodies)) {
      Graph graph = finish(stream, std::move(*with_ends), version);
      check(module, graph);
      return graph;
    }
    // Without markers and subroutines the draft is the plain one.
    if (with_ends.ok() && !with_ends->has_subroutines) kept = std::move(*with_ends);
  }
  if (!kept) {
    PELLUCID_TRY(kept, has_block_stack ? draft_from_block_stack(module, stream)
                                       : draft_from_exception_table(module, stream));
  }
  Draft& draft = *kept;
  Graph graph = finish(stream, std::move(draft), version);
  read_inlined_locals(graph);
  if (version == object::Version{3, 12}) mark_annotations(graph);
  if (version >= object::Version{3, 15}) {
    if (auto error = find_shown_iterator(graph)) return *error;
  }
  // From here on nothing depends on the version.
  check(module, graph);
  return graph;
}

}  // namespace pellucid::flow
