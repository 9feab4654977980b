// SPDX-License-Identifier: Apache-2.0
#include "bytecode/breaches.h"

#include <algorithm>
#include <span>
#include <unordered_set>
#include <vector>

#include "bytecode/decode.h"
#include "bytecode/namesakes.h"
#include "bytecode/raw_code.h"
#include "bytecode/read_raw.h"
#include "bytecode/traits.h"
#include "bytecode/twin_constants.h"
#include "bytecode/varint.h"

namespace pellucid::bytecode {
namespace {

using object::Code;
using object::LocalKind;

constexpr uint32_t kKinds = object::kGenerator | object::kCoroutine | object::kAsyncGenerator;

// Arguments of RESUME, of YIELD_VALUE in 3.12, and their bits.
constexpr uint32_t kAfterYield = 1;
constexpr uint32_t kAfterYieldFrom = 2;
constexpr uint32_t kAfterAwait = 3;
constexpr uint32_t kOnlyWrapped = 4;     // 3.13+: only the wrapper protects the yield
constexpr uint32_t kOnlyWrapped15 = 8;   // 3.15: the same
constexpr uint32_t kInGenerator = 4;     // 3.15: at the start of a generator expression
constexpr uint32_t kDepthOfWrapper = 1;  // 3.12: the same

// The results of comparing two numbers that make each of Lt, LtE, Eq, NotEq, Gt and GtE true: bits
// for unordered, less, greater and equal.
constexpr uint32_t kMasks[] = {2, 2 | 8, 8, 1 | 2 | 4, 4, 4 | 8};

constexpr uint32_t kOfYieldFrom = 3;  // the argument of GET_ITER (3.15)
constexpr uint8_t kEntryStart = 128;  // of the first byte of an entry of an exception table
constexpr const char* kPartsCall = "the exception table parts a call from what is before it";

class Finder {
 public:
  Finder(const object::Module& module, const Stream& stream, bool is_generated)
      : module_(module),
        code_(module[stream.code]),
        stream_(stream),
        raw_(stream.raw),
        raw_code_(module, stream),
        minor_(code_.version.minor),
        is_generated_(is_generated) {}

  std::optional<Breach> run() {
    if (raw_.empty()) return std::nullopt;
    tables();
    prologue();
    const std::span<const Mark> marks = raw_code_.marks();
    for (at_ = 0; at_ < marks.size() && !found_; ++at_) {
      if (marks[at_] != Mark::None) one(marks[at_], raw_[at_].arg);
    }
    if (stream_.parted) say(std::string(kPartsWhole), *stream_.parted);
    exception_table();
    ranges();
    return found_;
  }

 private:
  void say(std::string what, uint32_t offset) {
    if (!found_) found_ = Breach{std::move(what), offset};
  }
  void say(const std::string& what) {
    const std::string_view name = raw_name(code_.version, raw_[at_].opcode);
    say(std::string(name) + ' ' + std::to_string(raw_[at_].arg) + ": " + what, raw_[at_].offset);
  }
  void hold(bool holds, const char* what) {
    if (!holds) say(what);
  }

  // -- the code object ------------------------------------------------------------------------
  void tables() {
    const size_t parameters = object::parameter_count(code_);
    if (minor_ >= 11) {
      bool after_free = false;
      for (const LocalKind kind : code_.localspluskinds) {
        if (after_free && kind != LocalKind::Free) say("free variables before others", 0);
        after_free = after_free || kind == LocalKind::Free;
      }
    }
    // Until 3.10 an argument that is a cell is moved into the cell.
    for (const Symbol cell : code_.cellvars) {
      const auto local = std::find(code_.varnames.begin(), code_.varnames.end(), cell);
      const auto place = static_cast<size_t>(local - code_.varnames.begin());
      if (local != code_.varnames.end() && place < parameters) is_cell_.insert(cell.value);
    }
    if (has_namesakes(code_, raw_)) say("two variables have one name", 0);
  }

