// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <sstream>
#include <string_view>

#include "flow/graph.h"

namespace pellucid::flow {
namespace {

std::string_view name_of(ExitKind kind) {
  switch (kind) {
    case ExitKind::Goto:
      return "goto";
    case ExitKind::Branch:
      return "branch";
    case ExitKind::BranchNone:
      return "branch none";
    case ExitKind::ForIter:
      return "for";
    case ExitKind::Send:
      return "send";
    case ExitKind::Return:
      return "return";
    case ExitKind::Raise:
      return "raise";
    case ExitKind::Reraise:
      return "reraise";
  }
  return "";
}

void dump_exit(const Graph& graph, const Exit& exit, std::ostringstream& out) {
  if (exit.instr.op == Op::Unsayable && exit.kind == ExitKind::Raise) {
    const bytecode::Fault& fault = graph.faults[exit.instr.b];
    out << "unsayable (" << fault.message << "): " << fault.instructions << '\n';
    return;
  }
  out << name_of(exit.kind);
  const bool two_ways = exit.next[1].valid();
  for (size_t i = 0; i < exit.next.size(); ++i) {
    if (!exit.next[i].valid()) continue;
    // An arrow marks the jump, dots mark the fall-through.
    const bool jumps = two_ways ? exit.jump == i : !exit.falls;
    out << (jumps ? " -> " : " .. ") << exit.next[i].value;
  }
  if (exit.kind == ExitKind::Raise || exit.kind == ExitKind::Reraise) out << ' ' << exit.instr.a;
  if (exit.kind == ExitKind::Reraise && exit.instr.b != 0) out << " lasti " << exit.instr.b;
  out << '\n';
}

}  // namespace

std::string dump(const object::Module& module, const Graph& graph) {
  std::ostringstream out;
  out << "flow " << module.text(module[graph.code].qualname);
  if (graph.wraps_stop_iteration) out << " (wraps StopIteration)";
  out << '\n';
  for (size_t i = 0; i < graph.handlers.size(); ++i) {
    const Handler& handler = graph.handlers[i];
    out << "  handler " << i << " -> " << handler.entry.value << " depth " << handler.depth
        << " pushes " << static_cast<int>(handler.pushes);
    if (handler.lasti) out << " lasti";
    if (handler.is_with) out << " with";
    if (handler.exc_depth != 0) out << " exceptions " << handler.exc_depth;
    out << '\n';
  }
  for (size_t i = 0; i < graph.blocks.size(); ++i) {
    const Block& block = graph.blocks[i];
    out << "  block " << i << " offset " << block.offset << " depth " << block.depth;
    if (block.exc_depth != 0) out << " exceptions " << block.exc_depth;
    if (block.handler.valid()) out << " handler " << block.handler.value;
    out << '\n';
    for (uint32_t k = block.first; k < block.first + block.count; ++k)
      out << "    " << bytecode::text_of(module, graph.instrs[k]) << '\n';
    out << "    ";
    dump_exit(graph, block.exit, out);
  }
  return out.str();
}

std::string listing(const object::Module& module, const Graph& graph) {
  std::ostringstream out;
  const object::Code& code = module[graph.code];
  out << module.text(code.qualname) << "  # line " << code.firstlineno << ", "
      << graph.blocks.size() << (graph.blocks.size() == 1 ? " block\n" : " blocks\n");
  int32_t line = bytecode::kNoLine;
  const auto place = [&](const bytecode::Instr& instr) -> std::ostringstream& {
    if (instr.line != line && instr.line != bytecode::kNoLine) {
      line = instr.line;
      out << "    line " << line << '\n';
    }
    out << std::setw(10) << instr.offset << "  ";
    return out;
  };
  for (size_t i = 0; i < graph.blocks.size(); ++i) {
    const Block& block = graph.blocks[i];
    out << "  block " << i;
    if (block.handler.valid()) {
      const Handler& handler = graph[block.handler];
      out << "  (exceptions -> " << handler.entry.value << ')';
    }
    out << '\n';
    for (uint32_t k = block.first; k < block.first + block.count; ++k) {
      place(graph.instrs[k]) << bytecode::text_of(module, graph.instrs[k]) << '\n';
    }
    dump_exit(graph, block.exit, place(block.exit.instr));
  }
  out << '\n';
  return out.str();
}

}  // namespace pellucid::flow
