// SPDX-License-Identifier: Apache-2.0
#include "bytecode/translate.h"

#include <initializer_list>
#include <string>

#include "bytecode/meanings.h"
#include "bytecode/raw_table.h"
#include "bytecode/reach.h"

namespace pellucid::bytecode {
namespace {

using object::LocalKind;

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
      : module_(module), code_(module[code]), raw_(raw), facts_(facts) {}

  Result<Translation> run() {
    out_.first.reserve(raw_.size() + 1);
    out_.instrs.reserve(raw_.size());
    for (at_ = 0; at_ < raw_.size(); ++at_) {
      out_.first.push_back(static_cast<uint32_t>(out_.instrs.size()));
      if (skip_ > 0) {
        --skip_;
      } else if (!facts_.steps.empty()) {
        along_path(facts_.steps[at_]);
      } else if (!one(raw_[at_])) {
        return error_;
      }
    }
    out_.first.push_back(static_cast<uint32_t>(out_.instrs.size()));
    return std::move(out_);
  }

 private:
  // -- code that is read along its paths ------------------------------------------------------
  void along_path(const Step& step) {
    const size_t first = out_.instrs.size();
    if (step.is_reached) is_dropping_ = false;
    if (!step.fault.empty()) return unsayable(step.fault);
    if (is_dropping_) return;
    if (!(step.decided == Decided::No ? one(raw_[at_]) : only_way(step.decided))) {
      out_.instrs.resize(first);
      skip_ = 0;
      // Unreachable code is dropped from here to the next reached instruction.
      is_dropping_ = !step.is_reached;
      if (step.is_reached) unsayable(error_.message);
      return;
    }
    const Step& last = facts_.steps[at_ + skip_];
    if (!last.is_reached || !last.falls || goes_on(at_ + skip_)) return;
    if (!emit_jump(Op::Jump, last.after)) unsayable(error_.message);
  }

  // Returns true if control falls from a raw instruction into the next one.
  bool goes_on(size_t index) const {
    if (facts_.steps.empty()) return true;
    const Step& step = facts_.steps[index];
    return step.falls && index + 1 < raw_.size() && raw_[index + 1].start == step.after;
  }

  void unsayable(const std::string& why) {
    emit(Op::Unsayable, 0, static_cast<uint32_t>(out_.faults.size()));
    const uint32_t offset = raw_[at_].offset;
    // Up to the next reached instruction, or kShown of them.
    size_t next = at_ + 1;
    while (next < raw_.size() && next < at_ + kShown && !facts_.steps[next].is_reached) ++next;
    const size_t end = next < raw_.size() ? raw_[next].start : code_.bytecode.size();
    out_.faults.push_back({why, offset, instructions_at(code_, raw_[at_].start, end)});
  }

  // Translates a test of a constant, which has one outcome.
  bool only_way(Decided way) {
    const bool keeps = meaning_of(code_.version, raw_[at_].opcode).form == Form::JumpOrPop;
    if (way == Decided::Falls) return emit(Op::Pop);
    return (keeps || emit(Op::Pop)) && emit_jump(Op::Jump, raw_[at_].target);
  }

  // -- neighbours -----------------------------------------------------------------------------
  // Returns the name of the k-th raw instruction from here, "" if control does not fall through to
  // it.
  std::string_view name_at(size_t k) const {
    if (at_ + k >= raw_.size()) return "";
    for (size_t i = 0; i < k; ++i) {
      if (!goes_on(at_ + i)) return "";
    }
    return raw_table(code_.version)[raw_[at_ + k].opcode].name;
  }
  // The same, if it is reached only from the one before.
  std::string_view name_behind(size_t k) const {
    return at_ + k < raw_.size() && !facts_.is_target[at_ + k] ? name_at(k) : "";
  }

  bool fail(const std::string& what) {
    const RawInstr& instr = raw_[at_];
    error_ = Error{ErrorCode::Malformed, instr.offset,
                   "bytecode: " + std::string(name_at(0)) + ' ' + std::to_string(instr.arg) + ": " +
                       what + " at offset " + std::to_string(instr.offset)};
    return false;
  }