  // Checks that cells are made, and the closure's are copied, before all else.
  void prologue() {
    size_t copies = 0;
    const size_t end = end_of_prologue(copies);
    const bool copies_any = raw_code_.has(Mark::CopyFreeVars);
    for (at_ = end; copies_any && at_ < raw_.size(); ++at_) {
      hold(raw_code_.mark(at_) != Mark::CopyFreeVars, "not before all else");
    }
    // Before its RESUME a frame is incomplete, and frame inspection skips it.
    at_ = end - 1;
    if (minor_ >= 11) {
      hold(raw_code_.mark(at_) == Mark::Resume && !raw_code_.is_target(at_), "before the RESUME");
      if (copies != (code_.freevars.empty() ? 0 : 1)) say("free variables are not taken over", 0);
      for (uint32_t i = 0; i < code_.localspluskinds.size(); ++i) {
        const LocalKind kind = code_.localspluskinds[i];
        const bool is_cell = kind == LocalKind::Cell || kind == LocalKind::CellLocal;
        if (is_cell && !is_generated_ && !made_.contains(i)) say("a cell is not made", 0);
      }
    }
    starts();
  }

  // Counts the instructions up to and including the first that is not part of the prologue.
  size_t end_of_prologue(size_t& copies) {
    size_t end = 0;
    made_.clear();
    for (bool is_over = false; end < raw_.size() && !is_over; ++end) {
      at_ = end;
      if (raw_code_.mark(end) == Mark::CopyFreeVars) {
        ++copies;
        hold(raw_[end].arg == code_.freevars.size(), "another number of free variables");
      } else if (raw_code_.mark(end) == Mark::MakeCell) {
        hold(made_.insert(raw_[end].arg).second, "a cell is made twice");
        is_over = raw_code_.is_target(end);
      } else {
        is_over = raw_code_.mark(end) != Mark::Nop &&
                  raw_code_.mark(end) != Mark::ReturnGenerator &&
                  !(end > 0 && raw_code_.mark(end - 1) == Mark::ReturnGenerator);
      }
      if (end > 0 && raw_code_.is_target(end)) is_over = true;
    }
    return end;
  }

  // Checks that the flags of a generator and the instruction that makes one agree.
  void starts() {
    const bool is_one = (code_.flags & kKinds) != 0;
    size_t count = 0;
    const bool may_start = raw_code_.has(Mark::ReturnGenerator) || raw_code_.has(Mark::GenStart);
    for (at_ = 0; may_start && at_ < raw_.size(); ++at_) {
      if (raw_code_.mark(at_) == Mark::ReturnGenerator) {
        ++count;
        hold(raw_code_.mark_after(at_ + 1) == Mark::PopTop,
             "what is sent first stays on the stack");
      }
      if (raw_code_.mark(at_) == Mark::GenStart) {
        hold(at_ == 0 && is_one, "not at a generator's start");
      }
    }
    const bool starts =
        minor_ >= 11 ? count == 1 : minor_ < 10 || raw_code_.mark(0) == Mark::GenStart;
    if (is_one ? !starts : count > 0) say("flags of a generator without its start", 0);
  }

