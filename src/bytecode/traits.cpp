// SPDX-License-Identifier: Apache-2.0
#include "bytecode/traits.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

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
    traits.length = static_cast<uint8_t>(2 + 2 * opcode.caches);
    traits.name_shift = name_shift(version.minor, opcode.name);
    traits.meaning = &meaning_of(version, static_cast<uint8_t>(i));
    traits.form = traits.meaning->form;
    for (const auto& [name, mark] : kMarks) {
      if (name == opcode.name) traits.mark = mark;
    }
    traits.is_known = traits.form != Form::Never || traits.mark == Mark::ExtendedArg;
    traits.is_instr = traits.is_known && traits.mark != Mark::Cache;
    traits.bound = bound_of(traits);
    traits.falls_through = std::find(std::begin(kNeverFallThrough), std::end(kNeverFallThrough),
                                     opcode.name) == std::end(kNeverFallThrough);
    traits.holds_place = traits.mark == Mark::Nop || !traits.falls_through;
  }
  return table;
}

// Made when it is first asked for: few runs need more than one.
template <uint8_t minor>
const TraitsTable& table_of() {
  static const TraitsTable table = make(object::Version{object::kOldestVersion.major, minor});
  return table;
}

template <size_t... offsets>
constexpr auto tables(std::index_sequence<offsets...> /*of minor versions*/) {
  return std::array{&table_of<object::kOldestVersion.minor + offsets>...};
}

constexpr auto kTables = tables(
    std::make_index_sequence<object::kNewestVersion.minor - object::kOldestVersion.minor + 1>());

}  // namespace

const TraitsTable& traits_of(object::Version version) {
  return kTables[static_cast<size_t>(version.minor - object::kOldestVersion.minor)]();
}

}  // namespace pellucid::bytecode
