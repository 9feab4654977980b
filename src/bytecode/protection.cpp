// SPDX-License-Identifier: Apache-2.0
#include "bytecode/protection.h"

#include <algorithm>
#include <string>

#include "bytecode/op_facts.h"
#include "bytecode/traits.h"

namespace pellucid::bytecode {
namespace {

constexpr uint32_t kNoEntry = 0xffffffffu;

class Protection {
 public:
  Protection(const object::Code& code, const std::vector<RawException>& entries,
             const Translation& translation, bool is_along_paths, Stream& stream)
      : traits_(traits_of(code.version)),
        // Before, the exception comes from the place before the target.
        is_at_jump_(code.version >= object::Version{3, 13}),
        entries_(entries),
        translation_(translation),
        is_along_paths_(is_along_paths),
        stream_(stream),
        of_raw_(stream.raw.size(), kNoEntry),
        of_instr_(translation.instrs.size(), kNoEntry) {}

  Result<bool> run() {
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      const uint32_t begin = raw_at(entries_[i].begin);
      const uint32_t end = raw_at(entries_[i].end);
      if (begin < end) std::fill(of_raw_.begin() + begin, of_raw_.begin() + end, i);
    }
    for (size_t i = 0; i < of_instr_.size(); ++i)
      of_instr_[i] = of_raw_[translation_.instrs[i].raw];
    fold();
    find_interrupts();
    return write();
  }

 private:
  // Returns the first raw instruction at or after a byte offset.
  uint32_t raw_at(uint32_t offset) const {
    const auto it =
        std::lower_bound(stream_.raw.begin(), stream_.raw.end(), offset,
                         [](const RawInstr& instr, uint32_t o) { return instr.start < o; });
    return static_cast<uint32_t>(it - stream_.raw.begin());
  }

  // (A branch on the result of TO_BOOL cannot raise.)
  bool raises(uint32_t raw) const {
    const Meaning* meaning = traits_[stream_.raw[raw].opcode].meaning;
    return meaning != nullptr && facts_of(meaning->op).raises && !has_target(meaning->op);
  }
  bool is_silent(uint32_t raw) const {
    return translation_.first[raw] == translation_.first[raw + 1];
  }
  bool has_same_handler(uint32_t a, uint32_t b) const {
    if (a == b || a == kNoEntry || b == kNoEntry) return a == b;
    const RawException& x = entries_[a];
    const RawException& y = entries_[b];
    return x.target == y.target && x.depth == y.depth && x.lasti == y.lasti;
  }
  void part(uint32_t raw) {
    const uint32_t offset = stream_.raw[raw].offset;
    stream_.parted = std::min(stream_.parted.value_or(offset), offset);
  }

  // Gives each instruction the one handler of what it stands for.
  void fold() {
    uint32_t raw = 0;
    for (const Fold& fold : translation_.folds) {
      for (; raw < fold.raw; ++raw) stay_bare(raw);
      const uint32_t end = fold.raw + fold.count;
      uint32_t first = end;  // that can raise
      for (; raw < end; ++raw) {
        if (!raises(raw)) continue;
        first = std::min(first, raw);
        if (!has_same_handler(of_raw_[first], of_raw_[raw])) part(raw);
      }
      if (first < end) of_instr_[fold.instr] = of_raw_[first];
      const Op op = translation_.instrs[fold.instr].op;
      if (op == Op::BranchTrue || op == Op::BranchFalse) stream_.truth_tests.push_back(fold.instr);
    }
    for (; raw < of_raw_.size(); ++raw) stay_bare(raw);
  }

  // Notes a handler of a raw instruction that nothing stands for.
  void stay_bare(uint32_t raw) {
    if (of_raw_[raw] != kNoEntry && is_silent(raw) && raises(raw)) part(raw);
  }

  void find_interrupts() {
    for (uint32_t i = 0; i < of_instr_.size(); ++i) {
      const Instr& jump = translation_.instrs[i];
      if (!has_target(jump.op) || jump.a > i) continue;
      const uint32_t target = raw_at(static_cast<uint32_t>(stream_.raw[jump.raw].target));
      const uint32_t raw = is_at_jump_ ? jump.raw : target - 1;
      if (raw >= of_raw_.size() || of_raw_[raw] == kNoEntry) continue;
      const RawException& entry = entries_[of_raw_[raw]];
      const uint32_t handler = translation_.first[raw_at(entry.target)];
      stream_.interrupts.push_back({i, i + 1, handler, entry.depth, entry.lasti});
    }
  }

  Result<bool> write() {
    const auto size = static_cast<uint32_t>(of_instr_.size());
    for (uint32_t begin = 0, end = 0; begin < size; begin = end) {
      while (end < size && of_instr_[end] == of_instr_[begin]) ++end;
      if (of_instr_[begin] == kNoEntry) continue;
      const RawException& entry = entries_[of_instr_[begin]];
      const uint32_t target = translation_.first[raw_at(entry.target)];
      if (target < size) {
        stream_.exceptions.push_back({begin, end, target, entry.depth, entry.lasti});
      } else if (!is_along_paths_) {
        return Error{ErrorCode::Malformed, entry.target,
                     "exception table: no handler at offset " + std::to_string(entry.target)};
      }
    }
    return true;
  }

  const TraitsTable& traits_;
  const bool is_at_jump_;
  const std::vector<RawException>& entries_;
  const Translation& translation_;
  const bool is_along_paths_;
  Stream& stream_;
  std::vector<uint32_t> of_raw_;    // of each raw instruction: its entry
  std::vector<uint32_t> of_instr_;  // of each canonical one
};

}  // namespace

Result<bool> protect(const object::Code& code, const std::vector<RawException>& entries,
                     const Translation& translation, bool is_along_paths, Stream& stream) {
  if (entries.empty()) return true;
  return Protection(code, entries, translation, is_along_paths, stream).run();
}

}  // namespace pellucid::bytecode