  // -- instructions ---------------------------------------------------------------------------
  // (Inline: most instructions have no rule.)
#if defined(__GNUC__)
  [[gnu::always_inline]]
#endif
  inline void one(Mark op, uint32_t arg) {
    switch (op) {
      case Mark::IsOp:
      case Mark::ContainsOp:
        return hold(arg <= 1, "the argument is not 0 or 1");
      // Until 3.13 the whole argument counts when the frame of a called Python function is popped.
      case Mark::CallFunctionEx:
        return hold(minor_ >= 14 || arg <= 1, "the argument is not 0 or 1");
      case Mark::CompareOp:
        return compare_op(arg);
      case Mark::MakeFunction:
        return hold(minor_ >= 13 || arg <= 15, "no such attribute of a function");
      case Mark::SetFunctionAttribute:
        return hold(arg == 1 || arg == 2 || arg == 4 || arg == 8 || (arg == 16 && minor_ >= 14),
                    "no such attribute of a function");
      case Mark::ConvertValue:
        return hold(arg >= 1 && arg <= 3, "no such conversion");
      case Mark::FormatValue:
        return hold(arg <= 7, "no such conversion");
      case Mark::BuildSlice:
        return hold(arg == 2 || arg == 3, "no such slice");
      case Mark::RaiseVarargs:
        return hold(arg <= 2, "no such number of exceptions");
      case Mark::LoadSpecial:
        return hold(arg <= 3, "no such method");
      case Mark::GetIter:
        return hold(minor_ < 15 || arg == 0 || arg == kOfYieldFrom, "no such kind of iterator");
      case Mark::EndFor:
        return end_for();
      case Mark::EndAsyncFor:
        return end_async_for();
      case Mark::Cache:
        return say("no instruction");
      case Mark::KwNames:
      case Mark::Precall:
        return call_parts(op, arg);
      case Mark::YieldValue:
      case Mark::YieldFrom:
      case Mark::Resume:
        return yields(op, arg);
      case Mark::GetAwaitable:
        return awaits();
      case Mark::LoadFast:
      case Mark::StoreFast:
      case Mark::DeleteFast:
        return locals(op, arg);
      case Mark::LoadDeref:
      case Mark::StoreDeref:
      case Mark::DeleteDeref:
      case Mark::LoadClassderef:
      case Mark::LoadFromDictOrDeref:
      case Mark::LoadClosure:
      case Mark::MakeCell:
        return cells(op, arg);
      case Mark::PopJumpIfTrue:
      case Mark::PopJumpIfFalse:
      case Mark::UnaryNot:
        return tests();
      default:  // NOLINT: no rules
        return;
    }
  }

  // Checks that no prefix is at a loop's exit. FOR_ITER's exhausted edge skips a fixed number of
  // code units at its target, whatever is there: END_FOR, on 3.13 also the pop after it.
  void end_for() {
    const bool has_pop = minor_ == 13 && at_ + 1 < raw_.size();
    const bool is_plain =
        !raw_code_.is_extended(at_) && !(has_pop && raw_code_.is_extended(at_ + 1));
    hold(is_plain, "a prefix where a loop is left");
  }

  // Checks that the argument is 0. Until 3.10 the interpreter jumps by it, although the instruction
  // takes none.
  void end_async_for() {
    if (minor_ > 10) return;
    hold(!raw_code_.is_extended(at_) && code_.bytecode[raw_[at_].offset + 1] == 0,
         "with an argument");
  }

  void compare_op(uint32_t arg) {
    if (minor_ == 12) {
      hold(arg >> 4 < 6 && (arg & 15) == kMasks[arg >> 4], "no such comparison");
    } else if (minor_ >= 13) {
      hold(arg >> 5 < 6 && (arg & 15) == kMasks[arg >> 5], "no such comparison");
      // The to-bool bit is unobservable only if a test consumes the result.
      if ((arg & kToBool) == 0) return;
      const Mark next = raw_code_.mark_after(at_ + 1);
      hold(next == Mark::PopJumpIfTrue || next == Mark::PopJumpIfFalse || next == Mark::UnaryNot ||
               next == Mark::ToBool || next == Mark::Copy,
           "its truth is no part of a test");
    }
  }

  // Checks instructions that are read together with the CALL that follows.
  void call_parts(Mark op, uint32_t arg) {
    if (op == Mark::Precall) {
      hold(raw_code_.mark_after(at_ + 1) == Mark::Call && raw_[at_ + 1].arg == arg,
           "without its CALL");
      return;
    }
    const size_t call = at_ + (raw_code_.mark_after(at_ + 1) == Mark::Precall ? 2 : 1);
    const bool leads = raw_code_.mark_after(call) == Mark::Call && !raw_code_.is_extended(call);
    hold(raw_code_.mark_after(call) == Mark::Call, "without its CALL");
    if (!leads && raw_code_.mark_after(call) != Mark::Call) return;
    if (arg >= code_.consts.size()) return;
    const object::Const& names = module_[code_.consts[arg]];
    hold(names.kind == object::ConstKind::Tuple && names.items.size() <= raw_[call].arg,
         "no names for the last arguments");
  }