  // -- emitting -------------------------------------------------------------------------------
  bool emit(Op op, uint32_t a = 0, uint32_t b = 0) {
    // The top is 1: for 0 CPython reads past the end of its stack.
    if (a == 0 && operand_of(op) == Operand::Depth) return fail("no such place on the stack");
    const RawInstr& instr = raw_[at_];
    out_.instrs.push_back({op, a, b, static_cast<uint32_t>(at_), instr.offset, instr.line});
    return true;
  }
  bool emit_const(Op op, uint32_t index) {
    if (index >= code_.consts.size()) return fail("no such constant");
    return emit(op, code_.consts[index].value);
  }
  bool emit_name(Op op, uint32_t index, uint32_t b = 0) {
    if (index >= code_.names.size()) return fail("no such name");
    return emit(op, code_.names[index].value, b);
  }
  bool emit_local(Op op, uint32_t index) {
    const bool since_311 = code_.version.minor >= 11;
    const size_t count = since_311 ? code_.localsplus.size() : code_.varnames.size();
    if (index >= count) return fail("no such local");
    // In 3.11+ the slot of a cell holds the cell, and 3.13 loads it only so.
    const LocalKind kind = code_.localspluskinds[index];
    const bool is_cell = since_311 && kind != LocalKind::Local && kind != LocalKind::Hidden;
    return emit(op == Op::LoadFast && is_cell ? Op::LoadClosure : op,
                code_.localsplus[index].value);
  }
  bool emit_cell(Op op, uint32_t index) {
    if (code_.version.minor >= 11) {
      if (index >= code_.localsplus.size()) return fail("no such cell");
      return emit(op, code_.localsplus[index].value);
    }
    const size_t cells = code_.cellvars.size();
    if (index >= cells + code_.freevars.size()) return fail("no such cell");
    return emit(op, (index < cells ? code_.cellvars[index] : code_.freevars[index - cells]).value);
  }
  bool emit_jump(Op op, int64_t target, uint32_t b = 0) {
    const uint32_t index = raw_at(target);
    if (index == kNoRaw) return fail("jump to where no instruction starts");
    return emit(op, index, b);
  }
  uint32_t raw_at(int64_t offset) const {
    const bool is_outside = offset < 0 || offset >= static_cast<int64_t>(code_.bytecode.size());
    if (is_outside && !facts_.steps.empty()) return outside();
    if (offset < 0 || offset % 2 != 0) return kNoRaw;
    const auto unit = static_cast<uint64_t>(offset) / 2;
    return unit < facts_.at_unit.size() ? facts_.at_unit[unit] : kNoRaw;
  }

  // Returns the raw instruction that represents everything outside of the code, if it is a target.
  uint32_t outside() const {
    const bool is_there = !raw_.empty() && raw_.back().start >= code_.bytecode.size() / 2 * 2;
    return is_there ? static_cast<uint32_t>(raw_.size() - 1) : kNoRaw;
  }

