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

// Whether the bytecode tells ends of statements, or statements, that leave no trace in a graph: the
// finally bodies of 3.8, and `try: pass`.
bool says_more(const bytecode::Stream& stream) {
  const auto& instrs = stream.instrs;
  for (size_t i = 0; i < instrs.size(); ++i) {
    if (instrs[i].op == Op::EndFinally) return true;
    if (i > 0 && instrs[i].op == Op::PopBlock && instrs[i - 1].op == Op::SetupFinally) return true;
  }
  return false;
}

}  // namespace

Result<Graph> build(const object::Module& module, const bytecode::Stream& stream, bool keep_ends) {
  if (auto error = find_excess(stream)) return *error;
  const bool has_block_stack = module[stream.code].version < object::Version{3, 11};
  if (keep_ends && has_block_stack && says_more(stream)) {
    Result<Draft> draft = draft_from_block_stack(module, stream, true);
    // Code that never runs need not be valid.
    if (draft.ok()) {
      Graph graph = assemble(std::move(*draft));
#ifdef PELLUCID_CHECKS
      check(module, graph);
#endif
      return graph;
    }
  }
  PELLUCID_TRY(Draft draft, has_block_stack ? draft_from_block_stack(module, stream)
                                            : draft_from_exception_table(module, stream));
  // From here on nothing depends on the version.
  Graph graph = assemble(std::move(draft));
  read_inlined_locals(graph);
#ifdef PELLUCID_CHECKS
  check(module, graph);
#endif
  return graph;
}

}  // namespace pellucid::flow
