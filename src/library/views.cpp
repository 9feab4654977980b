// SPDX-License-Identifier: Apache-2.0
#include "pellucid/views.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "bytecode/lines.h"
#include "bytecode/raw_table.h"
#include "bytecode/read_raw.h"
#include "driver/code_paths.h"
#include "driver/faults.h"
#include "driver/stages.h"
#include "flow/build.h"
#include "library/access.h"
#include "library/convert.h"
#include "object/fitting_names.h"
#include "object/repr.h"
#include "structure/steps.h"

namespace pellucid {
namespace {

using object::CodeId;

Error no_such_code(uint32_t code) {
  return Error{ErrorCode::Unsupported, 0, "there is no code object " + std::to_string(code)};
}

// Returns the module with names that harm no display.
object::Module shown_module(const Program& program) {
  object::Module module = Access::input(program).module;
  object::escape_names(module);
  return module;
}

CodeView::Kind kind_of(const object::Module& module, CodeId id) {
  const object::Code& code = module[id];
  const std::string_view name = module.text(code.name);
  if (name == "<module>") return CodeView::Kind::Module;
  if (name == "<lambda>") return CodeView::Kind::Lambda;
  if (name.ends_with("comp>") || name == "<genexpr>") return CodeView::Kind::Comprehension;
  if (name.starts_with('<')) return CodeView::Kind::Other;
  const bool is_function = (code.flags & object::kOptimized) != 0;
  return is_function ? CodeView::Kind::Function : CodeView::Kind::Class;
}

std::optional<int32_t> line_of(int32_t line) {
  return line == bytecode::kNoLine ? std::nullopt : std::optional(line);
}

// Returns the operands of the canonical instructions that an instruction becomes.
std::map<uint32_t, std::string> operands_of(const object::Module& module,
                                            const bytecode::Stream& stream) {
  std::map<uint32_t, std::string> shown;
  for (const bytecode::Instr& instr : stream.instrs) {
    switch (bytecode::operand_of(instr.op)) {
      case bytecode::Operand::Const:
      case bytecode::Operand::Name:
      case bytecode::Operand::Local:
      case bytecode::Operand::Cell:
      case bytecode::Operand::Operator:
        break;
      case bytecode::Operand::None:
      case bytecode::Operand::Target:
      case bytecode::Operand::Count:
      case bytecode::Operand::Depth:
      case bytecode::Operand::Flags:
      case bytecode::Operand::Kind:
        continue;
    }
    bytecode::Instr plain = instr;
    plain.b = instr.op == bytecode::Op::Binary ? instr.b : 0;
    const std::string text = bytecode::text_of(module, plain);
    std::string& operand = shown[instr.offset];
    operand += (operand.empty() ? "" : ", ") + text.substr(text.find(' ') + 1);
  }
  return shown;
}

// Returns what the argument of an instruction that never runs stands for, where that is plain.
std::string plain_operand(const object::Module& module, const object::Code& code,
                          const bytecode::RawOpcode& opcode, uint32_t argument) {
  const bool is_constant = (opcode.kinds & bytecode::kConst) != 0;
  if (!is_constant || argument >= code.consts.size()) return {};
  return object::on_one_line(object::repr(module, code.consts[argument]));
}

// Finds the targets of jumps and handlers.
std::set<int64_t> find_targets(const object::Code& code, const std::vector<bytecode::RawInstr>& raw,
                               BytecodeView& view) {
  std::set<int64_t> targets;
  if (code.version.minor >= 11) {
    std::vector<bytecode::Fault> faults;
    for (const bytecode::RawException& entry : bytecode::read_sound_exceptions(code, faults)) {
      view.exceptions.push_back({entry.begin, entry.end, entry.target, entry.depth, entry.lasti});
      targets.insert(entry.target);
    }
  }
  for (const bytecode::RawInstr& instr : raw) targets.insert(instr.target);
  return targets;
}

// Returns all instructions, or where some bytes are none, those that are reached.
Result<std::vector<bytecode::RawInstr>> raw_of(flow::Graphs& graphs, CodeId id) {
  Result<std::vector<bytecode::RawInstr>> raw = bytecode::read_raw(graphs.module()[id]);
  if (raw.ok()) return raw;
  const Result<bytecode::Stream>& stream = graphs.stream(id);
  if (stream.ok()) return stream->raw;
  return raw;
}

BytecodeView view_of(flow::Graphs& graphs, CodeId id, Detail detail) {
  const object::Module& module = graphs.module();
  const object::Code& code = module[id];
  BytecodeView view;
  const Result<std::vector<bytecode::RawInstr>> raw = raw_of(graphs, id);
  if (!raw.ok()) {
    view.error = raw.error().message;
    return view;
  }
  if (detail == Detail::Places) {
    for (const bytecode::RawInstr& instr : *raw) {
      InstructionView& out = view.instructions.emplace_back();
      out.offset = instr.offset;
      out.line = line_of(instr.line);
    }
    return view;
  }
  const Result<bytecode::Stream>& stream = graphs.stream(id);
  const std::set<int64_t> targets = find_targets(code, *raw, view);
  const bytecode::RawTable& table = bytecode::raw_table(module.version);
  std::map<uint32_t, std::string> shown;
  if (stream.ok()) shown = operands_of(module, *stream);
  for (const bytecode::RawInstr& instr : *raw) {
    if (instr.offset >= code.bytecode.size()) continue;  // stands for what is outside
    const bytecode::RawOpcode& opcode = table[instr.opcode];
    InstructionView& out = view.instructions.emplace_back();
    out.offset = instr.offset;
    out.line = line_of(instr.line);
    out.opcode = instr.opcode;
    out.name = opcode.name;
    if ((opcode.kinds & bytecode::kArg) != 0) out.argument = instr.arg;
    if (instr.target >= 0) {
      out.target = instr.target;
      out.shown = "to " + std::to_string(instr.target);
    } else if (const auto found = shown.find(instr.offset); found != shown.end()) {
      if (out.argument) out.shown = found->second;
    } else {
      out.shown = plain_operand(module, code, opcode, instr.arg);
    }
    out.is_target = targets.contains(instr.start) || targets.contains(instr.offset);
  }
  return view;
}

std::string_view word_of(flow::ExitKind kind, size_t way) {
  switch (kind) {
    case flow::ExitKind::Goto:
      return "goto";
    case flow::ExitKind::Branch:
      return way == 0 ? "true" : "false";
    case flow::ExitKind::BranchNone:
      return way == 0 ? "none" : "some";
    case flow::ExitKind::ForIter:
      return way == 0 ? "item" : "done";
    case flow::ExitKind::Send:
      return way == 0 ? "value" : "result";
    case flow::ExitKind::Return:
    case flow::ExitKind::Raise:
    case flow::ExitKind::Reraise:
      return "goto";
  }
  return "";
}

std::string text_of_exit(const object::Module& module, const flow::Graph& graph,
                         const flow::Exit& exit) {
  if (exit.instr.op == bytecode::Op::Unsayable && exit.kind == flow::ExitKind::Raise) {
    return "unsayable: " + graph.faults[exit.instr.b].message;
  }
  switch (exit.kind) {
    case flow::ExitKind::Goto:
      return "goto";
    case flow::ExitKind::Branch:
      return "branch";
    case flow::ExitKind::BranchNone:
      return "branch on None";
    case flow::ExitKind::ForIter:
      return "for";
    case flow::ExitKind::Send:
      return "send";
    case flow::ExitKind::Return:
      return "return";
    case flow::ExitKind::Raise:
      return "raise";
    case flow::ExitKind::Reraise:
      return "reraise";
  }
  return bytecode::text_of(module, exit.instr);
}

GraphView view_of(const object::Module& module, const flow::Graph& graph) {
  GraphView view;
  for (uint32_t i = 0; i < graph.blocks.size(); ++i) {
    const flow::Block& block = graph.blocks[i];
    BlockView& shown = view.blocks.emplace_back();
    shown.offset = block.offset;
    for (uint32_t k = block.first; k < block.first + block.count; ++k) {
      const bytecode::Instr& instr = graph.instrs[k];
      shown.lines.push_back({bytecode::text_of(module, instr), instr.offset, line_of(instr.line)});
    }
    const flow::Exit& exit = block.exit;
    if (!exit.falls) {
      shown.lines.push_back(
          {text_of_exit(module, graph, exit), exit.instr.offset, line_of(exit.instr.line)});
    }
    for (size_t way = 0; way < exit.next.size(); ++way) {
      const bool leads = exit.next[way].valid() && word_of(exit.kind, way) != "";
      const bool leaves = exit.kind == flow::ExitKind::Return ||
                          exit.kind == flow::ExitKind::Raise ||
                          exit.kind == flow::ExitKind::Reraise;
      if (leads && !leaves)
        view.edges.push_back({i, exit.next[way].value, word_of(exit.kind, way)});
    }
    if (block.handler.valid()) {
      view.edges.push_back({i, graph[block.handler].entry.value, "exception"});
    }
  }
  return view;
}

}  // namespace

const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::Truncated:
      return "truncated";
    case ErrorCode::Malformed:
      return "malformed";
    case ErrorCode::UnknownVersion:
      return "unknown version";
    case ErrorCode::Unsupported:
      return "unsupported";
    case ErrorCode::Limit:
      return "limit";
    case ErrorCode::Internal:
      return "internal";
  }
  return "internal";
}

