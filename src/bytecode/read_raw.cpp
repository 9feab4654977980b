// SPDX-License-Identifier: Apache-2.0
#include "bytecode/read_raw.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "bytecode/lines.h"
#include "bytecode/traits.h"
#include "bytecode/varint.h"

namespace pellucid::bytecode {
namespace {

constexpr size_t kMaxBytecode = size_t{1} << 30;

Error malformed(size_t offset, const std::string& what) {
  return Error{ErrorCode::Malformed, offset,
               "bytecode: " + what + " at offset " + std::to_string(offset)};
}

// Returns the number of instructions, including EXTENDED_ARGs; of bytes that are not valid, at
// least the number of those before the first one that is not.
size_t count_of(const TraitsTable& traits, std::span<const uint8_t> bytes) {
  size_t count = 0;
  for (size_t at = 0; at < bytes.size(); at += traits[bytes[at]].length) ++count;
  return count;
}

// Reads an exception table (Objects/exception_handling_notes.txt).
class TableReader {
 public:
  explicit TableReader(const object::Code& code)
      : table_(code.exceptiontable), units_(code.bytecode.size() / 2) {}

  bool at_end() const { return at_ >= table_.size(); }

  // Returns the next entry; none if it is cut off, covers bytes outside the code, or does not
  // follow the one before.
  std::optional<RawException> next() {
    entry_at_ = at_;
    uint32_t begin = 0;
    uint32_t length = 0;
    uint32_t target = 0;
    uint32_t depth_and_lasti = 0;
    const bool complete = read_big_endian_varint(table_, at_, begin) &&
                          read_big_endian_varint(table_, at_, length) &&
                          read_big_endian_varint(table_, at_, target) &&
                          read_big_endian_varint(table_, at_, depth_and_lasti);
    if (!complete || begin > units_ || length > units_ - begin || 2 * begin < end_) return {};
    end_ = 2 * (begin + length);
    const auto handler = static_cast<uint32_t>(std::min<size_t>(target, units_));
    return RawException{2 * begin, end_, 2 * handler, depth_and_lasti >> 1,
                        (depth_and_lasti & 1) != 0};
  }

  Error bad_entry() const {
    return Error{ErrorCode::Malformed, entry_at_,
                 "exception table: bad entry at byte " + std::to_string(entry_at_)};
  }

 private:
  const std::vector<uint8_t>& table_;
  const size_t units_;
  size_t at_ = 0;
  size_t entry_at_ = 0;
  uint32_t end_ = 0;  // of the range covered so far
};

}  // namespace

int64_t target_of(const object::Code& code, const Traits& opcode, const RawInstr& instr) {
  if (!(opcode.kinds & kAnyJump)) return -1;
  const int64_t distance = int64_t{instr.arg} * (code.version.minor >= 10 ? 2 : 1);
  if (opcode.kinds & kJumpAbsolute) return distance;
  const int64_t end = int64_t{instr.offset} + 2 + 2 * opcode.caches;
  return opcode.kinds & kBackward ? end - distance : end + distance;
}

Result<std::vector<RawInstr>> read_raw(const object::Code& code) {
  const std::span<const uint8_t> bytes = code.bytecode;
  if (bytes.size() % 2 != 0) return malformed(bytes.size(), "half a code unit");
  if (bytes.size() > kMaxBytecode) return Error{ErrorCode::Limit, 0, "bytecode: too long"};
  const TraitsTable& traits = traits_of(code.version);

  std::vector<RawInstr> raw(count_of(traits, bytes));
  RawInstr* next = raw.data();
  bool extended = false;
  uint32_t start = 0;
  uint32_t arg = 0;
  for (size_t at = 0; at < bytes.size();) {
    const auto offset = static_cast<uint32_t>(at);
    const uint8_t number = bytes[at];
    if (!extended) start = offset;
    arg = arg << 8 | bytes[at + 1];
    const Traits& opcode = traits[number];
    if (opcode.meaning == nullptr) return malformed(at, "unknown opcode " + std::to_string(number));
    at += opcode.length;
    if (at > bytes.size()) return malformed(offset, "an inline cache is cut off");
    extended = opcode.mark == Mark::ExtendedArg;
    if (extended) continue;
    if (!(opcode.kinds & kArg)) arg = 0;
    *next = {offset, start, number, arg, -1, kNoLine};
    if (opcode.kinds & kAnyJump) next->target = target_of(code, opcode, *next);
    ++next;
    arg = 0;
  }
  if (extended) return malformed(bytes.size() - 2, "EXTENDED_ARG without an instruction");
  raw.resize(static_cast<size_t>(next - raw.data()));
  if (!set_lines(code, raw)) {
    return Error{ErrorCode::Malformed, code.linetable.size(), "line table: unexpected end"};
  }
  return raw;
}

std::vector<RawException> read_sound_exceptions(const object::Code& code,
                                                std::vector<Fault>& faults) {
  TableReader reader(code);
  std::vector<RawException> entries;
  while (!reader.at_end()) {
    const auto entry = reader.next();
    if (!entry) {
      faults.push_back({reader.bad_entry().message, 0, {}});
      break;
    }
    entries.push_back(*entry);
  }
  return entries;
}

Result<std::vector<RawException>> read_exception_table(const object::Code& code) {
  TableReader reader(code);
  std::vector<RawException> entries;
  while (!reader.at_end()) {
    const auto entry = reader.next();
    if (!entry || entry->target >= code.bytecode.size()) return reader.bad_entry();
    entries.push_back(*entry);
  }
  return entries;
}

}  // namespace pellucid::bytecode
