// SPDX-License-Identifier: Apache-2.0
#include "bytecode/decode.h"

#include <algorithm>
#include <string>

#include "bytecode/op_facts.h"
#include "bytecode/protection.h"
#include "bytecode/reach.h"
#include "bytecode/read_raw.h"
#include "bytecode/traits.h"
#include "bytecode/translate.h"

namespace pellucid::bytecode {
namespace {

RawFacts raw_facts(const object::Code& code, const std::vector<RawInstr>& raw,
                   const std::vector<RawException>& exceptions, bool is_along_paths) {
  RawFacts facts;
  const bool jumps =
      std::any_of(raw.begin(), raw.end(), [](const RawInstr& instr) { return instr.target >= 0; });
  // (A path may go on at any instruction.)
  if (!jumps && exceptions.empty() && !is_along_paths) return facts;
  facts.targets.assign(raw.size(), false);
  facts.entered.assign(raw.size(), false);
  facts.at_unit.assign(code.bytecode.size() / 2, kNoRaw);
  for (size_t i = 0; i < raw.size(); ++i) {
    const size_t unit = raw[i].start / 2;
    if (unit < facts.at_unit.size()) facts.at_unit[unit] = static_cast<uint32_t>(i);
  }
  const auto mark = [&](int64_t offset, bool enters) {
    if (offset < 0 || offset % 2 != 0) return;
    const auto unit = static_cast<uint64_t>(offset) / 2;
    if (unit >= facts.at_unit.size() || facts.at_unit[unit] == kNoRaw) return;
    facts.targets[facts.at_unit[unit]] = true;
    if (enters) facts.entered[facts.at_unit[unit]] = true;
  };
  const TraitsTable& traits = traits_of(code.version);
  for (const RawInstr& instr : raw) {
    if (instr.target >= 0) mark(instr.target, traits[instr.opcode].form != Form::ForIter);
  }
  for (const RawException& entry : exceptions) mark(entry.target, true);
  return facts;
}

// Replaces indices of raw instructions by those of canonical ones. If code is read along its paths,
// only unreachable jumps can lead past the last one.
Result<bool> resolve_targets(Translation& translation, bool is_along_paths) {
  for (Instr& instr : translation.instrs) {
    if (!has_target(instr.op)) continue;
    instr.a = translation.first[instr.a];
    if (instr.a >= translation.instrs.size()) {
      if (is_along_paths) {
        instr.a = static_cast<uint32_t>(translation.instrs.size() - 1);
        continue;
      }
      return Error{
          ErrorCode::Malformed, instr.offset,
          "bytecode: jump past the last instruction at offset " + std::to_string(instr.offset)};
    }
  }
  return true;
}

// Decodes all bytes, one instruction after another.
Result<Stream> decode_all(const object::Module& module, object::CodeId id) {
  const object::Code& code = module[id];
  Stream stream;
  stream.code = id;
  PELLUCID_TRY(stream.raw, read_raw(code));
  std::vector<RawException> exceptions;
  if (code.version.minor >= 11) {
    PELLUCID_TRY(exceptions, read_exception_table(code));
  }
  const RawFacts facts = raw_facts(code, stream.raw, exceptions, false);
  PELLUCID_TRY(Translation translation, translate(module, id, stream.raw, facts));
  PELLUCID_TRY([[maybe_unused]] const bool resolved, resolve_targets(translation, false));
  PELLUCID_TRY([[maybe_unused]] const bool protects,
               protect(code, exceptions, translation, false, stream));
  stream.instrs = std::move(translation.instrs);
  return stream;
}

bool falls_through(Op op) {
  return op != Op::Jump && op != Op::ReturnValue && op != Op::Raise && op != Op::Reraise &&
         op != Op::Unsayable;
}

// Returns which instructions are reachable if Unsayable ends a path.
std::vector<bool> reached_in(const Stream& stream) {
  std::vector<bool> reached(stream.instrs.size(), false);
  std::vector<uint32_t> work{0};
  while (!work.empty()) {
    const uint32_t at = work.back();
    work.pop_back();
    if (at >= reached.size() || reached[at]) continue;
    reached[at] = true;
    const Instr& instr = stream.instrs[at];
    if (has_target(instr.op)) work.push_back(instr.a);
    if (falls_through(instr.op)) work.push_back(at + 1);
    auto entry =
        std::upper_bound(stream.exceptions.begin(), stream.exceptions.end(), at,
                         [](uint32_t index, const ExceptionEntry& e) { return index < e.begin; });
    if (entry != stream.exceptions.begin() && at < (--entry)->end) work.push_back(entry->target);
  }
  return reached;
}

// Drops the faults that only an earlier Unsayable led to.
void drop_unreached_faults(Stream& stream) {
  const std::vector<bool> reached = reached_in(stream);
  std::vector<Fault> faults;
  for (size_t i = 0; i < stream.instrs.size(); ++i) {
    Instr& instr = stream.instrs[i];
    if (instr.op != Op::Unsayable) continue;
    const Fault& fault = stream.faults[instr.b];
    instr.b = reached[i] ? static_cast<uint32_t>(faults.size()) : 0;
    if (reached[i]) {
      faults.push_back(fault);
    } else {
      instr.op = Op::Raise;  // without operands, unreachable
    }
  }
  for (const Fault& fault : stream.faults) {
    if (fault.instructions.empty()) faults.push_back(fault);
  }
  stream.faults = std::move(faults);
}

// Decodes the reachable code.
Result<Stream> decode_reached(const object::Module& module, object::CodeId id) {
  const object::Code& code = module[id];
  Stream stream;
  stream.code = id;
  Reach reach = read_reached(module, code);
  stream.raw = std::move(reach.raw);
  RawFacts facts = raw_facts(code, stream.raw, reach.exceptions, true);
  facts.steps = std::move(reach.steps);
  PELLUCID_TRY(Translation translation, translate(module, id, stream.raw, facts));
  PELLUCID_TRY([[maybe_unused]] const bool resolved, resolve_targets(translation, true));
  PELLUCID_TRY([[maybe_unused]] const bool protects,
               protect(code, reach.exceptions, translation, true, stream));
  stream.instrs = std::move(translation.instrs);
  stream.faults = std::move(translation.faults);
  stream.faults.insert(stream.faults.end(), reach.faults.begin(), reach.faults.end());
  drop_unreached_faults(stream);
  return stream;
}

}  // namespace

Result<Stream> decode(const object::Module& module, object::CodeId id) {
  const object::Code& code = module[id];
  if (!code.fault.empty()) {
    return Error{ErrorCode::Malformed, 0, "code object: " + code.fault};
  }
  Result<Stream> stream = decode_all(module, id);
  if (!stream.ok() && stream.error().code == ErrorCode::Limit) return stream;
  // If not all bytes can be read, unreachable ones are ignored.
  if (!stream.ok()) stream = decode_reached(module, id);
#ifdef PELLUCID_CHECKS
  if (stream.ok()) check(module, *stream);
#endif
  return stream;
}

bool give_up(const object::Module& module, Stream& stream, const Error& error) {
  if (error.code != ErrorCode::Malformed) return false;
  auto place =
      std::lower_bound(stream.instrs.begin(), stream.instrs.end(), error.offset,
                       [](const Instr& instr, uint64_t offset) { return instr.offset < offset; });
  if (place == stream.instrs.end() || place->offset != error.offset) return false;
  if (place->op == Op::Unsayable) return false;
  // The last instruction, after which control runs off the end, is kept.
  const bool runs_out =
      place->raw == stream.instrs.back().raw && error.message.find(kRunsOut) != std::string::npos;
  if (runs_out) place = stream.instrs.insert(stream.instrs.end(), stream.instrs.back());
  place->op = Op::Unsayable;
  place->a = 0;
  place->b = static_cast<uint32_t>(stream.faults.size());
  const std::string instructions =
      instructions_at(module[stream.code], place->offset, place->offset + 2);
  stream.faults.push_back({error.message, place->offset, instructions});
  drop_unreached_faults(stream);
  return true;
}

}  // namespace pellucid::bytecode