  // -- one raw instruction --------------------------------------------------------------------
  bool one(const RawInstr& instr) {
    const Meaning& meaning = meaning_of(code_.version, instr.opcode);
    const Op op = meaning.op;
    const uint32_t arg = instr.arg;
    if (meaning.form != Form::MakeCell && meaning.form != Form::Drop &&
        meaning.form != Form::ReturnGenerator) {
      in_prologue_ = false;
    }
    switch (meaning.form) {
      case Form::Plain:
        return emit(op, meaning.a, meaning.b);
      case Form::Number:
        return emit(op, arg, meaning.b);
      case Form::Const:
        return emit_const(op, arg);
      case Form::Name:
        return emit_name(op, arg, asserts() ? 1 : 0);
      case Form::Local:
        return emit_local(op, arg);
      case Form::Cell:
        return emit_cell(op, arg);
      case Form::Target:
        return emit_jump(op, instr.target, meaning.b);
      case Form::Drop:
        return drop();
      case Form::Never:
        return fail("not an instruction of a code object");
      case Form::ReturnGenerator:
        return return_generator();
      case Form::MakeCell:
        return in_prologue_ || emit_cell(op, arg);
      case Form::DupTwo:
        return emit(Op::Copy, 2) && emit(Op::Copy, 2);
      case Form::SmallInt:
        return small_int(arg);
      case Form::ReturnConst:
        return emit_const(Op::LoadConst, arg) && emit(Op::ReturnValue);
      case Form::TwoLocals:
        return emit_local(op, arg >> 4) && emit_local(Op::LoadFast, arg & 15);
      case Form::StoreTwo:
        return emit_local(op, arg >> 4) && emit_local(op, arg & 15);
      case Form::GlobalNullBelow:
        return push_null_if(arg & 1) && emit_name(op, arg >> 1);
      case Form::GlobalNullAbove:
        return emit_name(op, arg >> 1) && push_null_if(arg & 1);
      case Form::AttrOrMethod:
        return attribute(arg & 1, arg >> 1);
      case Form::SuperAttr:
        return emit(op, arg >> 1 & 1) && attribute(arg & 1, arg >> 2);
      case Form::CommonConstant:
        return common_constant(arg);
      case Form::Slice:
        return emit(op, arg == 3 ? 3 : 2);
      case Form::SliceThen:
        return emit(Op::BuildSlice, 2) && emit(op);
      case Form::BinaryOp:
        return binary_op(arg);
      case Form::CompareOp:
        return compare_op(arg >> meaning.b);
      case Form::CompareOp38:
        return compare_op_38(arg);
      case Form::Flag:
        return emit(op, arg & 1);
      case Form::UnpackEx:
        return emit(op, arg & 0xff, arg >> 8);
      case Form::FormatValue:
        return emit(op, arg & 3, arg >> 2 & 1);
      case Form::Interpolation:
        return emit(op, arg >> 2, arg & 1);
      case Form::CallOrCallKw:
        return emit(follows_kw_names() ? Op::CallKw : op, arg, meaning.b);
      case Form::CallEx:
        return emit(op, arg & 1, meaning.b);
      case Form::Yield310:
        return yield_value();
      case Form::Intrinsic1:
        return intrinsic_1(arg);
      case Form::ToBool:
        return to_bool();
      case Form::JumpOrPop:
        return emit(Op::Copy, 1) && emit_jump(op, instr.target) && emit(Op::Pop);
      case Form::JumpIfNotExcMatch:
        return emit(Op::ExcMatch) && emit_jump(op, instr.target);
      case Form::CheckExcMatch:
        return emit(Op::Copy, 2) && emit(Op::Swap, 2) && emit(Op::ExcMatch);
      case Form::ForIter:
        return for_iter(instr, meaning.b);
      case Form::EndFor:
        return end_for();
      case Form::EndSend:
        return emit(Op::Swap, meaning.a + 1) && emit(Op::Pop) && (meaning.a == 1 || emit(Op::Pop));
      case Form::PopTwo:
        return emit(Op::Pop) && emit(Op::Pop);
      case Form::GetIter:
        return emit(arg == 0 ? op : Op::GetYieldFromIter) && emit(Op::PushNull);
      case Form::Import:
        return import_name(arg >> 2, arg & 3);
      case Form::Copy:
        return before_with() || emit(op, arg);
      case Form::Reraise:
        return emit(op, meaning.a, arg == 0 ? 0 : arg + 1);
    }
    return fail("no such form");
  }