const char* name_of(Status status) {
  switch (status) {
    case Status::Identical:
      return "identical";
    case Status::Equivalent:
      return "equivalent";
    case Status::Unproven:
      return "unproven";
  }
  return "unproven";
}

Result<std::vector<CodeView>> view_codes(const Program& program) {
  return guarded([&]() -> Result<std::vector<CodeView>> {
    const object::Module module = shown_module(program);
    const std::vector<std::string> paths = driver::paths_of(module);
    std::vector<CodeView> views;
    std::vector<bool> is_seen(module.codes.size());
    std::vector<std::pair<CodeId, CodeId>> todo{{module.subject(), {}}};
    while (!todo.empty()) {
      const auto [id, parent] = todo.back();
      todo.pop_back();
      if (is_seen[id.index()]) continue;
      is_seen[id.index()] = true;
      const object::Code& code = module[id];
      views.push_back({id.value, std::string(module.text(code.qualname)), paths[id.index()],
                       parent.valid() ? std::optional(parent.value) : std::nullopt,
                       kind_of(module, id), code.firstlineno});
      for (size_t i = code.consts.size(); i-- > 0;) {
        const object::Const& constant = module[code.consts[i]];
        if (constant.kind == object::ConstKind::Code) todo.emplace_back(constant.code, id);
      }
    }
    return views;
  });
}

