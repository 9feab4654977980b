// SPDX-License-Identifier: Apache-2.0
#include "bytecode/translate.h"

#include <initializer_list>
#include <string>

#include "bytecode/emission.h"
#include "bytecode/reach.h"
#include "bytecode/traits.h"

namespace pellucid::bytecode {
namespace {

// CPython's NB_* numbers: 13 operators, the same in place, and in 3.14 the subscript.
constexpr BinaryOperator kBinaryOps[] = {
    BinaryOperator::Add,    BinaryOperator::BitAnd,  BinaryOperator::FloorDiv,
    BinaryOperator::LShift, BinaryOperator::MatMult, BinaryOperator::Mult,
    BinaryOperator::Mod,    BinaryOperator::BitOr,   BinaryOperator::Pow,
    BinaryOperator::RShift, BinaryOperator::Sub,     BinaryOperator::Div,
    BinaryOperator::BitXor,
};
constexpr uint32_t kBinaryOpCount = 13;
constexpr uint32_t kSubscript = 2 * kBinaryOpCount;

// The number of objects of LOAD_COMMON_CONSTANT in 3.14, and in 3.15 before its constants.
constexpr uint32_t kObjects14 = 5;
constexpr uint32_t kObjects15 = 7;

// The limit of instructions shown for a fault.
constexpr size_t kShown = 16;

// Arguments of LOAD_SPECIAL.
enum Special : uint32_t { kEnter, kExit, kAsyncEnter, kAsyncExit };

class Translator {
 public:
  Translator(const object::Module& module, object::CodeId code, const std::vector<RawInstr>& raw,
             const RawFacts& facts)
      : spot_{module, module[code], raw, facts, traits_of(module[code].version)}, out_(spot_) {}

  Result<Translation> run() {
    const bool has_steps = !spot_.facts.steps.empty();
    const size_t size = spot_.raw.size();
    for (size_t at = 0; at < size; ++at) {
      spot_.go_to(at);
      out_.start_raw();
      if (skip_ > 0) {
        --skip_;
      } else if (has_steps) {
        along_path(spot_.facts.steps[spot_.at]);
      } else if (!one(*spot_.here)) {
        return out_.error();
      }
    }
    return out_.finish();
  }

 private:
  // -- code that is read along its paths ------------------------------------------------------
  [[gnu::noinline]] void along_path(const Step& step) {
    const uint32_t first = out_.count();
    if (step.is_reached) is_dropping_ = false;
    if (!step.fault.empty()) return unsayable(step.fault);
    if (is_dropping_) return;
    if (!(step.decided == Decided::No ? one(spot_.raw[spot_.at]) : only_way(step.decided))) {
      out_.cut(first);
      skip_ = 0;
      // Unreachable code is dropped from here to the next reached instruction.
      is_dropping_ = !step.is_reached;
      if (step.is_reached) unsayable(out_.error().message);
      return;
    }
    const Step& last = spot_.facts.steps[spot_.at + skip_];
    if (!last.is_reached || !last.falls || spot_.falls_into_next(spot_.at + skip_)) return;
    if (!out_.emit_jump(Op::Jump, last.after)) unsayable(out_.error().message);
  }

  void unsayable(const std::string& why) {
    const uint32_t offset = spot_.raw[spot_.at].offset;
    // Up to the next reached instruction, or kShown of them.
    size_t next = spot_.at + 1;
    while (next < spot_.raw.size() && next < spot_.at + kShown &&
           !spot_.facts.steps[next].is_reached) {
      ++next;
    }
    const size_t end = next < spot_.raw.size() ? spot_.raw[next].start : spot_.code.bytecode.size();
    const uint32_t fault =
        out_.add_fault({why, offset, instructions_at(spot_.code, spot_.raw[spot_.at].start, end)});
    out_.emit(Op::Unsayable, 0, fault);
  }

  // Translates a test of a constant, which has one outcome.
  bool only_way(Decided way) {
    const bool keeps = spot_.traits[spot_.raw[spot_.at].opcode].form == Form::JumpOrPop;
    if (way == Decided::Falls) return out_.emit(Op::Pop);
    return (keeps || out_.emit(Op::Pop)) && out_.emit_jump(Op::Jump, spot_.raw[spot_.at].target);
  }

