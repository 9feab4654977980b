// SPDX-License-Identifier: Apache-2.0
#include "bytecode/reach.h"

#include <algorithm>
#include <optional>

#include "bytecode/decode.h"
#include "bytecode/lines.h"
#include "bytecode/raw_table.h"
#include "bytecode/traits.h"

namespace pellucid::bytecode {
namespace {

using object::ConstId;
using object::ConstKind;

constexpr size_t kShownInstructions = 8;

// The top of the stack when an instruction is reached: unknown, or a constant.
constexpr uint32_t kUnseen = 0;
constexpr uint32_t kUnknown = 1;
constexpr uint32_t kFirstConst = 2;

std::optional<bool> truth_of(const object::Module& module, ConstId id) {
  const object::Const& value = module[id];
  switch (value.kind) {
    case ConstKind::None:
    case ConstKind::False:
      return false;
    case ConstKind::True:
    case ConstKind::Ellipsis:
      return true;
    case ConstKind::Int:
      return value.integer != 0;
    case ConstKind::Str:
      return !module.text(value.text).empty();
    case ConstKind::Tuple:
      return !value.items.empty();
    default:  // NOLINT: never tested so
      return std::nullopt;
  }
}

class Walk {
 public:
  Walk(const object::Module& module, const object::Code& code)
      : module_(module),
        code_(code),
        bytes_(code.bytecode),
        units_(code.bytecode.size() / 2),
        traits_(traits_of(code.version)),
        operation_(units_ + 1),
        seen_(units_ + 1, kUnseen),
        is_cache_(units_, false) {}

  Reach run() {
    if (bytes_.size() % 2 != 0) fault(bytes_.size(), "bytecode: half a code unit at the end");
    if (code_.version.minor >= 11) {
      out_.exceptions = read_sound_exceptions(code_, out_.faults);
    }
    find_operations();
    visit(0, kUnknown);
    while (!work_.empty()) {
      const uint32_t start = work_.back();
      work_.pop_back();
      process(start);
    }
    mark_caches();
    collect();
    return std::move(out_);
  }

 private:
  const Traits& traits_at(uint32_t unit) const { return traits_[bytes_[2 * size_t{unit}]]; }
  std::string_view name_at(uint32_t unit) const {
    return raw_name(code_.version, bytes_[2 * size_t{unit}]);
  }

  void fault(size_t offset, const std::string& what) {
    out_.faults.push_back({what, static_cast<uint32_t>(offset), {}});
  }

  // Finds, for each unit, the operation to which EXTENDED_ARGs from there on belong; past the end
  // if there is none.
  void find_operations() {
    operation_[units_] = static_cast<uint32_t>(units_);
    for (size_t unit = units_; unit-- > 0;) {
      const bool extends = traits_at(static_cast<uint32_t>(unit)).mark == Mark::ExtendedArg;
      operation_[unit] = extends ? operation_[unit + 1] : static_cast<uint32_t>(unit);
    }
  }

  // Returns the instruction whose first EXTENDED_ARG is at `start`.
  RawInstr instruction(uint32_t start) const {
    RawInstr instr;
    const uint32_t at = operation_[start];
    instr.start = 2 * start;
    instr.offset = 2 * at;
    if (at == units_) return instr;
    instr.opcode = bytes_[instr.offset];
    // Only the last four bytes of an argument count.
    for (uint32_t unit = std::max(start, at < 3 ? 0 : at - 3); unit <= at; ++unit) {
      instr.arg = instr.arg << 8 | bytes_[2 * size_t{unit} + 1];
    }
    const Traits& opcode = traits_[instr.opcode];
    if ((opcode.kinds & kArg) == 0) instr.arg = 0;
    // Until 3.9 targets count bytes; the interpreter rounds them down.
    instr.target = target_of(code_, opcode, instr);
    if (instr.target > 0) instr.target &= ~int64_t{1};
    return instr;
  }