  // Returns true if a LOAD_GLOBAL belongs to an `assert`. 3.8 has no instruction for its exception:
  // it is a global, as in a `raise`, on the line of the test and right after its jump; outside of
  // functions no other name is loaded so.
  bool asserts() const {
    if (code_.version.minor > 8 || name_at(0) != "LOAD_GLOBAL") return false;
    const uint32_t index = raw_[at_].arg;
    if (index >= code_.names.size() || module_.text(code_.names[index]) != "AssertionError") {
      return false;
    }
    if ((code_.flags & object::kOptimized) == 0) return true;
    if (at_ == 0 || raw_[at_ - 1].line != raw_[at_].line) return false;
    const std::string_view before = name_before();
    return before == "POP_JUMP_IF_TRUE" || before == "POP_JUMP_IF_FALSE" || before == "POP_TOP" ||
           before == "JUMP_FORWARD" || before == "JUMP_ABSOLUTE";
  }

  bool drop() {
    if (name_at(0) == "RESUME") in_prologue_ = false;
    return true;
  }

  // Drops RETURN_GENERATOR as the first instruction, where it is redundant with the code object's
  // flags.
  bool return_generator() {
    const bool pops = name_behind(1) == "POP_TOP";
    const bool is_first = out_.instrs.empty() && !facts_.is_target[at_];
    if (!is_first && !pops) return fail("without a pop of what is sent first");
    skip_ = pops ? 1 : 0;
    return is_first || emit(Op::StartGenerator);
  }

  bool common_constant(uint32_t arg) {
    if (arg == 0) return emit(Op::LoadAssertionError);
    const uint32_t objects = code_.version.minor == 14 ? kObjects14 : kObjects15;
    if (arg < objects) return emit(Op::LoadCommonConstant, arg);
    if (arg - objects >= object::common_const_count(code_.version)) {
      return fail("no such constant");
    }
    const auto which = static_cast<object::CommonConst>(arg - objects);
    return emit(Op::LoadConst, object::common_const(code_.version, which).value);
  }

  bool import_name(uint32_t index, uint32_t laziness) {
    if (laziness > 2) return fail("lazy and eager at once");
    return emit_name(Op::ImportName, index, laziness);
  }

  bool small_int(uint32_t value) {
    if (value >= object::small_int_count(code_.version)) return fail("not a small int");
    return emit(Op::LoadConst, value);
  }

  bool push_null_if(uint32_t flag) { return flag == 0 || emit(Op::PushNull); }

  bool attribute(uint32_t is_method, uint32_t index) {
    return emit_name(is_method ? Op::LoadMethod : Op::LoadAttr, index);
  }

  bool binary_op(uint32_t arg) {
    if (arg == kSubscript && code_.version.minor >= 14) return emit(Op::Subscr);
    if (arg >= kSubscript) return fail("no such operator");
    const BinaryOperator op = kBinaryOps[arg % kBinaryOpCount];
    return emit(Op::Binary, static_cast<uint32_t>(op), arg / kBinaryOpCount);
  }

  bool compare_op(uint32_t arg) {
    if (arg > static_cast<uint32_t>(CompareOperator::GtE)) return fail("no such comparison");
    return emit(Op::Compare, arg);
  }

  bool compare_op_38(uint32_t arg) {
    switch (arg) {
      case 6:
        return emit(Op::ContainsOp, 0);
      case 7:
        return emit(Op::ContainsOp, 1);
      case 8:
        return emit(Op::IsOp, 0);
      case 9:
        return emit(Op::IsOp, 1);
      case 10:
        return emit(Op::ExcMatch);
      default:
        return compare_op(arg);
    }
  }

  // Returns true for a CALL after KW_NAMES, in 3.11 with a PRECALL between them.
  bool follows_kw_names() const {
    size_t before = at_;
    const auto name = [&] { return raw_table(code_.version)[raw_[before].opcode].name; };
    do {
      if (before-- == 0 || !goes_on(before)) return false;
    } while (name() == "PRECALL");
    return name() == "KW_NAMES";
  }

  bool yield_value() {
    if (code_.flags & object::kAsyncGenerator) emit(Op::Intrinsic1, kAsyncGenWrap);
    return emit(Op::YieldValue);
  }

