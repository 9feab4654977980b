// SPDX-License-Identifier: Apache-2.0
#include "driver/shared_bodies.h"

#include "bytecode/op_facts.h"
#include "driver/faults.h"
#include "object/written.h"

namespace pellucid::driver {

namespace {

// The limits of a text's size, in values: per byte of bytecode, and for the smallest file.
constexpr uint64_t kTextPerByte = 64;
constexpr uint64_t kLeastText = 1u << 16;

bool has_name(ir::Op op) {
  const bytecode::Operand operand = bytecode::facts_of(op).operand;
  return operand == bytecode::Operand::Name || operand == bytecode::Operand::Local ||
         operand == bytecode::Operand::Cell;
}

}  // namespace

std::vector<object::CodeId> innermost_first(const object::Module& module, object::CodeId root) {
  std::vector<object::CodeId> order;
  std::vector<uint8_t> seen(module.codes.size(), 0);
  struct Open {
    object::CodeId code;
    size_t next = 0;  // of its constants
  };
  std::vector<Open> stack{{root}};
  seen[root.index()] = 1;
  while (!stack.empty()) {
    Open& top = stack.back();
    const std::vector<object::ConstId>& consts = module[top.code].consts;
    if (top.next == consts.size()) {
      order.push_back(top.code);
      stack.pop_back();
      continue;
    }
    const object::Const& constant = module[consts[top.next++]];
    if (constant.kind == object::ConstKind::Code && !seen[constant.code.index()]++) {
      stack.push_back({constant.code});
    }
  }
  return order;
}

SharedBodies::SharedBodies(const object::Module& module, const std::vector<object::CodeId>& order)
    : module_(module), sizes_(module.codes.size(), 1), most_(kLeastText) {
  std::vector<object::CodeId> owner(module.codes.size());
  for (const object::CodeId code : order) {
    most_ += kTextPerByte * module[code].bytecode.size();
    for (const object::ConstId id : module[code].consts) {
      most_ += kTextPerByte * object::written_alone(module, module[id]);
    }
    for (const auto* names : {&module[code].names, &module[code].localsplus}) {
      for (const Symbol name : *names) most_ += kTextPerByte * object::written_text(module, name);
    }
    for_each_nested(code, [&](object::CodeId nested) {
      object::CodeId& first = owner[nested.index()];
      if (first.valid() && first != code) bodies_[nested] = {};
      first = code;
    });
  }
}

// Returns the size of a constant's text. The items of a constant come before it.
uint64_t SharedBodies::written(object::ConstId id) {
  for (size_t i = written_.size(); i <= id.index(); ++i) {
    const object::Const& constant = module_[object::ConstId(i)];
    uint64_t size = object::written_alone(module_, constant);
    for (const object::ConstId item : constant.items) {
      if (item.index() < i) size += written_[item.index()];
    }
    written_.push_back(size);
  }
  return written_[id.index()];
}

bool SharedBodies::fits(const ir::Function& function) {
  uint64_t size = function.values.size();
  for (const ir::Value& value : function.values) {
    if (value.kind != ir::ValueKind::Instr) continue;
    if (has_name(value.op)) size += object::written_text(module_, value.symbol());
    if (value.op != ir::Op::LoadConst) continue;
    const object::Const& constant = module_[value.constant()];
    const bool is_code = constant.kind == object::ConstKind::Code;
    size += is_code ? sizes_[constant.code.index()] : written(value.constant());
  }
  sizes_[function.code.index()] = size;
  return size <= most_;
}

void SharedBodies::note(object::CodeId code, ast::ListId body, bool is_marker) {
  if (is_marker) sizes_[code.index()] = 1;
  const auto shared = bodies_.find(code);
  if (shared != bodies_.end()) shared->second = body;
}

bool SharedBodies::hand_out(object::CodeId owner, ast::Tree& tree,
                            std::vector<ast::ListId>& bodies) {
  if (bodies_.empty()) return true;
  bool has_all = true;
  for_each_nested(owner, [&](object::CodeId nested) {
    const auto shared = bodies_.find(nested);
    if (shared == bodies_.end()) return;
    copied_ += sizes_[nested.index()];
    if (copied_ <= most_) {
      bodies[nested.index()] = ast::clone(tree, shared->second);
      return;
    }
    bodies[nested.index()] = marker_body(tree, kTooLong);
    sizes_[nested.index()] = 1;
    has_all = false;
  });
  return has_all;
}

}  // namespace pellucid::driver
