// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "ir/function.h"

namespace pellucid::ir {
namespace {

std::string id_text(ValueId id) { return "v" + std::to_string(id.value); }

std::string operand_text(const object::Module& module, const Value& value) {
  switch (bytecode::operand_of(value.op)) {
    case bytecode::Operand::None:
      return "";
    case bytecode::Operand::Const:
      return " const#" + std::to_string(value.a);
    case bytecode::Operand::Name:
    case bytecode::Operand::Local:
    case bytecode::Operand::Cell:
      return " " + std::string(module.text(value.symbol()));
    case bytecode::Operand::Target:
    case bytecode::Operand::Count:
    case bytecode::Operand::Depth:
    case bytecode::Operand::Operator:
    case bytecode::Operand::Flags:
    case bytecode::Operand::Kind:
      return " " + std::to_string(value.a) + (value.b ? "," + std::to_string(value.b) : "");
  }
  return "";
}

std::string edge_text(const Edge& edge) {
  if (!edge.to.valid()) return "-";
  std::string text = "b" + std::to_string(edge.to.value);
  if (!edge.args.empty()) {
    text += "(";
    for (size_t i = 0; i < edge.args.size(); ++i) text += (i ? ", " : "") + id_text(edge.args[i]);
    text += ")";
  }
  return text;
}

constexpr const char* kKinds[] = {"",     "element",   "item", "sent",
                                  "null", "exception", "phi",  "region"};
constexpr const char* kExits[] = {"goto", "branch", "branch_none", "for_iter",
                                  "send", "return", "raise",       "reraise"};

}  // namespace

std::string text_of(const object::Module& module, const Value& value) {
  return std::string(bytecode::name_of(value.op)) + operand_text(module, value);
}

const char* name_of(ExitKind exit) { return kExits[static_cast<size_t>(exit)]; }

std::string dump(const object::Module& module, const Function& function) {
  const object::Code& code = module[function.code];
  std::string out = "function " + std::string(module.text(code.qualname)) + "\n";
  for (size_t i = 0; i < function.blocks.size(); ++i) {
    const Block& block = function.blocks[i];
    out += "b" + std::to_string(i);
    if (!block.params.empty()) {
      out += "(";
      for (size_t p = 0; p < block.params.size(); ++p)
        out += (p ? ", " : "") + id_text(block.params[p]);
      out += ")";
    }
    if (block.handler.valid()) {
      out += " handler=b" + std::to_string(function.handlers[block.handler.index()].entry.value);
    }
    out += " stack=[";
    for (size_t s = 0; s < block.entry_stack.size(); ++s) {
      out += (s ? " " : "") + id_text(block.entry_stack[s]);
      const Value& value = function[block.entry_stack[s]];
      if (value.kind != ValueKind::Instr)
        out += std::string(":") + kKinds[static_cast<size_t>(value.kind)];
    }
    out += "]\n";
    for (const ValueId item : block.items) {
      const Value& value = function[item];
      out += "  " + id_text(item) + " = " + text_of(module, value);
      for (const ValueId operand : function.operands(item)) out += " " + id_text(operand);
      out +=
          "  ; uses " + std::to_string(value.uses) + ", line " + std::to_string(value.line) + "\n";
    }
    out += std::string("  ") + name_of(block.exit);
    for (const ValueId operand : block.operands) out += " " + id_text(operand);
    for (const Edge& edge : block.next) {
      if (edge.to.valid()) out += " -> " + edge_text(edge);
    }
    out += "\n";
  }
  return out;
}

void check(const object::Module& module, const Function& function) {
  PELLUCID_CHECK(function.code.index() < module.codes.size());
  for (const Block& block : function.blocks) {
    for (const ValueId item : block.items) {
      PELLUCID_CHECK(item.index() < function.values.size());
      for (const ValueId operand : function.operands(item)) {
        PELLUCID_CHECK(operand.index() < function.values.size());
      }
    }
    for (const Edge& edge : block.next) {
      if (!edge.to.valid()) continue;
      PELLUCID_CHECK(edge.to.index() < function.blocks.size());
      PELLUCID_CHECK(edge.args.size() == function.blocks[edge.to.index()].params.size());
    }
  }
}

}  // namespace pellucid::ir
