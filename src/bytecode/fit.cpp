// SPDX-License-Identifier: Apache-2.0
#include "bytecode/fit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/contents.h"
#include "bytecode/decode.h"
#include "bytecode/raw_table.h"
#include "bytecode/read_raw.h"
#include "bytecode/traits.h"
#include "object/identifiers.h"

namespace pellucid::bytecode {
namespace {

using object::ConstKind;

// Returns the number of code units that the entries cover which start in eight bytes of a line
// table of 3.11+: in each byte with its highest bit set, one more than its three lowest bits.
uint64_t units_of_eight(uint64_t eight) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const uint64_t starts = eight >> 7 & kOnes;
  const uint64_t units = (eight & starts * 7) + starts;
  return units * kOnes >> 56;  // the sum of its bytes, at most 64
}

// Returns the number of code units (bytes until 3.10) that a line table covers; nothing if it is
// cut off.
std::optional<uint64_t> extent_of_lines(const object::Code& code) {
  const std::vector<uint8_t>& table = code.linetable;
  uint64_t extent = 0;
  if (code.version.minor <= 10) {
    if (table.size() % 2 != 0) return std::nullopt;
    for (size_t i = 0; i < table.size(); i += 2) extent += table[i];
    return extent;
  }
  // An entry starts at each byte with its highest bit set.
  if (!table.empty() && (table[0] & 0x80) == 0) return std::nullopt;
  size_t at = 0;
  for (uint64_t eight = 0; at + sizeof eight <= table.size(); at += sizeof eight) {
    std::memcpy(&eight, table.data() + at, sizeof eight);
    extent += units_of_eight(eight);
  }
  for (; at < table.size(); ++at) extent += (table[at] & 0x80) != 0 ? (table[at] & 7) + 1u : 0u;
  return extent;
}

// Lists of an Inspection that the next one uses again.
struct Scratch {
  std::vector<uint8_t> starts;
  std::vector<uint64_t> targets;
  std::vector<uint8_t> used;
};

class Inspection {
 public:
  Inspection(const object::Module& module, const object::Code& code, Fit& fit, Scratch& scratch)
      : module_(module),
        code_(code),
        table_(traits_of(code.version)),
        fit_(fit),
        starts_(scratch.starts),
        targets_(scratch.targets),
        used_(scratch.used) {}

  // Returns true if the code object uses all that it has (Fit::uses_all).
  bool run() {
    if (!code_.fault.empty() || code_.bytecode.empty() || code_.bytecode.size() % 2 != 0) {
      fault();
      return false;
    }
    instructions();
    jumps();
    tables();
    habits();
    return !has_idle_operand_ && uses_all();
  }

 private:
  int minor() const { return code_.version.minor; }
  void fault(uint64_t count = 1) { fit_.faults += count; }
  void odd(uint64_t count = 1) { fit_.oddities += count; }

  void instructions() {
    const std::span<const uint8_t> bytes = code_.bytecode;
    find_limits();
    starts_.assign(bytes.size() / 2 + 1, kNone);
    targets_.clear();
    used_.assign(code_.consts.size() + code_.names.size(), 0);
    // Of this loop alone: bytes that are written might be any member.
    uint8_t* const starts = starts_.data();
    const TraitsTable& table = table_;
    const uint8_t* const begin = bytes.data();
    const size_t size = bytes.size();
    uint64_t count = 0;
    uint8_t start = kFirst;  // of the next one
    uint32_t arg = 0;
    uint32_t constants = 0;  // loaded right before, one after the other
    for (size_t at = 0; at < size;) {
      ++count;
      starts[at / 2] = start;
      const uint8_t* const unit = begin + at;
      const Traits& opcode = table[unit[0]];
      arg = arg << 8 | unit[1];
      const size_t end = at + opcode.length;
      if (!opcode.is_instr || end > size) {
        fault();
        start = kFirst;
        arg = 0;
        at += 2;
        continue;
      }
      // Code taken out of a running interpreter may have counters in its caches.
      if (opcode.caches > 0 && !is_zero(unit + 2, 2 * opcode.caches)) fault();
      at = end;
      if (opcode.mark == Mark::ExtendedArg) {
        start = kExtended;
        continue;
      }
      if (opcode.bound != Bound::None) argument(opcode, arg);
      if (!(opcode.kinds & kArg) && (arg != 0 || start == kExtended)) idle_operand(arg);
      if (opcode.kinds & kAnyJump) jump(opcode.kinds, arg, end);
      if (opcode.mark == Mark::LoadConst) {
        ++constants;
      } else if (constants > 0) {
        after_constants(opcode.mark, arg, constants);
        constants = 0;
      }
      if (opcode.mark == Mark::Resume) has_resume_ = true;
      start = kFirst;
      arg = 0;
    }
    if (start == kExtended) fault();
    fit_.instructions += count;
  }