Result<std::vector<BytecodeView>> view_bytecode(const Program& program, Detail detail) {
  return guarded([&]() -> Result<std::vector<BytecodeView>> {
    const object::Module module = shown_module(program);
    flow::Graphs graphs(module);
    std::vector<BytecodeView> views;
    for (size_t i = 0; i < module.codes.size(); ++i)
      views.push_back(view_of(graphs, CodeId(i), detail));
    return views;
  });
}

Result<GraphView> view_graph(const Program& program, uint32_t number) {
  return guarded([&]() -> Result<GraphView> {
    const object::Module module = shown_module(program);
    if (number >= module.codes.size()) return no_such_code(number);
    flow::Graphs graphs(module);
    std::vector<bytecode::Fault> faults;
    const auto built = [&](const bytecode::Stream& stream) {
      return flow::build(module, stream, true);
    };
    PELLUCID_TRY(const flow::Graph graph,
                 driver::with_places(module, graphs.stream(CodeId(number)), faults, built));
    return view_of(module, graph);
  });
}

Result<Dump> dump_of_code(const Program& program, std::string_view stage, uint32_t number) {
  return guarded([&]() -> Result<Dump> {
    const object::Module& module = Access::input(program).module;
    if (number >= module.codes.size()) return no_such_code(number);
    std::vector<driver::Diagnostic> told;
    PELLUCID_TRY(std::string text, driver::dump_stage(module, module.root, std::string(stage),
                                                      &told, CodeId(number)));
    return Dump{std::move(text), public_diagnostics(told)};
  });
}

std::vector<StageView> view_stages() {
  std::vector<StageView> stages = {
      {"module", "what the file holds: every code object with every field"},
      {"raw", "the bytecode, with jump targets and lines"},
      {"dis", "the bytecode for people: canonical instructions, block by block"},
      {"stream", "canonical instructions: one set for all versions of Python"},
      {"flow", "basic blocks, exits and handlers: differences between versions end here"},
      {"ir", "values instead of a stack, effects in their order"},
      {"structure", "the attempts at statements, and which steps changed something"}};
  for (const structure::Step& step : structure::steps()) {
    stages.push_back({std::string("structure:") + step.name, step.because});
  }
  stages.push_back(
      {std::string("structure:") + structure::kPlanStage, "which statements the reduced graph is"});
  stages.push_back({"ast", "the syntax tree that is printed"});
  return stages;
}

}  // namespace pellucid