  bool intrinsic_1(uint32_t arg) {
    const bool popped = name_behind(1) == "POP_TOP";
    if (arg == kUnaryPositive) {
      return emit(Op::Unary, static_cast<uint32_t>(UnaryOperator::Positive));
    }
    if (arg == kListToTuple) return emit(Op::ListToTuple);
    if ((arg == kPrint || arg == kImportStar) && popped) {
      skip_ = 1;
      return emit(arg == kPrint ? Op::PrintExpr : Op::ImportStar);
    }
    return emit(Op::Intrinsic1, arg);
  }

  bool to_bool() {
    const std::string_view next = name_at(1);
    if (next == "POP_JUMP_IF_TRUE" || next == "POP_JUMP_IF_FALSE" || next == "UNARY_NOT")
      return true;
    return emit(Op::ToBool);
  }

  // Returns the instruction that pops the exhausted iterator after END_FOR: 3.12's END_FOR pops it
  // itself.
  std::string_view pop_behind_end_for() const {
    return code_.version.minor == 12   ? "(none)"
           : code_.version.minor == 13 ? "POP_TOP"
                                       : "POP_ITER";
  }

  bool for_iter(const RawInstr& instr, uint32_t slots_above) {
    const uint32_t end = raw_at(instr.target);
    if (end == kNoRaw) return fail("jump to where no instruction starts");
    const auto name = [&](uint32_t index) {
      return index < raw_.size() ? raw_table(code_.version)[raw_[index].opcode].name : "";
    };
    const bool pops = code_.version.minor >= 13;
    if (!goes_on(end) || (pops && !goes_on(end + 1))) return fail("does not lead to END_FOR");
    if (name(end) != "END_FOR" || (pops && name(end + 1) != pop_behind_end_for())) {
      return fail("does not lead to END_FOR");
    }
    return emit(Op::ForIter, end + (pops ? 2 : 1), slots_above);
  }

  // FOR_ITER leads past it, so it is dropped; but hand-made code may reach it by other paths.
  bool end_for() {
    if (!facts_.is_entered[at_] && at_ > 0 && never_falls_through(name_before())) {
      skip_ = name_behind(1) == pop_behind_end_for() ? 1 : 0;
      return true;
    }
    return emit(Op::Pop) && (code_.version.minor > 12 || emit(Op::Pop));
  }
  std::string_view name_before() const {
    return raw_table(code_.version)[raw_[at_ - 1].opcode].name;
  }
  static bool never_falls_through(std::string_view name) {
    return name == "JUMP_BACKWARD" || name == "JUMP_BACKWARD_NO_INTERRUPT" ||
           name == "JUMP_FORWARD" || name == "RETURN_VALUE" || name == "RETURN_CONST" ||
           name == "RAISE_VARARGS" || name == "RERAISE";
  }

  // Returns true for the start of 3.14's `with`: COPY 1, LOAD_SPECIAL exit, SWAP 2, SWAP 3,
  // LOAD_SPECIAL enter, CALL 0.
  bool before_with() {
    static constexpr std::string_view kNames[] = {"COPY", "LOAD_SPECIAL", "SWAP",
                                                  "SWAP", "LOAD_SPECIAL", "CALL"};
    if (code_.version.minor < 14 || name_behind(1) != kNames[1]) return false;
    for (size_t k = 1; k < 6; ++k) {
      if (name_behind(k) != kNames[k]) return false;
    }
    const auto has_args = [&](std::initializer_list<uint32_t> args) {
      size_t k = at_;
      for (const uint32_t arg : args) {
        if (raw_[k++].arg != arg) return false;
      }
      return true;
    };
    const bool sync = has_args({1, kExit, 2, 3, kEnter, 0});
    if (!sync && !has_args({1, kAsyncExit, 2, 3, kAsyncEnter, 0})) return false;
    skip_ = 5;
    return emit(sync ? Op::BeforeWith : Op::BeforeAsyncWith, 0, 2);
  }

  const object::Module& module_;
  const object::Code& code_;
  const std::vector<RawInstr>& raw_;
  const RawFacts& facts_;
  Translation out_;
  Error error_;
  size_t at_ = 0;
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