  // -- one raw instruction --------------------------------------------------------------------
  [[gnu::always_inline]] bool one(const RawInstr& instr) {
    const Meaning& meaning = *spot_.traits[instr.opcode].meaning;
    const Op op = meaning.op;
    const uint32_t arg = instr.arg;
    if (in_prologue_) {
      in_prologue_ = meaning.form == Form::MakeCell || meaning.form == Form::Drop ||
                     meaning.form == Form::ReturnGenerator;
    }
    switch (meaning.form) {
      case Form::Plain:
        return out_.emit(op, meaning.a, meaning.b);
      case Form::Number:
        return out_.emit(op, arg, meaning.b);
      case Form::Const:
        return out_.emit_const(op, arg);
      case Form::Name:
        return out_.emit_name(op, arg, spot_.asserts() ? 1 : 0);
      case Form::Local:
        return out_.emit_local(op, arg);
      case Form::Cell:
        return out_.emit_cell(op, arg);
      case Form::Target:
        return out_.emit_jump(op, instr.target, meaning.b);
      default:  // NOLINT: all others
        return none_or_several(instr, meaning);
    }
  }

  // Translates an instruction of a form that becomes none or several, or splits its argument. (Not
  // a part of one(), which would save registers for it that most instructions do not need.)
  [[gnu::noinline]] bool none_or_several(const RawInstr& instr, const Meaning& meaning) {
    const Op op = meaning.op;
    const uint32_t arg = instr.arg;
    switch (meaning.form) {
      case Form::Plain:
      case Form::Number:
      case Form::Const:
      case Form::Name:
      case Form::Local:
      case Form::Cell:
      case Form::Target:
        break;
      case Form::Drop:
        return drop(op);
      case Form::Never:
        return out_.fail("not an instruction of a code object");
      case Form::ReturnGenerator:
        return return_generator();
      case Form::MakeCell:
        return in_prologue_ || out_.emit_cell(op, arg);
      case Form::DupTwo:
        return out_.emit(Op::Copy, 2) && out_.emit(Op::Copy, 2);
      case Form::SmallInt:
        return small_int(arg);
      case Form::ReturnConst:
        return out_.emit_const(Op::LoadConst, arg) && out_.emit(Op::ReturnValue);
      case Form::TwoLocals:
        return out_.emit_local(op, arg >> 4) && out_.emit_local(Op::LoadFast, arg & 15);
      case Form::StoreTwo:
        return out_.emit_local(op, arg >> 4) && out_.emit_local(op, arg & 15);
      case Form::GlobalNullBelow:
        return out_.push_null_if(arg & 1) && out_.emit_name(op, arg >> 1);
      case Form::GlobalNullAbove:
        return out_.emit_name(op, arg >> 1) && out_.push_null_if(arg & 1);
      case Form::AttrOrMethod:
        return out_.attribute(arg & 1, arg >> 1);
      case Form::SuperAttr:
        return out_.emit(op, arg >> 1 & 1) && out_.attribute(arg & 1, arg >> 2);
      case Form::CommonConstant:
        return common_constant(arg);
      case Form::Slice:
        return out_.emit(op, arg == 3 ? 3 : 2);
      case Form::SliceThen:
        return out_.emit(Op::BuildSlice, 2) && out_.emit(op);
      case Form::BinaryOp:
        return binary_op(arg);
      case Form::CompareOp:
        return compare_op(arg >> meaning.b);
      case Form::CompareOp38:
        return compare_op_38(arg);
      case Form::Flag:
        return out_.emit(op, arg & 1);
      case Form::UnpackEx:
        return out_.emit(op, arg & 0xff, arg >> 8);
      case Form::FormatValue:
        return out_.emit(op, arg & 3, arg >> 2 & 1);
      case Form::Interpolation:
        return out_.emit(op, arg >> 2, arg & 1);
      case Form::CallOrCallKw:
        return out_.emit(spot_.follows_kw_names() ? Op::CallKw : op, arg, meaning.b);
      case Form::CallEx:
        return out_.emit(op, arg & 1, meaning.b);
      case Form::Yield310:
        return yield_value();
      case Form::Intrinsic1:
        return intrinsic_1(arg);
      case Form::ToBool:
        return to_bool();
      case Form::JumpOrPop:
        return out_.emit(Op::Copy, 1) && out_.emit_jump(op, instr.target) && out_.emit(Op::Pop);
      case Form::JumpIfNotExcMatch:
        return out_.emit(Op::ExcMatch) && out_.emit_jump(op, instr.target);
      case Form::CheckExcMatch:
        return out_.emit(Op::Copy, 2) && out_.emit(Op::Swap, 2) && out_.emit(Op::ExcMatch);
      case Form::ForIter:
        return for_iter(instr, meaning.b);
      case Form::EndFor:
        return end_for();
      case Form::EndSend:
        return out_.emit(Op::Swap, meaning.a + 1) && out_.emit(Op::Pop) &&
               (meaning.a == 1 || out_.emit(Op::Pop));
      case Form::PopTwo:
        return out_.emit(Op::Pop) && out_.emit(Op::Pop);
      case Form::GetIter:
        return out_.emit(arg == 0 ? op : Op::GetYieldFromIter) && out_.emit(Op::PushNull);
      case Form::Import:
        return import_name(arg >> 2, arg & 3);
      case Form::Copy:
        return before_with() || out_.emit(op, arg);
      case Form::Reraise:
        return out_.emit(op, meaning.a, arg == 0 ? 0 : arg + 1);
    }
    return out_.fail("no such form");
  }

