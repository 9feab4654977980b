#include "flow/build.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "flow/draft.h"
#include "flow/inlined_locals.h"

namespace pellucid::flow {

namespace {

// With smaller counts than this no sum of them overflows; CPython's own limit is lower.
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

Folds folds_of(object::Version version) {
  using object::Version;
  Folds folds;
  // 3.14 makes constants of tuples only behind that.
  folds.choices = version >= Version{3, 10} && version < Version{3, 14};
  folds.drops = version >= Version{3, 12};
  return folds;
}

}  // namespace

Result<Graph> build(const object::Module& module, const bytecode::Stream& stream, bool keep_ends) {
  if (auto error = find_excess(stream)) return *error;
  const bool has_block_stack = module[stream.code].version < object::Version{3, 11};
  if (keep_ends && has_block_stack) {
    Result<Draft> draft = draft_from_block_stack(module, stream, true);
    // Code that never runs need not be valid.
    if (draft.ok() && (draft->keeps_ends || draft->keeps_empty)) {
      Graph graph = assemble(std::move(*draft));
      graph.folds = folds_of(module[stream.code].version);
#ifdef PELLUCID_CHECKS
      check(module, graph);
#endif
      return graph;
    }
  }
  PELLUCID_TRY(Draft draft, has_block_stack ? draft_from_block_stack(module, stream)
                                            : draft_from_exception_table(module, stream));
  Graph graph = assemble(std::move(draft));
  read_inlined_locals(graph);
  graph.folds = folds_of(module[stream.code].version);
  if (module[stream.code].version == object::Version{3, 12}) mark_annotations(graph);
  // From here on nothing depends on the version.
#ifdef PELLUCID_CHECKS
  check(module, graph);
#endif
  return graph;
}

}  // namespace pellucid::flow
