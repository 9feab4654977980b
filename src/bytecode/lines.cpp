// SPDX-License-Identifier: Apache-2.0
#include "bytecode/lines.h"

#include <algorithm>
#include <utility>

#include "base/append.h"
#include "bytecode/traits.h"
#include "bytecode/varint.h"

namespace pellucid::bytecode {
namespace {

// Lines wrap around as CPython's C ints do in practice; only in broken tables.
int32_t plus(int32_t line, int64_t delta) {
  return static_cast<int32_t>(static_cast<uint32_t>(line) + static_cast<uint32_t>(delta));
}

// Each reader below calls say(end, line) for one run of code units after the other: the line holds
// from the end of the run before. It returns false if the table is cut off.

// 3.8, 3.9 (Objects/lnotab_notes.txt): pairs of an address increment and a signed line increment;
// the line holds from that address on, up to the end of the code.
template <typename Say>
bool read_lnotab(const object::Code& code, Say say) {
  const std::vector<uint8_t>& table = code.linetable;
  int32_t line = code.firstlineno;
  size_t address = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    address += table[i];
    say(address / 2, line);
    line = plus(line, static_cast<int8_t>(table[i + 1]));
  }
  say(code.bytecode.size() / 2, line);
  return true;
}

// 3.10 (PEP 626): pairs of a length in bytes and a signed line increment that applies to these
// bytes and later ones; -128 means no line for these bytes.
template <typename Say>
bool read_linetable(const object::Code& code, Say say) {
  const std::vector<uint8_t>& table = code.linetable;
  if (table.size() % 2 != 0) return false;
  int32_t line = code.firstlineno;
  size_t address = 0;
  for (size_t i = 0; i < table.size(); i += 2) {
    const auto delta = static_cast<int8_t>(table[i + 1]);
    if (delta != -128) line = plus(line, delta);
    address += table[i];
    say(address / 2, delta == -128 ? kNoLine : line);
  }
  return true;
}

// An entry of a 3.11+ table.
struct Location {
  size_t begin = 0;  // code units
  size_t end = 0;
  object::SourcePlace place;
};

uint16_t column(uint32_t number) {
  return static_cast<uint16_t>(std::min<uint32_t>(number, object::kNoColumn));
}

// 3.11+ (Objects/locations.md): entries of a kind and a length in code units, then the kind's
// fields. Calls say(Location) for each; returns false if the table is cut off.
template <typename Say>
bool each_location(const object::Code& code, Say say) {
  enum EntryKind {
    kShortEnd = 10,
    kOneLineEnd = 13,
    kNoColumns = 13,
    kLong = 14,
    kNoLocation = 15
  };
  const std::span<const uint8_t> table = code.linetable;
  int32_t line = code.firstlineno;
  size_t unit = 0;
  size_t at = 0;
  while (at < table.size()) {
    const uint8_t head = table[at++];
    const int kind = head >> 3 & 15;
    Location found{unit, unit + (head & 7) + 1u, {}};
    unit = found.end;
    if (kind < kOneLineEnd) {
      const bool is_short = kind < kShortEnd;
      if (at + (is_short ? 1 : 2) > table.size()) return false;
      const uint8_t first = table[at++];
      if (is_short) {
        found.place.columns.begin = static_cast<uint16_t>(kind * 8 + (first >> 4 & 7));
        found.place.columns.end = static_cast<uint16_t>(found.place.columns.begin + (first & 15u));
      } else {
        line = plus(line, kind - kShortEnd);
        found.place.columns = {first, table[at++]};
      }
    } else if (kind != kNoLocation) {
      int64_t delta = 0;
      if (!read_signed_varint(table, at, delta)) return false;
      line = plus(line, delta);
      if (kind == kLong) {
        uint32_t lines = 0, begin = 0, end = 0;  // columns plus one; 0: unknown
        if (!read_varint(table, at, lines) || !read_varint(table, at, begin) ||
            !read_varint(table, at, end)) {
          return false;
        }
        found.place.columns.begin = column(begin - 1);
        if (lines == 0) found.place.columns.end = column(end - 1);
        found.place.end_line = plus(line, lines);
      }
    }
    if (kind != kNoLocation) found.place.line = line;
    if (kind < kNoColumns) found.place.end_line = line;
    say(found);
  }
  return true;
}

}  // namespace

bool set_lines(const object::Code& code, std::span<RawInstr> instrs) {
  const size_t units = code.bytecode.size() / 2;
  RawInstr* next = instrs.data();
  const RawInstr* const last = next + instrs.size();
  const auto say = [&](size_t end, int32_t line) {
    end = 2 * std::min(end, units);
    for (; next != last && next->offset < end; ++next) next->line = line;
  };
  if (code.version.minor <= 9) return read_lnotab(code, say);
  if (code.version.minor == 10) return read_linetable(code, say);
  return each_location(code, [&](const Location& found) { say(found.end, found.place.line); });
}

object::Places places_of(const object::Code& code) {
  if (code.version.minor < 11) return {};
  const size_t units = code.bytecode.size() / 2;
  std::vector<object::Places::Run> runs;
  runs.reserve(code.linetable.size() / 2);
  bool any = false;
  const bool complete = each_location(code, [&](const Location& found) {
    any = any || found.place.columns.begin != object::kNoColumn;
    if (found.begin >= units) return;
    append_to(runs, {found.place, static_cast<uint32_t>(std::min(found.end, units))});
  });
  if (!any || !complete) return {};
  // What a table that is too short leaves out has no place.
  runs.push_back({{}, static_cast<uint32_t>(units)});
  std::vector<uint32_t> nops, leaves;
  const TraitsTable& traits = traits_of(code.version);
  const std::span<const uint8_t> bytes = code.bytecode;
  for (size_t at = 0; at + 1 < bytes.size();) {
    const Traits& opcode = traits[bytes[at]];
    if (opcode.holds_place) {
      (opcode.mark == Mark::Nop ? nops : leaves).push_back(static_cast<uint32_t>(at / 2));
    }
    at += opcode.length;
  }
  return {std::move(runs), std::move(nops), std::move(leaves)};
}

}  // namespace pellucid::bytecode
