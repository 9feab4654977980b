#include "bytecode/decode.h"

#include <algorithm>
#include <string>

#include "bytecode/read_raw.h"
#include "bytecode/translate.h"

namespace pellucid::bytecode {
namespace {

RawFacts facts_of(const object::Code& code, const std::vector<RawInstr>& raw,
                  const std::vector<RawException>& exceptions) {
  RawFacts facts;
  facts.at_unit.assign(code.bytecode.size() / 2, kNoRaw);
  facts.is_target.assign(raw.size(), false);
  facts.is_entered.assign(raw.size(), false);
  for (size_t i = 0; i < raw.size(); ++i) {
    facts.at_unit[raw[i].start / 2] = static_cast<uint32_t>(i);
  }
  const auto mark = [&](int64_t offset, bool enters) {
    if (offset < 0 || offset % 2 != 0) return;
    const auto unit = static_cast<uint64_t>(offset) / 2;
    if (unit >= facts.at_unit.size() || facts.at_unit[unit] == kNoRaw) return;
    facts.is_target[facts.at_unit[unit]] = true;
    if (enters) facts.is_entered[facts.at_unit[unit]] = true;
  };
  for (const RawInstr& instr : raw) {
    mark(instr.target, raw_name(code.version, instr.opcode) != "FOR_ITER");
  }
  for (const RawException& entry : exceptions) mark(entry.target, true);
  return facts;
}

// From indices of raw instructions to indices of canonical ones.
Result<bool> resolve_targets(Translation& translation) {
  for (Instr& instr : translation.instrs) {
    if (operand_of(instr.op) != Operand::Target) continue;
    instr.a = translation.first[instr.a];
    if (instr.a >= translation.instrs.size()) {
      return Error{
          ErrorCode::Malformed, instr.offset,
          "bytecode: jump past the last instruction at offset " + std::to_string(instr.offset)};
    }
  }
  return true;
}

class ExceptionTable {
 public:
  ExceptionTable(const std::vector<RawInstr>& raw, const Translation& translation)
      : raw_(raw), translation_(translation) {}

  Result<std::vector<ExceptionEntry>> run(const std::vector<RawException>& entries) const {
    std::vector<ExceptionEntry> out;
    for (const RawException& entry : entries) {
      const ExceptionEntry canonical{index_of(entry.begin), index_of(entry.end),
                                     index_of(entry.target), entry.depth, entry.lasti};
      // What it covered may have been dropped.
      if (canonical.begin >= canonical.end) continue;
      if (canonical.target >= translation_.instrs.size()) {
        return Error{ErrorCode::Malformed, entry.target,
                     "exception table: no handler at offset " + std::to_string(entry.target)};
      }
      out.push_back(canonical);
    }
    return out;
  }

 private:
  // The first canonical instruction at or behind a byte offset.
  uint32_t index_of(uint32_t offset) const {
    const auto it =
        std::lower_bound(raw_.begin(), raw_.end(), offset,
                         [](const RawInstr& instr, uint32_t o) { return instr.start < o; });
    return translation_.first[static_cast<size_t>(it - raw_.begin())];
  }

  const std::vector<RawInstr>& raw_;
  const Translation& translation_;
};

}  // namespace

Result<Stream> decode(const object::Module& module, object::CodeId id) {
  const object::Code& code = module[id];
  Stream stream;
  if (!code.fault.empty()) {
    return Error{ErrorCode::Malformed, 0, "code object: " + code.fault};
  }
  stream.code = id;
  PELLUCID_TRY(stream.raw, read_raw(code));
  std::vector<RawException> exceptions;
  if (code.version.minor >= 11) {
    PELLUCID_TRY(exceptions, read_exception_table(code));
  }
  const RawFacts facts = facts_of(code, stream.raw, exceptions);
  PELLUCID_TRY(Translation translation, translate(module, id, stream.raw, facts));
  PELLUCID_TRY([[maybe_unused]] const bool resolved, resolve_targets(translation));
  PELLUCID_TRY(stream.exceptions, ExceptionTable(stream.raw, translation).run(exceptions));
  stream.instrs = std::move(translation.instrs);
  check(module, stream);
  return stream;
}

}  // namespace pellucid::bytecode
