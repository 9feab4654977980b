// SPDX-License-Identifier: Apache-2.0
#include "bytecode/contents.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "bytecode/raw_table.h"
#include "bytecode/read_raw.h"
#include "bytecode/traits.h"

namespace pellucid::bytecode {
namespace {

struct Unit {
  uint64_t arg = 0;  // EXTENDED_ARGs folded in
  const Traits* opcode = nullptr;
  size_t end = 0;  // start of the next instruction
};

class Reading {
 public:
  Reading(const object::Module& module, const object::Code& code)
      : module_(module), code_(code), table_(traits_of(code.version)) {
    out_.loads.assign(code.consts.size(), false);
    out_.uses.assign(code.names.size(), false);
  }

  Contents run(bool is_straight) {
    if (code_.bytecode.size() % 2 != 0 || !code_.fault.empty()) return std::move(out_);
    if (is_straight) {
      use_all();
      docstring();
      return std::move(out_);
    }
    reached_.assign(code_.bytecode.size() / 2, 0);
    follow();
    look_for_junk();
    for (size_t at = 0; at < code_.bytecode.size();) {
      const bool counts = reached_[at / 2] != 0 || out_.junk == 0;
      const Unit unit = unit_at(at);
      if (counts && unit.opcode != nullptr) use(at, unit);
      at = counts && unit.opcode != nullptr ? unit.end : at + 2;
    }
    docstring();
    return std::move(out_);
  }

 private:
  // Reads the unit at `at`; without an opcode if it is not an instruction.
  Unit unit_at(size_t at) const {
    Unit unit;
    const std::vector<uint8_t>& bytes = code_.bytecode;
    while (at + 1 < bytes.size()) {
      const Traits& opcode = table_[bytes[at]];
      unit.arg = (unit.arg << 8 | bytes[at + 1]) & 0xffffffffu;
      at += 2 + 2 * size_t{opcode.caches};
      if (opcode.mark == Mark::ExtendedArg) continue;
      if (opcode.is_known && at <= bytes.size()) unit.opcode = &opcode;
      break;
    }
    unit.end = at;
    return unit;
  }

  // Returns the exception table; none if it cannot be read.
  std::vector<RawException> exceptions() const {
    if (code_.exceptiontable.empty() || code_.version.minor < 11) return {};
    Result<std::vector<RawException>> read = read_exception_table(code_);
    return read.ok() ? std::move(*read) : std::vector<RawException>();
  }

  // Marks every code unit of the reachable instructions.
  void follow() {
    const std::vector<RawException> entries = exceptions();
    std::vector<size_t> todo{0};
    const auto is_new = [&](uint64_t at) {
      return at % 2 == 0 && at / 2 < reached_.size() && reached_[static_cast<size_t>(at / 2)] == 0;
    };
    const auto go = [&](uint64_t at) {
      if (is_new(at)) todo.push_back(static_cast<size_t>(at));
    };
    while (!todo.empty()) {
      size_t at = todo.back();
      todo.pop_back();
      Unit unit;
      // An instruction that only falls through needs no place on the list.
      for (bool only_falls = true; only_falls && is_new(at); at = unit.end) {
        unit = unit_at(at);
        const size_t end = std::min(unit.end / 2, reached_.size());
        for (size_t i = at / 2; i < end; ++i) reached_[i] = 1;
        if (unit.opcode == nullptr) break;
        if (!entries.empty()) go_to_handler(entries, at, go);
        const bool jumps = (unit.opcode->kinds & kAnyJump) != 0;
        only_falls = unit.opcode->falls_through && !jumps;
        if (jumps && unit.opcode->falls_through) go(unit.end);
        if (jumps) jump(unit, go);
      }
    }
  }

  template <typename Go>
  static void go_to_handler(const std::vector<RawException>& entries, size_t at, const Go& go) {
    const auto after = std::upper_bound(
        entries.begin(), entries.end(), at,
        [](size_t offset, const RawException& entry) { return offset < entry.begin; });
    if (after != entries.begin() && at < std::prev(after)->end) go(std::prev(after)->target);
  }