  // Returns true if so many bytes are zero, an even number.
  static bool is_zero(const uint8_t* caches, size_t size) {
    uint64_t all = 0;
    size_t at = 0;
    for (uint64_t eight = 0; at + sizeof eight <= size; at += sizeof eight, all |= eight) {
      std::memcpy(&eight, caches + at, sizeof eight);
    }
    for (uint16_t two = 0; at < size; at += sizeof two, all |= two) {
      std::memcpy(&two, caches + at, sizeof two);
    }
    return all == 0;
  }

  void idle_operand(uint64_t arg) {
    has_idle_operand_ = true;
    if (arg != 0) odd();
  }

  void find_limits() {
    const auto limit = [&](Bound bound) -> uint64_t& {
      return limits_[static_cast<size_t>(bound)];
    };
    const size_t locals = minor() >= 11 ? code_.localsplus.size() : code_.varnames.size();
    const size_t cells = code_.cellvars.size() + code_.freevars.size();
    limit(Bound::Const) = code_.consts.size();
    limit(Bound::Name) = code_.names.size();
    limit(Bound::Local) = limit(Bound::TwoLocals) = locals;
    limit(Bound::Variable) = minor() >= 11 ? locals : cells;
    limit(Bound::Compare) = minor() == 8 ? 11 : minor() < 12 ? 6 : 6u << 5;
    limit(Bound::Operator) = minor() >= 14 ? 27 : 26;
    limit(Bound::SmallInt) = 256;
    limit(Bound::Resume) = minor() <= 12 ? 4 : ~uint64_t{0};
    limit(Bound::FreeVars) = code_.freevars.size();
  }

  void argument(const Traits& opcode, uint64_t arg) {
    const uint64_t limit = limits_[static_cast<size_t>(opcode.bound)];
    if (opcode.bound == Bound::TwoLocals) {
      if (arg >> 4 >= limit) fault();
      if ((arg & 15) >= limit) fault();
    } else if (opcode.bound == Bound::FreeVars) {
      if (arg != limit) fault();
    } else if (arg >> opcode.name_shift >= limit) {
      fault();
    } else if (opcode.bound == Bound::Const) {
      used_[arg] = 1;
    } else if (opcode.bound == Bound::Name) {
      used_[code_.consts.size() + (arg >> opcode.name_shift)] = 1;
    }
  }

  // Returns true if instructions use each name, and each constant that is a text, bytes or a code
  // object, as far as a text would tell of it.
  bool uses_all() const {
    for (size_t i = 0; i < used_.size(); ++i) {
      if (used_[i] != 0) continue;
      if (i >= code_.consts.size()) return false;
      const ConstKind kind = module_[code_.consts[i]].kind;
      const bool tells =
          kind == ConstKind::Str || kind == ConstKind::Bytes || kind == ConstKind::Code;
      if (tells && !(i == 0 && has_docstring(module_, code_))) return false;
    }
    return true;
  }

  void jump(uint16_t kinds, uint64_t arg, size_t end) {
    const uint64_t distance = arg * (minor() >= 10 ? 2 : 1);
    const bool is_before = (kinds & kJumpRelative) && (kinds & kBackward);
    if (is_before && distance > end) return fault();
    targets_.push_back((kinds & kJumpAbsolute) ? distance
                       : is_before             ? end - distance
                                               : end + distance);
  }

  void jumps() {
    for (const uint64_t target : targets_) {
      const uint8_t start = start_at(target);
      if (start == kNone) fault();
      if (start != kFirst) fit_.is_straight = false;
    }
  }

  uint8_t start_at(uint64_t target) const {
    if (target % 2 != 0 || target >= code_.bytecode.size()) return kNone;
    return starts_[target / 2];
  }

  // Checks habits of folding constants: 3.9 makes one constant of a display, and 3.12 and 3.13
  // return a constant with one instruction.
  void after_constants(Mark mark, uint32_t arg, uint32_t constants) {
    const bool builds = mark == Mark::BuildList || mark == Mark::BuildSet;
    if (minor() == 9 && arg > 2 && constants >= arg && builds) odd();
    if ((minor() == 12 || minor() == 13) && mark == Mark::ReturnValue) odd();
  }

  // Obfuscators leave empty tables: no evidence.
  void tables() {
    if (minor() >= 11) handlers();
    if (code_.linetable.empty()) return odd(minor() >= 10 ? 1 : 0);
    const std::optional<uint64_t> extent = extent_of_lines(code_);
    const uint64_t size = code_.bytecode.size();
    if (!extent) return fault();
    // Until 3.9 the table ends where the code of the last line begins, later where that ends.
    if (minor() <= 9 ? *extent >= size : *extent != (minor() == 10 ? size : size / 2)) fault();
  }

  void handlers() {
    const Result<std::vector<RawException>> entries = read_exception_table(code_);
    if (!entries.ok()) return fault();
    for (const RawException& entry : *entries) {
      if (start_at(entry.target) != kFirst) fit_.is_straight = false;
    }
  }

