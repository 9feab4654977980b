// SPDX-License-Identifier: Apache-2.0
#include "flow/build.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "bytecode/op_facts.h"
#include "flow/draft.h"
#include "flow/inlined_locals.h"
#include "flow/shown_iterators.h"

namespace pellucid::flow {

namespace {

// Sums of counts below this cannot overflow; CPython's own limit is lower.
constexpr uint32_t kMaxCount = 1u << 24;

// What reads a graph keeps a stack for each of its blocks. Compilers of 3.8 and 3.9 hold all
// elements of a display there, which may be some thousands; no code needs more slots than this, all
// blocks together, which would take the square of its size.
constexpr size_t kMostSlots = 1u << 22;

// Compilers store each value that they unpack, by an instruction of its own. Others may leave more
// on the stack, but not at any number for a few bytes.
constexpr size_t kMostUnpacked = 16;  // for an instruction
constexpr size_t kAlwaysUnpacked = 4096;

Result<Survey> survey_of(const bytecode::Stream& stream) {
  Survey survey;
  size_t unpacked = 0;
  const size_t most_unpacked = kMostUnpacked * stream.instrs.size() + kAlwaysUnpacked;
  for (size_t i = 0; i < stream.instrs.size(); ++i) {
    const Instr& instr = stream.instrs[i];
    survey.ops[static_cast<size_t>(instr.op)] = true;
    const bytecode::Operand operand = bytecode::facts_of(instr.op).operand;
    if (operand == bytecode::Operand::Target) {
      survey.jumps = true;
      survey.jumps_back |= instr.a <= i;
    }
    if (operand != bytecode::Operand::Count && operand != bytecode::Operand::Depth) continue;
    if (instr.op == Op::UnpackSequence || instr.op == Op::UnpackEx) {
      unpacked += size_t{instr.a} + instr.b;
      if (unpacked > most_unpacked) {
        return Error{ErrorCode::Limit, instr.offset,
                     "flow: more values than the code can use are unpacked at offset " +
                         std::to_string(instr.offset)};
      }
    }
    if (instr.a < kMaxCount && instr.b < kMaxCount) continue;
    return Error{ErrorCode::Limit, instr.offset,
                 "flow: count out of range at offset " + std::to_string(instr.offset)};
  }
  return survey;
}

// Returns the start of the code that push_cold_blocks_to_end moved (3.11+): handlers, and what only
// they lead to.
size_t find_moved(const bytecode::Stream& stream, const Draft& draft, const Survey& survey) {
  size_t moved = stream.instrs.size();
  for (const Handler& handler : draft.handlers) {
    const size_t at = draft.blocks[handler.entry.index()].at;
    if (handler.pushes < 6) moved = std::min(moved, at);
  }
  if (!survey.has(Op::PushExcInfo)) return moved;
  // The handlers of empty bodies protect nothing.
  for (size_t i = 0; i < moved; ++i) {
    if (stream.instrs[i].op == Op::PushExcInfo) moved = i;
  }
  return moved;
}

// Returns the ends of loops: after the last jump back to each instruction. A jump back from moved
// code does not show where it was written. If the handler of an `async for` was moved, so was all
// the code after that loop: then no place shows anything.
std::vector<uint32_t> find_loop_ends(const bytecode::Stream& stream, const Draft& draft,
                                     const Survey& survey) {
  if (!survey.jumps_back) return {};
  const size_t moved = find_moved(stream, draft, survey);
  std::vector<uint32_t> ends(stream.instrs.size(), 0);
  for (size_t i = 0; i < stream.instrs.size(); ++i) {
    const Instr& instr = stream.instrs[i];
    if (instr.op == Op::EndAsyncFor && i >= moved) return {};
    if (!bytecode::has_target(instr.op) || instr.a > i) continue;
    if (i < moved || instr.a >= moved) ends[instr.a] = instr.offset + 1;
  }
  return ends;
}

Graph finish(const bytecode::Stream& stream, Graph graph, object::Version version) {
  graph.folds = folds_of(version);
  graph.habits = habits_of(version);
  graph.faults = stream.faults;
  return graph;
}

Graph finish(const bytecode::Stream& stream, Draft draft, const Survey& survey,
             object::Version version) {
  draft.loop_ends = find_loop_ends(stream, draft, survey);
  return finish(stream, assemble(std::move(draft)), version);
}

// Returns the graph of a code object, with all but what the last steps of build() add.
Result<Graph> graph_of(const object::Module& module, const bytecode::Stream& stream,
                       const Survey& survey) {
  const object::Version version = module[stream.code].version;
  if (version < object::Version{3, 11}) {
    PELLUCID_TRY(Draft draft, draft_from_block_stack(module, stream));
    return finish(stream, std::move(draft), survey, version);
  }
  if (std::optional<Graph> straight = graph_of_straight_line(stream, survey)) {
    return finish(stream, std::move(*straight), version);
  }
  PELLUCID_TRY(Draft draft, draft_from_exception_table(module, stream, survey));
  return finish(stream, std::move(draft), survey, version);
}

std::optional<Error> too_many_slots(const Graph& graph) {
  size_t slots = 0;
  for (const Block& block : graph.blocks) {
    slots += block.depth;
    if (slots <= kMostSlots) continue;
    return Error{ErrorCode::Limit, block.offset,
                 "flow: too many values on the stack in too many blocks at offset " +
                     std::to_string(block.offset)};
  }
  return std::nullopt;
}

Graph checked([[maybe_unused]] const object::Module& module, Graph graph) {
#ifdef PELLUCID_CHECKS
  check(module, graph);
#endif
  return graph;
}

}  // namespace

Result<Graph> build(const object::Module& module, const bytecode::Stream& stream, bool keep_ends) {
  PELLUCID_TRY(const Survey survey, survey_of(stream));
  const object::Version version = module[stream.code].version;
  const bool has_block_stack = version < object::Version{3, 11};
  std::optional<Graph> kept;
  if (keep_ends && has_block_stack) {
    Result<Draft> with_ends = draft_from_block_stack(module, stream, true);
    // The ends are code that never runs, which need not be valid.
    if (with_ends.ok() && (with_ends->marks_ends || with_ends->marks_empty_bodies)) {
      Graph graph = finish(stream, std::move(*with_ends), survey, version);
      if (auto error = too_many_slots(graph)) return *error;
      return checked(module, std::move(graph));
    }
    // Without markers and subroutines the draft is the plain one.
    if (with_ends.ok() && !with_ends->has_subroutines) {
      kept = finish(stream, std::move(*with_ends), survey, version);
    }
  }
  if (!kept) {
    PELLUCID_TRY(kept, graph_of(module, stream, survey));
  }
  Graph graph = std::move(*kept);
  if (auto error = too_many_slots(graph)) return *error;
  if (survey.has(Op::LoadFastAndClear)) {
    read_inlined_locals(graph);
    if (version == object::Version{3, 12}) mark_annotations(graph);
  }
  const bool iterates = survey.has(Op::GetIter) || survey.has(Op::GetYieldFromIter);
  if (version >= object::Version{3, 15} && iterates) {
    if (auto error = find_shown_iterator(graph)) return *error;
  }
  // From here on nothing depends on the version.
  return checked(module, std::move(graph));
}

}  // namespace pellucid::flow
