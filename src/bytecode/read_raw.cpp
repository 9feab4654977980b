#include "bytecode/read_raw.h"

#include <string>

#include "bytecode/lines.h"
#include "bytecode/raw_table.h"
#include "bytecode/varint.h"

namespace pellucid::bytecode {
namespace {

constexpr size_t kMaxBytecode = size_t{1} << 30;

Error malformed(size_t offset, const std::string& what) {
  return Error{ErrorCode::Malformed, offset,
               "bytecode: " + what + " at offset " + std::to_string(offset)};
}

// Where a jump leads, in bytes; -1 for what is no jump. Until 3.9 arguments count bytes, then code
// units; relative ones count from behind the instruction's inline cache.
int64_t target_of(const object::Code& code, const RawOpcode& opcode, const RawInstr& instr) {
  const int64_t distance = int64_t{instr.arg} * (code.version.minor >= 10 ? 2 : 1);
  if (opcode.kinds & kJumpAbsolute) return distance;
  if (!(opcode.kinds & kJumpRelative)) return -1;
  const int64_t behind = int64_t{instr.offset} + 2 + 2 * opcode.caches;
  return opcode.kinds & kBackward ? behind - distance : behind + distance;
}

// How many instructions there are, EXTENDED_ARG among them, if the bytes are what they should be.
size_t count_of(const RawTable& table, const std::vector<uint8_t>& bytes) {
  size_t count = 0;
  for (size_t at = 0; at < bytes.size(); at += 2 + 2 * size_t{table[bytes[at]].caches}) ++count;
  return count;
}

}  // namespace

Result<std::vector<RawInstr>> read_raw(const object::Code& code) {
  const std::vector<uint8_t>& bytes = code.bytecode;
  if (bytes.size() % 2 != 0) return malformed(bytes.size(), "half a code unit");
  if (bytes.size() > kMaxBytecode) return Error{ErrorCode::Limit, 0, "bytecode: too long"};
  PELLUCID_TRY(const std::vector<int32_t> lines, lines_of_units(code));
  const RawTable& table = raw_table(code.version);

  std::vector<RawInstr> raw;
  raw.reserve(count_of(table, bytes));
  RawInstr instr;
  bool extended = false;
  for (size_t at = 0; at < bytes.size();) {
    instr.opcode = bytes[at];
    instr.offset = static_cast<uint32_t>(at);
    if (!extended) instr.start = instr.offset;
    instr.arg = instr.arg << 8 | bytes[at + 1];
    instr.line = lines[at / 2];
    const RawOpcode& opcode = table[instr.opcode];
    if (opcode.name.empty()) {
      return malformed(at, "unknown opcode " + std::to_string(instr.opcode));
    }
    at += 2 + 2 * size_t{opcode.caches};
    if (at > bytes.size()) return malformed(instr.offset, "an inline cache is cut off");
    extended = opcode.name == "EXTENDED_ARG";
    if (extended) continue;
    if (!(opcode.kinds & kArg)) instr.arg = 0;
    instr.target = target_of(code, opcode, instr);
    raw.push_back(instr);
    instr = RawInstr{};
  }
  if (extended) return malformed(instr.offset, "EXTENDED_ARG without an instruction");
  return raw;
}

// Objects/exception_handling_notes.txt.
Result<std::vector<RawException>> read_exception_table(const object::Code& code) {
  std::vector<RawException> entries;
  const std::vector<uint8_t>& table = code.exceptiontable;
  const size_t units = code.bytecode.size() / 2;
  size_t at = 0;
  while (at < table.size()) {
    const size_t entry_at = at;
    uint32_t begin = 0;
    uint32_t length = 0;
    uint32_t target = 0;
    uint32_t depth_and_lasti = 0;
    const bool complete = read_big_endian_varint(table, at, begin) &&
                          read_big_endian_varint(table, at, length) &&
                          read_big_endian_varint(table, at, target) &&
                          read_big_endian_varint(table, at, depth_and_lasti);
    if (!complete || begin > units || length > units - begin || target >= units ||
        (!entries.empty() && 2 * begin < entries.back().end)) {
      return Error{ErrorCode::Malformed, entry_at,
                   "exception table: bad entry at byte " + std::to_string(entry_at)};
    }
    entries.push_back({2 * begin, 2 * (begin + length), 2 * target, depth_and_lasti >> 1,
                       (depth_and_lasti & 1) != 0});
  }
  return entries;
}

}  // namespace pellucid::bytecode