  // (A PRECALL that is specialized makes the call that follows.)
  bool drop(Op op) {
    if (spot_.mark_of(spot_.at) == Mark::Resume) in_prologue_ = false;
    if (op == Op::Call) out_.fold(2);
    return true;
  }

  // Drops RETURN_GENERATOR as the first instruction, where it is redundant with the code object's
  // flags.
  bool return_generator() {
    const bool pops = spot_.mark_after(1) == Mark::PopTop;
    const bool is_first = out_.count() == 0 && !spot_.facts.is_target(spot_.at);
    if (!is_first && !pops) return out_.fail("without a pop of what is sent first");
    skip_ = pops ? 1 : 0;
    return is_first || out_.emit(Op::StartGenerator);
  }

  bool common_constant(uint32_t arg) {
    if (arg == 0) return out_.emit(Op::LoadAssertionError);
    const uint32_t objects = spot_.code.version.minor == 14 ? kObjects14 : kObjects15;
    if (arg < objects) return out_.emit(Op::LoadCommonConstant, arg);
    if (arg - objects >= object::common_const_count(spot_.code.version)) {
      return out_.fail("no such constant");
    }
    const auto which = static_cast<object::CommonConst>(arg - objects);
    return out_.emit(Op::LoadConst, object::common_const(spot_.code.version, which).value);
  }

  bool import_name(uint32_t index, uint32_t laziness) {
    if (laziness > 2) return out_.fail("lazy and eager at once");
    return out_.emit_name(Op::ImportName, index, laziness);
  }

  bool small_int(uint32_t value) {
    if (value >= object::small_int_count(spot_.code.version)) return out_.fail("not a small int");
    return out_.emit(Op::LoadConst, value);
  }

  bool binary_op(uint32_t arg) {
    if (arg == kSubscript && spot_.code.version.minor >= 14) return out_.emit(Op::Subscr);
    if (arg >= kSubscript) return out_.fail("no such operator");
    const BinaryOperator op = kBinaryOps[arg % kBinaryOpCount];
    return out_.emit(Op::Binary, static_cast<uint32_t>(op), arg / kBinaryOpCount);
  }

  bool compare_op(uint32_t arg) {
    if (arg > static_cast<uint32_t>(CompareOperator::GtE)) return out_.fail("no such comparison");
    return out_.emit(Op::Compare, arg);
  }

  bool compare_op_38(uint32_t arg) {
    switch (arg) {
      case 6:
        return out_.emit(Op::ContainsOp, 0);
      case 7:
        return out_.emit(Op::ContainsOp, 1);
      case 8:
        return out_.emit(Op::IsOp, 0);
      case 9:
        return out_.emit(Op::IsOp, 1);
      case 10:
        return out_.emit(Op::ExcMatch);
      default:
        return compare_op(arg);
    }
  }

