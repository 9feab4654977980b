#include "bytecode/lines.h"

#include <algorithm>

#include "bytecode/stream.h"
#include "bytecode/varint.h"

namespace pellucid::bytecode {
namespace {

using Lines = std::vector<int32_t>;

// Lines wrap as CPython's ints do on the machines it runs on; only a broken table gets there.
int32_t plus(int32_t line, int64_t delta) {
  return static_cast<int32_t>(static_cast<uint32_t>(line) + static_cast<uint32_t>(delta));
}

void fill(Lines& lines, size_t from, size_t to, int32_t line) {
  to = std::min(to, lines.size());
  for (size_t unit = from; unit < to; ++unit) lines[unit] = line;
}

Error cut_off(const std::vector<uint8_t>& table) {
  return Error{ErrorCode::Malformed, table.size(), "line table: unexpected end"};
}

// 3.8, 3.9 (Objects/lnotab_notes.txt): pairs of an address increment and a signed line increment;
// the line is that of the addresses behind it, up to the end of the code.
Result<Lines> read_lnotab(const object::Code& code) {
  const std::vector<uint8_t>& table = code.linetable;
  Lines lines(code.bytecode.size() / 2, code.firstlineno);
  int32_t line = code.firstlineno;
  size_t address = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    const size_t next = address + table[i];
    fill(lines, address / 2, next / 2, line);
    address = next;
    line = plus(line, static_cast<int8_t>(table[i + 1]));
  }
  fill(lines, address / 2, lines.size(), line);
  return lines;
}

// 3.10 (PEP 626): pairs of a length in bytes and a signed line increment that holds for these bytes
// and is kept; -128 means that they have no line.
Result<Lines> read_linetable(const object::Code& code) {
  const std::vector<uint8_t>& table = code.linetable;
  if (table.size() % 2 != 0) return cut_off(table);
  Lines lines(code.bytecode.size() / 2, kNoLine);
  int32_t line = code.firstlineno;
  size_t address = 0;
  for (size_t i = 0; i < table.size(); i += 2) {
    const auto delta = static_cast<int8_t>(table[i + 1]);
    if (delta != -128) line = plus(line, delta);
    fill(lines, address / 2, (address + table[i]) / 2, delta == -128 ? kNoLine : line);
    address += table[i];
  }
  return lines;
}

// 3.11+ (Objects/locations.md): entries of a kind and a length in code units, then what the kind
// needs. Only the start line is kept.
Result<Lines> read_locations(const object::Code& code) {
  enum Kind { kShortEnd = 10, kOneLineEnd = 13, kNoColumns = 13, kLong = 14, kNoLocation = 15 };
  const std::vector<uint8_t>& table = code.linetable;
  Lines lines(code.bytecode.size() / 2, kNoLine);
  int32_t line = code.firstlineno;
  size_t unit = 0;
  size_t at = 0;
  while (at < table.size()) {
    const uint8_t head = table[at++];
    const int kind = head >> 3 & 15;
    const size_t length = (head & 7) + 1u;
    bool complete = true;
    if (kind == kLong || kind == kNoColumns) {
      int64_t delta = 0;
      complete = read_signed_varint(table, at, delta);
      line = plus(line, delta);
      uint32_t ignored = 0;
      for (int i = 0; complete && kind == kLong && i < 3; ++i)
        complete = read_varint(table, at, ignored);
    } else if (kind < kShortEnd) {
      at += 1;
    } else if (kind < kOneLineEnd) {
      line = plus(line, kind - kShortEnd);
      at += 2;
    }
    if (!complete || at > table.size()) return cut_off(table);
    fill(lines, unit, unit + length, kind == kNoLocation ? kNoLine : line);
    unit += length;
  }
  return lines;
}

}  // namespace

Result<std::vector<int32_t>> lines_of_units(const object::Code& code) {
  if (code.version.minor <= 9) return read_lnotab(code);
  if (code.version.minor == 10) return read_linetable(code);
  return read_locations(code);
}

}  // namespace pellucid::bytecode
