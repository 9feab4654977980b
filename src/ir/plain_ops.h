// SPDX-License-Identifier: Apache-2.0
// The instructions that the StackMachine executes all in the same way.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>

#include "bytecode/op_facts.h"

namespace pellucid::ir {

using bytecode::Op;

// Returns true if the instruction takes its operands from the top of the stack, the last one first,
// and leaves at most one result.
constexpr bool is_plain(Op op) {
  switch (op) {
    case Op::LoadConst:
    case Op::LoadFast:
    case Op::LoadFastAndClear:
    case Op::StoreFast:
    case Op::DeleteFast:
    case Op::LoadName:
    case Op::StoreName:
    case Op::DeleteName:
    case Op::LoadGlobal:
    case Op::StoreGlobal:
    case Op::DeleteGlobal:
    case Op::LoadDeref:
    case Op::StoreDeref:
    case Op::DeleteDeref:
    case Op::LoadClosure:
    case Op::MakeCell:
    case Op::LoadClassDeref:
    case Op::LoadFromDictOrDeref:
    case Op::LoadFromDictOrGlobals:
    case Op::LoadLocals:
    case Op::LoadBuildClass:
    case Op::LoadAssertionError:
    case Op::LoadCommonConstant:
    case Op::LoadAttr:
    case Op::LoadSuper:
    case Op::StoreAttr:
    case Op::DeleteAttr:
    case Op::Subscr:
    case Op::DeleteSubscr:
    case Op::StoreSubscr:
    case Op::Unary:
    case Op::Binary:
    case Op::Compare:
    case Op::IsOp:
    case Op::ContainsOp:
    case Op::ToBool:
    case Op::BuildTuple:
    case Op::BuildList:
    case Op::BuildSet:
    case Op::BuildMap:
    case Op::BuildConstKeyMap:
    case Op::BuildString:
    case Op::BuildSlice:
    case Op::BuildTupleUnpack:
    case Op::BuildTupleUnpackWithCall:
    case Op::BuildListUnpack:
    case Op::BuildSetUnpack:
    case Op::BuildMapUnpack:
    case Op::BuildMapUnpackWithCall:
    case Op::ListToTuple:
    case Op::Convert:
    case Op::Format:
    case Op::BuildInterpolation:
    case Op::BuildTemplate:
    case Op::MakeFunction:
    case Op::SetFunctionAttribute:
    case Op::GetIter:
    case Op::GetYieldFromIter:
    case Op::StartGenerator:
    case Op::GetAwaitable:
    case Op::GetAiter:
    case Op::YieldValue:
    case Op::YieldFrom:
    case Op::Intrinsic1:
    case Op::Intrinsic2:
    case Op::ImportStar:
    case Op::SetupAnnotations:
    case Op::PrintExpr:
    case Op::ExcMatch:
      return true;
    case Op::Pop:
    case Op::Copy:
    case Op::Swap:
    case Op::Rot:
    case Op::PushNull:
    case Op::GetAnext:
    case Op::LoadMethod:
    case Op::LoadSpecial:
    case Op::Call:
    case Op::CallKw:
    case Op::CallEx:
    case Op::ImportName:
    case Op::ListAppend:
    case Op::SetAdd:
    case Op::ListExtend:
    case Op::SetUpdate:
    case Op::DictUpdate:
    case Op::DictMerge:
    case Op::MapAdd:
    case Op::UnpackSequence:
    case Op::UnpackEx:
    case Op::ImportFrom:
    case Op::GetLen:
    case Op::MatchMapping:
    case Op::MatchSequence:
    case Op::MatchKeys:
    case Op::MatchClass:
    case Op::CopyDictWithoutKeys:
    case Op::PushExcInfo:
    case Op::Marker:
    case Op::PopExcept:
    case Op::EndAsyncFor:
    case Op::EgMatch:
    case Op::BeforeWith:
    case Op::BeforeAsyncWith:
    case Op::WithExceptStart:
    case Op::CleanupThrow:
      return false;
    case Op::Jump:
    case Op::BranchTrue:
    case Op::BranchFalse:
    case Op::BranchNone:
    case Op::BranchNotNone:
    case Op::ForIter:
    case Op::Send:
    case Op::ReturnValue:
    case Op::Raise:
    case Op::Reraise:
    case Op::Unsayable:
    case Op::SetupFinally:
    case Op::SetupWith:
    case Op::SetupAsyncWith:
    case Op::PopBlock:
    case Op::BeginFinally:
    case Op::CallFinally:
    case Op::PopFinally:
    case Op::EndFinally:
    case Op::WithCleanupStart:
    case Op::WithCleanupFinish:
      return false;  // exits and block-stack instructions are no items of a flow::Block
  }
  return false;
}

// The same by op.
inline constexpr auto kIsPlain = [] {
  std::array<bool, std::size(bytecode::kOpFacts)> plain{};
  for (size_t op = 0; op < plain.size(); ++op) plain[op] = is_plain(static_cast<Op>(op));
  return plain;
}();

}  // namespace pellucid::ir