  // Checks habits that a version's compilers always have and those of a neighbouring one do not.
  void habits() {
    const bool is_free = code_.cellvars.empty() && code_.freevars.empty();
    if (minor() <= 10 ? is_free != ((code_.flags & object::kNoFree) != 0)
                      : (code_.flags & object::kNoFree) != 0) {
      odd();
    }
    if (minor() == 9) {
      // 3.9 no longer writes entries that keep the line.
      for (size_t i = 0; i + 1 < code_.linetable.size(); i += 2) {
        if (code_.linetable[i] != 255 && code_.linetable[i + 1] == 0) odd();
      }
    }
    if (minor() >= 11 && !has_resume_) fault();
  }

  const object::Module& module_;
  const object::Code& code_;
  const TraitsTable& table_;
  Fit& fit_;
  // By code unit: whether an instruction starts there, or continues after an EXTENDED_ARG.
  enum : uint8_t { kNone, kFirst, kExtended };
  std::vector<uint8_t>& starts_;
  std::array<uint64_t, static_cast<size_t>(Bound::FreeVars) + 1> limits_{};
  std::vector<uint64_t>& targets_;  // of jumps, in bytes
  std::vector<uint8_t>& used_;      // by index of the constants, then of the names: 1 or 0
  bool has_idle_operand_ = false;   // with a value, of an instruction that takes none
  bool has_resume_ = false;
};

// Returns the minor versions in a file name: "/usr/lib/python3.9/os.py", "C:\Python39\Lib".
std::vector<int> minors_in(std::string_view name) {
  std::vector<int> found;
  for (const std::string_view mark : {"ython3.", "ython3", "cpython-3", "versions/3."}) {
    for (size_t at = name.find(mark); at != std::string_view::npos; at = name.find(mark, at + 1)) {
      int minor = 0;
      const char* const from = name.data() + at + mark.size();
      const auto read = std::from_chars(from, name.data() + name.size(), minor);
      if (read.ec == std::errc() && read.ptr - from <= 2) found.push_back(minor);
    }
  }
  return found;
}

// Returns the number of comprehensions without lines if other code has lines: up to 3.8 compilers
// write entries for the value and the loop, even on the same line. (3.8 and 3.9 often compile a
// module to the same bytes; then nothing distinguishes them.)
uint64_t comprehensions_without_lines(const object::Module& module) {
  if (module.version.minor > 8) return 0;
  uint64_t count = 0;
  bool has_lines = false;
  for (const object::Code& code : module.codes) {
    const std::string_view name = module.text(code.name);
    const bool is_comprehension = object::is_comprehension_name(name);
    has_lines = has_lines || !code.linetable.empty();
    count += is_comprehension && code.linetable.empty() ? 1 : 0;
  }
  return has_lines ? count : 0;
}

// Returns the text of an instruction, independent of the version.
std::string words(const object::Module& module, Instr instr) {
  if (instr.op == Op::LoadGlobal) instr.b = 0;  // only marks that an `assert` loaded it
  return text_of(module, instr);
}

bool is_same_entry(const ExceptionEntry& a, const ExceptionEntry& b) {
  return a.begin == b.begin && a.end == b.end && a.target == b.target && a.depth == b.depth &&
         a.lasti == b.lasti;
}

}  // namespace

Fit fit_of(const object::Module& module) {
  Fit fit;
  Scratch scratch;
  fit.uses_all.reserve(module.codes.size());
  for (const object::Code& code : module.codes) {
    fit.uses_all.push_back(Inspection(module, code, fit, scratch).run());
  }
  if (fit.faults != 0) fit.is_straight = false;
  fit.oddities += comprehensions_without_lines(module);
  const std::vector<int> minors = minors_in(module.text(module[module.root].filename));
  const bool is_named =
      std::find(minors.begin(), minors.end(), module.version.minor) != minors.end();
  fit.is_named = is_named;
  fit.is_missed = !minors.empty() && !is_named;
  return fit;
}

bool same_program(const object::Module& a, const object::Module& b) {
  if (a.codes.size() != b.codes.size()) return false;
  for (size_t i = 0; i < a.codes.size(); ++i) {
    const Result<Stream> left = decode(a, object::CodeId(i));
    const Result<Stream> right = decode(b, object::CodeId(i));
    if (!left.ok() || !right.ok() || left->instrs.size() != right->instrs.size()) return false;
    for (size_t k = 0; k < left->instrs.size(); ++k) {
      if (words(a, left->instrs[k]) != words(b, right->instrs[k])) return false;
    }
    if (!std::equal(left->exceptions.begin(), left->exceptions.end(), right->exceptions.begin(),
                    right->exceptions.end(), is_same_entry)) {
      return false;
    }
  }
  return true;
}

}  // namespace pellucid::bytecode