  void yields(Mark op, uint32_t arg) {
    // Until 3.10 a generator resumes after the first code unit of its last instruction.
    if (op != Mark::Resume && minor_ <= 10)
      return hold(!raw_code_.is_extended(at_), "with a prefix");
    if (op == Mark::YieldValue) return yield_value(arg);
    // RESUME's argument is read to find what a generator awaits.
    const bool follows = at_ > 0 && raw_code_.mark(at_ - 1) == Mark::YieldValue;
    if (!follows) hold(arg == 0 || (minor_ >= 15 && arg == kInGenerator), "no yield");
  }

  void yield_value(uint32_t arg) {
    const bool sends = at_ > 0 && raw_code_.mark(at_ - 1) == Mark::Send;
    hold(minor_ < 13 || arg == (sends ? 1u : 0u), "with another state of the generator");
    const size_t next = at_ + 1;
    if (raw_code_.mark_after(next) != Mark::Resume || raw_code_.is_extended(next)) {
      say("without its RESUME");
      return;
    }
    const uint32_t wrapped = minor_ >= 15 ? kOnlyWrapped15 : minor_ >= 13 ? kOnlyWrapped : 0;
    const uint32_t place = raw_[next].arg & ~wrapped;
    hold(sends ? place == kAfterYieldFrom || place == kAfterAwait : place == kAfterYield,
         "with another's RESUME");
    const bool says_so = minor_ == 12 ? arg == kDepthOfWrapper : place != raw_[next].arg;
    hold(!says_so || raw_code_.is_only_wrapped(at_), "its handler is left out on close()");
    if (sends && minor_ >= 12) {
      hold(raw_code_.is_protected_by(at_, Mark::CleanupThrow),
           "what is thrown in goes past what it waits for");
    }
  }

  // Checks the instruction before GET_AWAITABLE, on which an error message depends until 3.10.
  void awaits() {
    if (minor_ > 10 || at_ == 0) return;
    size_t before = at_ - 1;
    while (before > 0 && raw_code_.mark(before) == Mark::Nop) --before;
    const bool tells = raw_code_.mark(before) == Mark::BeforeAsyncWith ||
                       raw_code_.mark(before) == Mark::WithCleanupStart ||
                       raw_code_.mark(before) == Mark::WithExceptStart;
    hold(!tells || (before + 1 == at_ && !raw_code_.is_extended(at_)),
         "apart from what it belongs to");
  }

  // Checks that an instruction may be applied to its slot, which may hold a cell.
  void locals(Mark op, uint32_t arg) {
    if (minor_ <= 10) {
      if (arg >= code_.varnames.size()) return;
      hold(!is_cell_.contains(code_.varnames[arg].value), "the argument has moved to its cell");
    } else if (op == Mark::DeleteFast && arg < code_.localspluskinds.size()) {
      const LocalKind kind = code_.localspluskinds[arg];
      hold(kind == LocalKind::Local || kind == LocalKind::Hidden, "the local is a cell");
    }
  }

  void cells(Mark op, uint32_t arg) {
    if (minor_ <= 10 || arg >= code_.localspluskinds.size()) return;
    if (op == Mark::LoadClosure && minor_ > 12) return;
    const LocalKind kind = code_.localspluskinds[arg];
    hold(kind != LocalKind::Local && kind != LocalKind::Hidden, "the local is no cell");
    const bool is_own = op != Mark::MakeCell || kind != LocalKind::Free ||
                        std::find(code_.varnames.begin(), code_.varnames.end(),
                                  code_.localsplus[arg]) != code_.varnames.end();
    hold(is_own, "the cell is another function's");
  }

