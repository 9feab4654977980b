// SPDX-License-Identifier: Apache-2.0
#include "bytecode/traits.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "bytecode/raw_table.h"

namespace pellucid::bytecode {
namespace {

constexpr std::pair<std::string_view, Mark> kMarks[] = {
#define MARK(name, mnemonic) {#mnemonic, Mark::name},
#include "bytecode/marks.def"
#undef MARK
};

constexpr std::string_view kNeverFallThrough[] = {"RETURN_VALUE",  "RETURN_CONST",
                                                  "JUMP_FORWARD",  "JUMP_ABSOLUTE",
                                                  "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT",
                                                  "RAISE_VARARGS", "RERAISE"};

uint8_t name_shift(int minor, std::string_view name) {
  if (name == "LOAD_GLOBAL") return minor >= 11 ? 1 : 0;
  if (name == "LOAD_ATTR") return minor >= 12 ? 1 : 0;
  if (name == "LOAD_SUPER_ATTR") return 2;
  if (name == "IMPORT_NAME") return minor >= 15 ? 2 : 0;
  return 0;
}

Bound bound_of(const Traits& traits) {
  if (!(traits.kinds & kArg)) return Bound::None;
  if (traits.kinds & kConst) return Bound::Const;
  if (traits.kinds & kName) return Bound::Name;
  if (traits.kinds & kLocal) {
    const bool is_pair = traits.form == Form::TwoLocals || traits.form == Form::StoreTwo;
    return is_pair ? Bound::TwoLocals : Bound::Local;
  }
  if (traits.kinds & kFree) return Bound::Variable;
  if (traits.kinds & kCompare) return Bound::Compare;
  if (traits.mark == Mark::BinaryOp) return Bound::Operator;
  if (traits.mark == Mark::LoadSmallInt) return Bound::SmallInt;
  if (traits.mark == Mark::Resume) return Bound::Resume;
  return traits.mark == Mark::CopyFreeVars ? Bound::FreeVars : Bound::None;
}

TraitsTable make(object::Version version) {
  TraitsTable table;
  for (size_t i = 0; i < table.size(); ++i) {
    const RawOpcode& opcode = raw_table(version)[i];
    if (opcode.name.empty()) continue;
    Traits& traits = table[i];
    traits.kinds = opcode.kinds;
    traits.caches = opcode.caches;
    traits.name_shift = name_shift(version.minor, opcode.name);
    traits.meaning = &meaning_of(version, static_cast<uint8_t>(i));
    traits.form = traits.meaning->form;
    for (const auto& [name, mark] : kMarks) {
      if (name == opcode.name) traits.mark = mark;
    }
    traits.is_known = traits.form != Form::Never || traits.mark == Mark::ExtendedArg;
    traits.bound = bound_of(traits);
    traits.falls_through = std::find(std::begin(kNeverFallThrough), std::end(kNeverFallThrough),
                                     opcode.name) == std::end(kNeverFallThrough);
  }
  return table;
}

}  // namespace

const TraitsTable& traits_of(object::Version version) {
  static const std::vector<TraitsTable> all = [] {
    std::vector<TraitsTable> made;
    for (object::Version v = object::kOldestVersion; v <= object::kNewestVersion; ++v.minor) {
      made.push_back(make(v));
    }
    return made;
  }();
  return all[static_cast<size_t>(version.minor - object::kOldestVersion.minor)];
}

}  // namespace pellucid::bytecode
