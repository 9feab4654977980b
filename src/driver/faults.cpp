// SPDX-License-Identifier: Apache-2.0
#include "driver/faults.h"

#include <string>
#include <unordered_map>

namespace pellucid::driver {
namespace {

using bytecode::Instr;
using bytecode::Op;

constexpr uint32_t kNotImplementedError = 1;  // of LoadCommonConstant

object::ConstId message_of(object::Module& module, const std::string& message) {
  object::Const text;
  text.kind = object::ConstKind::Str;
  text.text = module.strings.intern("pellucid: " + message);
  return module.add(text);
}

// Returns the list with a comment before each `raise` that stands for a fault.
ast::ListId with_comments_before(ast::Tree& tree, ast::ListId list,
                                 const std::unordered_map<uint32_t, Symbol>& comments) {
  std::vector<ast::NodeId> items;
  bool is_new = false;
  const std::vector<ast::NodeId> before(tree.items(list).begin(), tree.items(list).end());
  for (const ast::NodeId item : before) {
    // The keys of `{**x}` are absent.
    const bool may_be_marked = item.valid() && tree.is(item, ast::Kind::Raise);
    const auto comment = may_be_marked ? comments.find(tree.where(item).offset) : comments.end();
    if (comment != comments.end()) {
      items.push_back(tree.add(ast::Comment{comment->second}, tree.where(item)));
      is_new = true;
    }
    items.push_back(item);
  }
  return is_new ? tree.list(items) : list;
}

}  // namespace

bytecode::Stream spelled_out(object::Module& module, const bytecode::Stream& stream) {
  bytecode::Stream out = stream;
  if (stream.faults.empty()) return out;
  out.instrs.clear();
  std::vector<uint32_t> moved;
  for (const Instr& instr : stream.instrs) {
    moved.push_back(static_cast<uint32_t>(out.instrs.size()));
    if (instr.op != Op::Unsayable) {
      out.instrs.push_back(instr);
      continue;
    }
    const uint32_t message = message_of(module, stream.faults[instr.b].message).value;
    for (const auto& [op, a, b] : {std::tuple(Op::LoadCommonConstant, kNotImplementedError, 0u),
                                   std::tuple(Op::LoadConst, message, 0u),
                                   std::tuple(Op::Call, 1u, 1u), std::tuple(Op::Raise, 1u, 0u)}) {
      out.instrs.push_back({op, a, b, instr.raw, instr.offset, instr.line});
    }
  }
  moved.push_back(static_cast<uint32_t>(out.instrs.size()));
  for (Instr& instr : out.instrs) {
    if (bytecode::operand_of(instr.op) == bytecode::Operand::Target) instr.a = moved[instr.a];
  }
  for (uint32_t& test : out.truth_tests) test = moved[test];
  for (bytecode::ExceptionEntry& entry : out.exceptions) {
    for (uint32_t* index : {&entry.begin, &entry.end, &entry.target}) *index = moved[*index];
  }
  return out;
}

ast::ListId with_instructions(ast::Tree& tree, ast::ListId body,
                              const std::vector<bytecode::Fault>& faults) {
  std::unordered_map<uint32_t, Symbol> comments;
  for (const bytecode::Fault& fault : faults) {
    if (fault.instructions.empty()) continue;
    comments[fault.offset] = tree.intern(fault.instructions);
  }
  if (comments.empty()) return body;
  const ast::ListId whole = with_comments_before(tree, body, comments);
  const auto first = tree.items(whole);
  std::vector<ast::NodeId> todo(first.begin(), first.end());
  while (!todo.empty()) {
    const ast::NodeId node = todo.back();
    todo.pop_back();
    const auto fields = ast::fields_of(tree.kind(node));
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].type == ast::FieldType::Node && ast::NodeId(tree.slot(node, i)).valid()) {
        todo.emplace_back(tree.slot(node, i));
      }
      if (fields[i].type != ast::FieldType::List) continue;
      const ast::ListId list(tree.slot(node, i));
      if (!list.valid()) continue;
      tree.set_slot(node, i, with_comments_before(tree, list, comments).value);
      for (const ast::NodeId item : tree.items(list)) {
        if (item.valid()) todo.push_back(item);
      }
    }
  }
  return whole;
}

ast::ListId marker_body(ast::Tree& tree, const Error& error) {
  const auto name = tree.add(ast::Name{tree.intern("NotImplementedError")});
  const auto message = tree.add(ast::Constant{message_of(tree.module(), error.message)});
  const auto call = tree.add(ast::Call{name, tree.list({message}), tree.list({})});
  return tree.list({tree.add(ast::Raise{call, {}})});
}

}  // namespace pellucid::driver
