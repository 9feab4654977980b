// SPDX-License-Identifier: Apache-2.0
#include "bytecode/namesakes.h"

#include <algorithm>
#include <unordered_map>

#include "bytecode/traits.h"

namespace pellucid::bytecode {
namespace {

using object::LocalKind;

class Namesakes {
 public:
  Namesakes(const object::Code& code, const std::vector<RawInstr>& raw)
      : code_(code), raw_(raw), traits_(traits_of(code.version)), minor_(code.version.minor) {}

  bool run() const {
    if (are_few_and_apart()) return false;
    std::unordered_map<uint32_t, size_t> places;
    for (size_t i = 0; i < code_.localsplus.size(); ++i) {
      const auto [other, is_new] = places.emplace(code_.localsplus[i].value, i);
      if (!is_new && !are_told_apart(other->second, i)) return true;
    }
    return false;
  }

 private:
  // Returns true for a few variables that all have names of their own, as nearly always.
  bool are_few_and_apart() const {
    constexpr size_t kFew = 16;
    const std::vector<Symbol>& names = code_.localsplus;
    if (names.size() > kFew) return false;
    for (size_t i = 1; i < names.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        if (names[k] == names[i]) return false;
      }
    }
    return true;
  }

  // Returns true if no instruction uses the variable and it never has a value, or is a free
  // variable of a class body, whose locals() omit it: only removed dead code used it.
  bool is_idle(size_t place) const {
    const bool is_free = code_.localspluskinds[place] == LocalKind::Free;
    if (is_free ? (code_.flags & object::kOptimized) != 0
                : place < object::parameter_count(code_)) {
      return false;
    }
    const size_t locals = minor_ >= 11 ? 0 : code_.varnames.size();
    return std::none_of(raw_.begin(), raw_.end(), [&](const RawInstr& instr) {
      const Traits& traits = traits_[instr.opcode];
      const bool is_of_prologue =
          traits.mark == Mark::MakeCell || traits.mark == Mark::CopyFreeVars;
      if (!is_of_variable(traits) || is_of_prologue) return false;
      // LOAD_FAST_LOAD_FAST and the like use two.
      const bool has_two = traits.form == Form::TwoLocals || traits.form == Form::StoreTwo;
      if (has_two) return instr.arg >> 4 == place || (instr.arg & 15) == place;
      return instr.arg + ((traits.kinds & kFree) != 0 ? locals : 0) == place;
    });
  }

  // Returns true if the instructions determine which of two variables they use. An unused variable
  // does not matter. An inlined comprehension (3.12+) may have a local with the name of an
  // enclosing cell, and a class body the cell `__class__` besides that of an enclosing function:
  // the instruction tells which one it uses.
  bool are_told_apart(size_t first, size_t second) const {
    if (is_idle(first) || is_idle(second)) return true;
    const LocalKind kind = code_.localspluskinds[first];
    const bool is_local = kind == LocalKind::Local || kind == LocalKind::Hidden;
    if (is_local) {
      return minor_ >= 12 && first >= object::parameter_count(code_) &&
             std::any_of(raw_.begin(), raw_.end(), [&](const RawInstr& instr) {
               return traits_[instr.opcode].mark == Mark::LoadFastAndClear && instr.arg == first;
             });
    }
    if (kind == LocalKind::CellLocal) return is_only_lent(first, second);
    if ((code_.flags & object::kOptimized) != 0 || kind != LocalKind::Cell ||
        code_.localspluskinds[second] != LocalKind::Free) {
      return false;
    }
    const size_t count = minor_ >= 11 ? 0 : code_.varnames.size();
    return std::all_of(raw_.begin(), raw_.end(), [&](const RawInstr& instr) {
      const Traits& traits = traits_[instr.opcode];
      const Mark op = traits.mark;
      if (!is_of_variable(traits) || op == Mark::CopyFreeVars) return true;
      const bool takes_cell = op == Mark::LoadClosure || op == Mark::MakeCell || loads_local(op);
      return instr.arg + count != (takes_cell ? second : first);
    });
  }

  // Returns true if the local is used only to save and restore it: if it is a cell too, compilers
  // make the cell in the slot of the free variable.
  bool is_only_lent(size_t first, size_t second) const {
    if (minor_ < 12 || first < object::parameter_count(code_) ||
        code_.localspluskinds[second] != LocalKind::Free) {
      return false;
    }
    bool is_lent = false;
    for (const RawInstr& instr : raw_) {
      const Traits& traits = traits_[instr.opcode];
      const Mark op = traits.mark;
      if (!is_of_variable(traits) || instr.arg != first) continue;
      is_lent = is_lent || op == Mark::LoadFastAndClear;
      if (op != Mark::LoadFastAndClear && op != Mark::StoreFast && op != Mark::MakeCell)
        return false;
    }
    return is_lent;
  }

  const object::Code& code_;
  const std::vector<RawInstr>& raw_;
  const TraitsTable& traits_;
  int minor_;
};

}  // namespace

bool has_namesakes(const object::Code& code, const std::vector<RawInstr>& raw) {
  return Namesakes(code, raw).run();
}

}  // namespace pellucid::bytecode
