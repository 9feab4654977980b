// SPDX-License-Identifier: Apache-2.0
#include "flow/lazy_values.h"

namespace pellucid::flow {
namespace {

using bytecode::Instr;
using bytecode::Op;

// Returns true if the instruction takes the function of a lazy value. That is the last operand, so
// its code is the last that was loaded.
bool takes_lazy_value(const Instr& instr) {
  if (instr.op == Op::Intrinsic1) return instr.a == bytecode::kTypeAlias;
  return instr.op == Op::Intrinsic2 &&
         (instr.a == bytecode::kTypeVarWithBound || instr.a == bytecode::kTypeVarWithConstraints ||
          instr.a == bytecode::kSetTypeParamDefault);
}

}  // namespace

std::vector<object::CodeId> lazy_values(const object::Module& module,
                                        const bytecode::Stream& stream) {
  std::vector<object::CodeId> codes;
  object::CodeId loaded;
  for (const Instr& instr : stream.instrs) {
    if (instr.op == Op::LoadConst) {
      const object::Const& constant = module[instr.constant()];
      if (constant.kind == object::ConstKind::Code) loaded = constant.code;
    } else if (takes_lazy_value(instr) && loaded.valid()) {
      codes.push_back(loaded);
    }
  }
  return codes;
}

}  // namespace pellucid::flow