  // Goes where an instruction may jump to.
  template <typename Go>
  void jump(const Unit& unit, const Go& go) const {
    const uint16_t kinds = unit.opcode->kinds;
    const uint64_t distance = unit.arg * (code_.version.minor >= 10 ? 2 : 1);
    if (kinds & kJumpAbsolute) go(distance);
    if (!(kinds & kJumpRelative)) return;
    if (!(kinds & kBackward)) go(unit.end + distance);
    if ((kinds & kBackward) && distance <= unit.end) go(unit.end - distance);
  }

  void look_for_junk() {
    for (size_t at = 0; at < code_.bytecode.size();) {
      const auto from = reached_.begin() + static_cast<std::ptrdiff_t>(at / 2);
      at = 2 * static_cast<size_t>(std::find(from, reached_.end(), 0) - reached_.begin());
      if (at >= code_.bytecode.size()) break;
      size_t end = at;
      bool is_junk = false;
      while (end < code_.bytecode.size() && reached_[end / 2] == 0) {
        const Unit unit = unit_at(end);
        is_junk = is_junk || unit.opcode == nullptr || names_nothing(unit);
        end = unit.opcode == nullptr ? end + 2 : unit.end;
      }
      if (is_junk) {
        if (out_.junk == 0) out_.junk_at = static_cast<uint32_t>(at);
        out_.junk += static_cast<uint32_t>(end - at);
      }
      at = end;
    }
  }

  // Reads all bytes, which are instructions.
  void use_all() {
    for (size_t at = 0; at < code_.bytecode.size();) {
      const Unit unit = unit_at(at);
      const auto tells = [](uint32_t kinds) {
        return (kinds & (kConst | kName)) != 0 || !(kinds & kArg);
      };
      if (unit.opcode != nullptr && tells(unit.opcode->kinds)) use(at, unit);
      at = unit.end;
    }
  }

  static size_t name_index(const Unit& unit) {
    return static_cast<size_t>(unit.arg >> unit.opcode->name_shift);
  }

  bool names_nothing(const Unit& unit) const {
    const uint16_t kinds = unit.opcode->kinds;
    if (kinds & kConst) return unit.arg >= out_.loads.size();
    return (kinds & kName) && name_index(unit) >= out_.uses.size();
  }

  void use(size_t at, const Unit& unit) {
    const uint16_t kinds = unit.opcode->kinds;
    if ((kinds & kConst) && unit.arg < out_.loads.size()) {
      out_.loads[static_cast<size_t>(unit.arg)] = true;
    }
    if ((kinds & kName) && name_index(unit) < out_.uses.size()) out_.uses[name_index(unit)] = true;
    // 3.10 turns removed instructions into NOPs and leaves their arguments.
    if ((kinds & kArg) || (code_.version.minor == 10 && unit.opcode->mark == Mark::Nop)) return;
    // Includes the EXTENDED_ARGs, which have no effect either.
    for (size_t byte = at + 1; byte < unit.end; byte += 2) {
      const uint8_t opcode = code_.bytecode[byte - 1];
      const uint8_t value = code_.bytecode[byte];
      if (value == 0) continue;
      if (out_.operands.empty()) out_.operands_at = static_cast<uint32_t>(at);
      out_.operands += static_cast<char>(value);
      if (table_[opcode].mark != Mark::ExtendedArg) break;  // caches follow
    }
  }

  void docstring() {
    if (has_docstring(module_, code_)) out_.loads[0] = true;
  }

  const object::Module& module_;
  const object::Code& code_;
  const TraitsTable& table_;
  Contents out_;
  std::vector<uint8_t> reached_;  // by code unit: 1 or 0
};

}  // namespace

bool has_docstring(const object::Module& module, const object::Code& code) {
  if (code.consts.empty() || !(code.flags & object::kOptimized)) return false;
  const bool is_text = module[code.consts[0]].kind == object::ConstKind::Str;
  return is_text && (code.version.minor < 14 || (code.flags & object::kHasDocstring));
}

Contents contents_of(const object::Module& module, const object::Code& code, bool is_straight) {
  return Reading(module, code).run(is_straight);
}

}  // namespace pellucid::bytecode