  // Checks that a tested value is True or False: since 3.13 no truth test is made.
  void tests() {
    if (minor_ < 13) return;
    size_t before = at_;
    while (before > 0 && !raw_code_.is_target(before) && raw_code_.mark(before - 1) == Mark::Nop)
      --before;
    hold(before > 0 && !raw_code_.is_target(before) && raw_code_.makes_bool(before - 1),
         "not of a truth");
  }
  // Checks that the first byte of each entry is marked: CPython starts its search in the middle.
  void exception_table() {
    const std::vector<uint8_t>& table = code_.exceptiontable;
    for (size_t at = 0; at < table.size() && !found_;) {
      for (int field = 0; field < 4; ++field) {
        bool is_continued = true;
        for (bool is_first = field == 0; is_continued && at < table.size();
             ++at, is_first = false) {
          if (((table[at] & kEntryStart) != 0) != is_first) {
            say("the exception table has no such entry", 0);
          }
          is_continued = (table[at] & 64) != 0;
        }
      }
    }
  }

  // Checks that ranges start and end between instructions. CPython looks up a handler by the offset
  // of the raising operation, after its prefixes, or for a call by the last unit of its cache.
  void ranges() {
    if (code_.exceptiontable.empty()) return;
    const Result<std::vector<RawException>> entries = read_exception_table(code_);
    if (!entries.ok()) return;
    std::vector<bool> is_inside(code_.bytecode.size() + 2, false);
    const TraitsTable& table = traits_of(code_.version);
    for (const RawInstr& instr : raw_) {
      const Traits& traits = table[instr.opcode];
      const size_t end = instr.offset + 2 + 2 * size_t{traits.caches};
      for (size_t at = instr.start + 2; at < end && at < is_inside.size(); at += 2) {
        is_inside[at] = true;
      }
    }
    for (const RawException& entry : *entries) {
      for (const uint32_t at : {entry.begin, entry.end, entry.target}) {
        if (is_inside[at]) say("the exception table parts an instruction", at);
      }
    }
    if (minor_ >= 13) calls(*entries);
  }

  // Checks that no range starts or ends right before a call: since 3.13 an exception out of a frame
  // that the call has entered is looked up by the unit before the call.
  void calls(const std::vector<RawException>& entries) {
    for (size_t i = 0; i < entries.size(); ++i) {
      const RawException& entry = entries[i];
      const bool goes_on = i + 1 < entries.size() && goes_on_in(entry, entries[i + 1]);
      const bool is_rest = i > 0 && goes_on_in(entries[i - 1], entry);
      if (!is_rest && is_call(entry.begin)) say(kPartsCall, entry.begin);
      if (!goes_on && is_call(entry.end)) say(kPartsCall, entry.end);
    }
  }

  // Returns true if an instruction that starts at this byte is a call.
  bool is_call(uint32_t at) const {
    const size_t index = raw_code_.starting_at(at);
    return index < raw_.size() && may_enter_frame(traits_of(code_.version)[raw_[index].opcode]);
  }

  static bool goes_on_in(const RawException& entry, const RawException& next) {
    return entry.end == next.begin && entry.target == next.target && entry.depth == next.depth &&
           entry.lasti == next.lasti;
  }

  // Returns true for what may run Python code in a frame that it enters itself.
  static bool may_enter_frame(const Traits& traits) {
    if (traits.meaning == nullptr) return false;
    switch (traits.meaning->op) {
      case Op::Call:
      case Op::CallKw:
      case Op::CallEx:
      case Op::Binary:
      case Op::Subscr:
      case Op::LoadAttr:
      case Op::LoadMethod:
      case Op::ForIter:
      case Op::Send:
        return true;
      default:
        return false;  // NOLINT: every other op calls from C
    }
  }

  const object::Module& module_;
  const Code& code_;
  const Stream& stream_;
  const std::vector<RawInstr>& raw_;
  const RawCode raw_code_;
  int minor_;
  const bool is_generated_;
  std::unordered_set<uint32_t> is_cell_;  // the symbols of arguments that are cells
  std::unordered_set<uint32_t> made_;     // slots of the cells that the prologue makes
  std::optional<Breach> found_;
  size_t at_ = 0;
};

}  // namespace

std::optional<Breach> find_breach(const object::Module& module, const Stream& stream,
                                  bool is_generated) {
  const std::optional<Breach> found = Finder(module, stream, is_generated).run();
  if (found || is_generated || twin_constants(module, stream).empty()) return found;
  return Breach{"two equal constants are two objects", 0};
}

}  // namespace pellucid::bytecode
