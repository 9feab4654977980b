// SPDX-License-Identifier: Apache-2.0
#include "bytecode/fit.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/decode.h"
#include "bytecode/raw_table.h"
#include "bytecode/read_raw.h"
#include "bytecode/traits.h"

namespace pellucid::bytecode {
namespace {

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
  size_t at = 0;
  while (at < table.size()) {
    const uint8_t head = table[at++];
    if ((head & 0x80) == 0) return std::nullopt;
    extent += (head & 7) + 1u;
    // The next entry is the next byte with its highest bit set.
    while (at < table.size() && (table[at] & 0x80) == 0) ++at;
  }
  return extent;
}

constexpr uint8_t kCache = 0;  // the opcode (3.11+); no instruction up to 3.10

class Inspection {
 public:
  Inspection(const object::Code& code, Fit& fit)
      : code_(code), table_(traits_of(code.version)), fit_(fit) {}

  void run() {
    if (!code_.fault.empty()) return fault();
    if (code_.bytecode.empty() || code_.bytecode.size() % 2 != 0) return fault();
    instructions();
    jumps();
    tables();
    habits();
  }

 private:
  struct Instruction {
    size_t at = 0;  // of its first EXTENDED_ARG, in bytes
    size_t end = 0;
    uint64_t arg = 0;
    const Traits* opcode = nullptr;
  };

  int minor() const { return code_.version.minor; }
  void fault(uint64_t count = 1) { fit_.faults += count; }
  void odd(uint64_t count = 1) { fit_.oddities += count; }

  void instructions() {
    const std::vector<uint8_t>& bytes = code_.bytecode;
    starts_.assign(bytes.size() / 2 + 1, 0);
    instrs_.reserve(bytes.size() / 2);
    bool is_extended = false;
    uint64_t arg = 0;
    size_t start = 0;
    for (size_t at = 0; at < bytes.size();) {
      if (!is_extended) start = at;
      ++fit_.instructions;
      starts_[at / 2] = 1;
      const Traits& opcode = table_[bytes[at]];
      arg = (arg << 8 | bytes[at + 1]) & 0xffffffffu;
      const size_t end = at + 2 + 2 * size_t{opcode.caches};
      const bool is_cache = bytes[at] == kCache;  // more than an instruction has
      if (!opcode.is_known || is_cache || end > bytes.size()) {
        fault();
        is_extended = false;
        arg = 0;
        at += 2;
        continue;
      }
      // Code taken out of a running interpreter may have counters in its caches.
      const auto first_cache = bytes.begin() + static_cast<long>(at) + 2;
      if (opcode.caches > 0 && std::any_of(first_cache, bytes.begin() + static_cast<long>(end),
                                           [](uint8_t byte) { return byte != 0; })) {
        fault();
      }
      at = end;
      is_extended = opcode.mark == Mark::ExtendedArg;
      if (is_extended) continue;
      instrs_.push_back({start, end, arg, &opcode});
      argument(opcode, arg);
      arg = 0;
    }
    if (is_extended) fault();
  }

  void argument(const Traits& opcode, uint64_t arg) {
    if (!(opcode.kinds & kArg)) {
      if (arg != 0) odd();
      return;
    }
    const auto within = [&](uint64_t index, size_t size) {
      if (index >= size) fault();
    };
    if (opcode.kinds & kConst) within(arg, code_.consts.size());
    if (opcode.kinds & kName) within(arg >> opcode.name_shift, code_.names.size());
    if (opcode.kinds & kLocal) {
      const bool is_pair = opcode.form == Form::TwoLocals || opcode.form == Form::StoreTwo;
      const size_t count = minor() >= 11 ? code_.localsplus.size() : code_.varnames.size();
      within(is_pair ? arg >> 4 : arg, count);
      if (is_pair) within(arg & 15, count);
    }
    if (opcode.kinds & kFree) {
      within(arg, minor() >= 11 ? code_.localsplus.size()
                                : code_.cellvars.size() + code_.freevars.size());
    }
    if (opcode.kinds & kCompare) within(arg, minor() == 8 ? 11 : minor() < 12 ? 6 : 6u << 5);
    if (opcode.mark == Mark::BinaryOp) within(arg, minor() >= 14 ? 27 : 26);
    if (opcode.mark == Mark::CopyFreeVars && arg != code_.freevars.size()) fault();
    if (opcode.mark == Mark::LoadSmallInt) within(arg, 256);
    if (opcode.mark == Mark::Resume && minor() <= 12) within(arg, 4);
  }

  void jumps() {
    const uint64_t unit = minor() >= 10 ? 2 : 1;
    for (const Instruction& instr : instrs_) {
      const uint16_t kinds = instr.opcode->kinds;
      if (!(kinds & (kJumpAbsolute | kJumpRelative))) continue;
      const uint64_t distance = instr.arg * unit;
      const bool is_before = (kinds & kJumpRelative) && (kinds & kBackward);
      if (is_before && distance > instr.end) {
        fault();
        continue;
      }
      const uint64_t target = (kinds & kJumpAbsolute) ? distance
                              : is_before             ? instr.end - distance
                                                      : instr.end + distance;
      if (target % 2 != 0 || target >= code_.bytecode.size() || starts_[target / 2] == 0) fault();
    }
  }

  // Obfuscators leave empty tables: no evidence.
  void tables() {
    if (minor() >= 11 && !read_exception_table(code_).ok()) fault();
    if (code_.linetable.empty()) return odd(minor() >= 10 ? 1 : 0);
    const std::optional<uint64_t> extent = extent_of_lines(code_);
    const uint64_t size = code_.bytecode.size();
    if (!extent) return fault();
    // Until 3.9 the table ends where the code of the last line begins, later where that ends.
    if (minor() <= 9 ? *extent >= size : *extent != (minor() == 10 ? size : size / 2)) fault();
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
    size_t resumes = 0, loads = 0;
    for (size_t i = 0; i < instrs_.size(); ++i) {
      const Mark mark = instrs_[i].opcode->mark;
      if (mark == Mark::Resume) ++resumes;
      if (minor() == 9 && instrs_[i].arg > 2 && loads >= instrs_[i].arg &&
          (mark == Mark::BuildList || mark == Mark::BuildSet)) {
        odd();  // 3.9 would fold it to one constant
      }
      const bool is_const = mark == Mark::LoadConst;
      if (mark == Mark::ReturnValue && loads > 0 && (minor() == 12 || minor() == 13)) odd();
      loads = is_const ? loads + 1 : 0;
    }
    if (minor() >= 11 && resumes == 0) fault();
  }

  const object::Code& code_;
  const TraitsTable& table_;
  Fit& fit_;
  std::vector<uint8_t> starts_;  // by code unit: 1 if an instruction or EXTENDED_ARG starts there
  std::vector<Instruction> instrs_;
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
    const bool is_comprehension =
        name == "<listcomp>" || name == "<setcomp>" || name == "<dictcomp>" || name == "<genexpr>";
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
  for (const object::Code& code : module.codes) Inspection(code, fit).run();
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