  // Returns why `instr` cannot be executed as an instruction; empty if it can.
  std::string why_not(const RawInstr& instr) const {
    const std::string where = " at offset " + std::to_string(instr.offset);
    if (instr.start >= 2 * units_) return "bytecode: control leaves the code" + where;
    if (instr.offset >= 2 * units_) return "bytecode: EXTENDED_ARG without an instruction" + where;
    const Traits& traits = traits_[instr.opcode];
    if (is_cache_[instr.start / 2] || is_cache_[instr.offset / 2]) {
      return "bytecode: an inline cache is executed" + where;
    }
    const std::string_view name = raw_name(code_.version, instr.opcode);
    if (name.empty()) {
      return "bytecode: unknown opcode " + std::to_string(instr.opcode) + where;
    }
    if (name == "CACHE") return "bytecode: an inline cache is executed" + where;
    if (!traits.is_known) {
      return "bytecode: " + std::string(name) + ": not an instruction of a code object" + where;
    }
    if (after(instr) > units_) return "bytecode: an inline cache is cut off" + where;
    return {};
  }

  // Returns the unit after the instruction and its inline cache.
  uint64_t after(const RawInstr& instr) const {
    return uint64_t{instr.offset} / 2 + 1 + traits_[instr.opcode].caches;
  }

  void visit(uint64_t unit, uint32_t top) {
    const auto start = static_cast<uint32_t>(std::min<uint64_t>(unit, units_));
    uint32_t& seen = seen_[start];
    if (seen == top || seen == kUnknown) return;
    seen = seen == kUnseen ? top : kUnknown;
    work_.push_back(start);
  }
  void visit_target(int64_t target) {
    visit(target < 0 ? units_ : static_cast<uint64_t>(target) / 2, kUnknown);
  }

  void process(uint32_t start) {
    const RawInstr instr = instruction(start);
    if (!why_not(instr).empty()) return;
    enter_handler(instr);
    const Traits& traits = traits_[instr.opcode];
    const Decided way = decided(instr, seen_[start]);
    const uint32_t top = top_after(instr, seen_[start]);
    if (traits.falls_through && way != Decided::Jumps) visit(after(instr), top);
    const bool jumps = (traits.kinds & (kJumpRelative | kJumpAbsolute)) != 0;
    if (!jumps || way == Decided::Falls) return;
    if (traits.falls_through || instr.target < 0) return visit_target(instr.target);
    visit(static_cast<uint64_t>(instr.target) / 2, top);
  }

  // Returns the constant on top of the stack after the instruction, if known.
  uint32_t top_after(const RawInstr& instr, uint32_t top) const {
    const Traits& traits = traits_[instr.opcode];
    if (traits.mark == Mark::LoadConst && instr.arg < code_.consts.size()) {
      return kFirstConst + code_.consts[instr.arg].value;
    }
    if (traits.mark == Mark::LoadSmallInt &&
        instr.arg < static_cast<uint32_t>(object::small_int_count(code_.version))) {
      return kFirstConst + instr.arg;
    }
    const bool is_jump = !traits.falls_through && (traits.kinds & kAnyJump) != 0;
    const bool is_kept = traits.mark == Mark::Nop || traits.form == Form::ToBool || is_jump;
    return is_kept ? top : kUnknown;
  }

  Decided decided(const RawInstr& instr, uint32_t top) const {
    if (top < kFirstConst) return Decided::No;
    const Form form = traits_[instr.opcode].form;
    if (form != Form::Target && form != Form::JumpOrPop) return Decided::No;
    const ConstId constant(top - kFirstConst);
    const auto way = [](bool jumps) { return jumps ? Decided::Jumps : Decided::Falls; };
    const std::optional<bool> truth = truth_of(module_, constant);
    switch (traits_[instr.opcode].meaning->op) {
      case Op::BranchTrue:
        return truth ? way(*truth) : Decided::No;
      case Op::BranchFalse:
        return truth ? way(!*truth) : Decided::No;
      case Op::BranchNone:
        return way(module_[constant].kind == ConstKind::None);
      case Op::BranchNotNone:
        return way(module_[constant].kind != ConstKind::None);
      default:  // NOLINT: no test of one value
        return Decided::No;
    }
  }