  bool yield_value() {
    if (spot_.code.flags & object::kAsyncGenerator) out_.emit(Op::Intrinsic1, kAsyncGenWrap);
    return out_.emit(Op::YieldValue);
  }

  bool intrinsic_1(uint32_t arg) {
    const bool popped = spot_.mark_after(1) == Mark::PopTop;
    if (arg == kUnaryPositive) {
      return out_.emit(Op::Unary, static_cast<uint32_t>(UnaryOperator::Positive));
    }
    if (arg == kListToTuple) return out_.emit(Op::ListToTuple);
    if ((arg == kPrint || arg == kImportStar) && popped) {
      fold_with_next(1);
      return out_.emit(arg == kPrint ? Op::PrintExpr : Op::ImportStar);
    }
    return out_.emit(Op::Intrinsic1, arg);
  }

  bool to_bool() {
    const Mark next = spot_.mark_at(1);
    if (next != Mark::PopJumpIfTrue && next != Mark::PopJumpIfFalse && next != Mark::UnaryNot)
      return out_.emit(Op::ToBool);
    // (The other one is emitted in its own place, where jumps may lead.)
    out_.fold(2);
    return true;
  }

  bool for_iter(const RawInstr& instr, uint32_t slots_above) {
    const uint32_t end = spot_.raw_at(instr.target);
    if (end == kNoRaw) return out_.fail("jump to where no instruction starts");
    const bool pops = spot_.code.version.minor >= 13;
    if (!spot_.falls_into_next(end) || (pops && !spot_.falls_into_next(end + 1)))
      return out_.fail("does not lead to END_FOR");
    if (spot_.mark_of(end) != Mark::EndFor ||
        (pops && !spot_.pops_after_end_for(spot_.mark_of(end + 1)))) {
      return out_.fail("does not lead to END_FOR");
    }
    return out_.emit(Op::ForIter, end + (pops ? 2 : 1), slots_above);
  }

  // FOR_ITER leads past it, so it is dropped; but hand-made code may reach it by other paths.
  bool end_for() {
    if (!spot_.facts.is_entered(spot_.at) && spot_.at > 0 &&
        !spot_.traits[spot_.raw[spot_.at - 1].opcode].falls_through) {
      skip_ = spot_.pops_after_end_for(spot_.mark_after(1)) ? 1 : 0;
      return true;
    }
    return out_.emit(Op::Pop) && (spot_.code.version.minor > 12 || out_.emit(Op::Pop));
  }
  // Returns true for the start of 3.14's `with`: COPY 1, LOAD_SPECIAL exit, SWAP 2, SWAP 3,
  // LOAD_SPECIAL enter, CALL 0.
  bool before_with() {
    static constexpr Mark kStart[] = {Mark::Copy, Mark::LoadSpecial, Mark::Swap,
                                      Mark::Swap, Mark::LoadSpecial, Mark::Call};
    if (spot_.code.version.minor < 14) return false;
    for (size_t k = 1; k < 6; ++k) {
      if (spot_.mark_after(k) != kStart[k]) return false;
    }
    const auto has_args = [&](std::initializer_list<uint32_t> args) {
      size_t k = spot_.at;
      for (const uint32_t arg : args) {
        if (spot_.raw[k++].arg != arg) return false;
      }
      return true;
    };
    const bool sync = has_args({1, kExit, 2, 3, kEnter, 0});
    if (!sync && !has_args({1, kAsyncExit, 2, 3, kAsyncEnter, 0})) return false;
    fold_with_next(5);
    return out_.emit(sync ? Op::BeforeWith : Op::BeforeAsyncWith, 0, 2);
  }

  // Lets the instruction that is emitted now stand for the next raw ones, too.
  void fold_with_next(uint32_t count) {
    out_.fold(1 + count);
    skip_ = count;
  }

  Spot spot_;
  Emission out_;
  bool is_dropping_ = false;
  size_t skip_ = 0;  // raw instructions after this one that it includes
  bool in_prologue_ = true;
};

}  // namespace

Result<Translation> translate(const object::Module& module, object::CodeId code,
                              const std::vector<RawInstr>& raw, const RawFacts& facts) {
  return Translator(module, code, raw, facts).run();
}

}  // namespace pellucid::bytecode