  void enter_handler(const RawInstr& instr) {
    const auto& table = out_.exceptions;
    auto entry =
        std::upper_bound(table.begin(), table.end(), instr.offset,
                         [](uint32_t offset, const RawException& e) { return offset < e.begin; });
    if (entry == table.begin() || instr.offset >= (--entry)->end) return;
    visit_target(entry->target);
  }

  void mark_caches() {
    for (uint32_t start = 0; start < units_; ++start) {
      if (seen_[start] == kUnseen) continue;
      const RawInstr instr = instruction(start);
      if (!why_not(instr).empty()) continue;
      for (uint64_t unit = uint64_t{instr.offset} / 2 + 1; unit < after(instr); ++unit) {
        is_cache_[unit] = true;
      }
    }
  }

  void collect() {
    uint64_t covered = 0;  // the unit after the last one read
    bool is_gap_over = false;
    for (uint32_t unit = 0; unit <= units_; ++unit) {
      const bool is_reached = seen_[unit] != kUnseen;
      if (is_reached) is_gap_over = false;
      if (!is_reached && (unit < covered || is_gap_over || unit == units_)) continue;
      Step step;
      RawInstr instr = instruction(unit);
      step.fault = why_not(instr);
      step.is_reached = is_reached;
      // An unreachable run ends before the first byte that is not an instruction, and at the next
      // reached instruction.
      if (!is_reached && (!step.fault.empty() || reaches(unit, after(instr)))) {
        is_gap_over = true;
        continue;
      }
      if (step.fault.empty()) {
        covered = std::max(covered, after(instr));
        step.decided = is_reached ? decided(instr, seen_[unit]) : Decided::No;
        step.falls = traits_[instr.opcode].falls_through && step.decided != Decided::Jumps;
        step.after = static_cast<uint32_t>(2 * after(instr));
      } else {
        instr.target = -1;
      }
      out_.raw.push_back(instr);
      out_.steps.push_back(std::move(step));
    }
    if (set_lines(code_, out_.raw)) return;
    for (RawInstr& instr : out_.raw) instr.line = kNoLine;
  }

  // Returns true if a reached instruction starts within (begin, end).
  bool reaches(uint32_t begin, uint64_t end) const {
    for (uint64_t unit = begin + 1; unit < end && unit < units_; ++unit) {
      if (seen_[unit] != kUnseen) return true;
    }
    return false;
  }

  const object::Module& module_;
  const object::Code& code_;
  const std::vector<uint8_t>& bytes_;
  const size_t units_;
  const TraitsTable& traits_;
  std::vector<uint32_t> operation_;
  std::vector<uint32_t> seen_;  // by start: the top of the stack there
  std::vector<bool> is_cache_;
  std::vector<uint32_t> work_;
  Reach out_;
};

}  // namespace

Reach read_reached(const object::Module& module, const object::Code& code) {
  return Walk(module, code).run();
}

std::string instructions_at(const object::Code& code, size_t begin, size_t end) {
  const std::vector<uint8_t>& bytes = code.bytecode;
  std::string text;
  if (begin + 1 >= bytes.size()) return "the end of the code";
  size_t count = 0;
  for (size_t at = begin; at + 1 < std::min(end, bytes.size()); ++count) {
    if (count > 0) text += ", ";
    if (count == kShownInstructions) return text + "...";
    const std::string_view name = raw_name(code.version, bytes[at]);
    text += std::to_string(at) + ' ';
    text += name.empty() ? '<' + std::to_string(bytes[at]) + '>' : std::string(name);
    text += ' ' + std::to_string(bytes[at + 1]);
    at += 2 + 2 * size_t{raw_table(code.version)[bytes[at]].caches};
  }
  return text;
}

}  // namespace pellucid::bytecode
