// SPDX-License-Identifier: Apache-2.0
#include "driver/input.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <tuple>
#include <utility>

#include "bytecode/decode.h"
#include "bytecode/fit.h"
#include "bytecode/holder.h"
#include "driver/file_kind.h"
#include "flow/build.h"

namespace pellucid::driver {
namespace {

using object::Module;
using object::Version;

constexpr size_t kStarts[] = {object::kHeaderSize, 12, 8, 4, 0};
// If more than one instruction in so many is out of order, a header is disbelieved, or a guess
// refused.
constexpr uint64_t kFewFaults = 20;
constexpr uint64_t kSomeFaults = 4;

std::string dotted(Version version) {
  return std::to_string(version.major) + '.' + std::to_string(version.minor);
}

std::vector<Version> every_version() {
  std::vector<Version> versions;
  for (Version v = object::kOldestVersion; v <= object::kNewestVersion; ++v.minor) {
    versions.push_back(v);
  }
  return versions;
}

// The bytes, read as one version from one start.
struct Reading {
  size_t start = 0;
  size_t end = 0;
  Module module;
  bytecode::Fit fit;

  Version version() const { return module.version; }
  bool is_clean() const { return fit.faults == 0; }
  // The lower the better: impossible code, unlikely code, disagreement with the header and file
  // names.
  bool is_other = false;
  auto rank() const {
    return std::tuple(fit.faults, fit.oddities, is_other, fit.is_missed, !fit.is_named);
  }
};

// Counts the code objects whose stack underflows, differs between edges, or is too small.
void look_closer(Reading& reading) {
  const Module& module = reading.module;
  for (size_t i = 0; i < module.codes.size(); ++i) {
    const Result<bytecode::Stream> stream = bytecode::decode(module, object::CodeId(i));
    const bool is_sound = stream.ok() && stream->faults.empty();
    if (!is_sound || !flow::build(module, *stream).ok()) ++reading.fit.faults;
  }
}

class Search {
 public:
  Search(std::span<const uint8_t> bytes, std::optional<Version> wanted)
      : bytes_(bytes), wanted_(wanted), header_(object::header_of(bytes)) {}

  Result<Input> run() {
    if (header_.has_mark && object::is_of_pypy(header_.magic) && !wanted_) {
      return Error{
          ErrorCode::Unsupported, 0,
          "pyc: " + object::words_of_magic(header_.magic) +
              ", whose bytecode is not CPython's (from byte 0x0 on). To read it as that of "
              "CPython 3.N all the same, pass --python-version 3.N"};
    }
    const Version* const said = version_said();
    if (said != nullptr && bytes_.size() > object::kHeaderSize) {
      if (Result<Reading> read = reading(object::kHeaderSize, *said); read.ok()) {
        claimed_ = std::move(*read);
        if (claimed_->is_clean() || wanted_) return finished(std::move(*claimed_));
      } else {
        error_ = read.error();
      }
    }
    find_all();
    return chosen();
  }

 private:
  // Returns the version in the header, or the user's choice.
  const Version* version_said() {
    if (!header_.has_mark) return nullptr;
    said_ = wanted_ ? wanted_ : object::version_of_magic(header_.magic);
    return said_ ? &*said_ : nullptr;
  }

  Result<Reading> reading(size_t start, Version version) const {
    Reading out;
    out.start = start;
    size_t size = 0;
    PELLUCID_TRY(out.module, object::read_marshal(bytes_.subspan(start), version, start, &size));
    out.end = start + size;
    out.fit = bytecode::fit_of(out.module);
    out.is_other = said_ != version;
    return out;
  }

  bool begins_code(size_t start) const {
    return start < bytes_.size() && (bytes_[start] & 0x7f) == 'c';
  }

  // Finds the best reading of each version.
  void find_all() {
    const std::vector<Version> versions =
        wanted_ ? std::vector<Version>{*wanted_} : every_version();
    for (const size_t start : kStarts) {
      if (!begins_code(start)) continue;
      for (const Version version : versions) {
        Result<Reading> read = reading(start, version);
        if (read.ok()) {
          add(std::move(*read));
        } else if (furthest_ < read.error().offset) {
          furthest_ = read.error().offset;
          if (!error_) guess_error_ = read.error();
        }
      }
    }
    for (Reading& reading : found_) {
      if (reading.is_clean()) look_closer(reading);
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Reading& a, const Reading& b) { return a.rank() < b.rank(); });
  }

  void add(Reading reading) {
    for (Reading& other : found_) {
      if (other.version() != reading.version()) continue;
      if (reading.rank() < other.rank()) other = std::move(reading);
      return;
    }
    found_.push_back(std::move(reading));
  }

  Result<Input> chosen() {
    if (claimed_) {
      // Junk that never runs is no reason to doubt a header.
      const bool is_poor = claimed_->fit.faults * kFewFaults > claimed_->fit.instructions;
      if (!is_poor || found_.empty() || !found_[0].is_clean())
        return finished(std::move(*claimed_));
    }
    if (found_.empty()) return refusal();
    Reading& best = found_[0];
    if (!best.is_clean() && !wanted_) {
      if (best.fit.faults * kSomeFaults > best.fit.instructions) return refusal();
      doubt_ = "it fits CPython " + dotted(best.version()) + " best, and not wholly";
    }
    if (!wanted_ && doubt_.empty()) doubt_of_others(best);
    return finished(std::move(best));
  }

  // Doubts the version if another one fits too and runs another program, as far as can be told.
  void doubt_of_others(const Reading& best) {
    for (const Reading& other : found_) {
      if (&other == &best || !other.is_clean()) continue;
      if (bytecode::same_program(best.module, other.module)) continue;
      doubt_ = "the code fits CPython " + dotted(best.version()) + " and " +
               dotted(other.version()) + " alike";
      return;
    }
    // An unsupported version in between may have given the same bytes another meaning.
    const auto origin = object::origin_of_magic(header_.magic);
    if (header_.has_mark && origin && !object::version_of_magic(header_.magic)) {
      doubt_ = object::words_of_magic(header_.magic) + ", whose format is another";
    }
  }

  // Returns what is wrong with the bytes: the first error that a reader would want to know.
  Error refusal() const {
    if (error_) return *error_;
    const bool is_marked = header_.has_mark && bytes_.size() >= object::kHeaderSize;
    const bool is_known = !file_kind(bytes_).name.empty();
    if (!is_known && guess_error_ && !is_marked) return *guess_error_;
    const bool is_short = bytes_.size() < object::kHeaderSize;
    if (is_known || (!is_marked && !is_short)) {
      return Error{ErrorCode::Malformed, 0, words_of_file(bytes_)};
    }
    const Result<Module> strict = object::read_pyc(bytes_);
    if (!strict.ok()) return strict.error();
    return Error{ErrorCode::Malformed, 0, "pyc: no marshalled code found"};
  }

  Result<Input> finished(Reading reading) {
    Input out;
    out.header = header_;
    out.start = reading.start;
    out.end = reading.end;
    out.size = bytes_.size();
    const auto rest = bytes_.subspan(std::min(out.end, out.size));
    out.rest.assign(rest.begin(), rest.begin() + std::min<ptrdiff_t>(std::ssize(rest), kShownRest));
    tell_of_header(reading, out.notes);
    out.doubt = std::move(doubt_);
    out.is_straight = reading.fit.is_straight;
    if (out.is_straight) out.uses_all = std::move(reading.fit.uses_all);
    out.module = std::move(reading.module);
    out.subject = bytecode::hold(out.module);
    if (!out.subject.empty()) {
      out.notes.push_back("the code is that of " + out.subject +
                          ", without what was around it (defaults, decorators, bases)");
      out.is_straight = false;
      out.uses_all.clear();
    }
    return out;
  }

  void tell_of_header(const Reading& reading, std::vector<std::string>& notes) const {
    const std::string version = "CPython " + dotted(reading.version());
    const std::string how = wanted_ ? ", as asked for" : others_than(reading.version());
    if (reading.start == 0) {
      notes.push_back("no header; read as " + version + how);
      return;
    }
    const auto front = bytes_.first(reading.start);
    const bool is_zero = std::all_of(front.begin(), front.end(), [](uint8_t b) { return b == 0; });
    if (is_zero || !header_.has_mark) {
      notes.push_back((is_zero ? "a header of zeros (" : "a header that is none (") +
                      std::to_string(reading.start) + " bytes); read as " + version + how);
      return;
    }
    if (reading.start < object::kHeaderSize) {
      notes.push_back("a header of " + std::to_string(reading.start) + " bytes instead of 16");
    }
    const auto said = object::version_of_magic(header_.magic);
    if (said != reading.version()) {
      notes.push_back("the header has the " + object::words_of_magic(header_.magic) + "; read as " +
                      version + how);
    } else if (!object::is_final(header_.magic)) {
      notes.push_back(object::words_of_magic(header_.magic) + ", whose format is that of " +
                      version);
    }
    if (header_.flags & ~object::kKnownFlags && reading.start == object::kHeaderSize) {
      notes.push_back("the header has flags that CPython refuses");
    }
  }

  // Returns a remark on the other versions that fit.
  std::string others_than(Version version) const {
    std::string others;
    for (const Reading& other : found_) {
      if (other.version() == version || !other.is_clean()) continue;
      others += (others.empty() ? "" : ", ") + dotted(other.version());
    }
    if (others.empty()) return ", the version that fits";
    return ", though " + others + " would fit as well";
  }

  std::span<const uint8_t> bytes_;
  std::optional<Version> wanted_;
  std::optional<Version> said_;
  object::Header header_;
  std::optional<Reading> claimed_;  // read as the version in the header
  std::vector<Reading> found_;      // at most one a version, the best first
  std::optional<Error> error_;      // why it could not be read so
  std::optional<Error> guess_error_;
  uint64_t furthest_ = 0;
  std::string doubt_;
};

using Marshalled = std::span<const std::span<const uint8_t>>;

// Returns the number of oddities of code objects that one version reads; nothing if it cannot have
// written one of them.
std::optional<uint64_t> oddities_of_all(Marshalled codes, Version version) {
  uint64_t oddities = 0;
  for (const std::span<const uint8_t> code : codes) {
    Reading reading;
    Result<Module> module = object::read_marshal(code, version);
    if (!module.ok()) return std::nullopt;
    reading.module = std::move(*module);
    reading.fit = bytecode::fit_of(reading.module);
    if (reading.is_clean()) look_closer(reading);
    if (!reading.is_clean()) return std::nullopt;
    oddities += reading.fit.oddities;
  }
  return oddities;
}

bool are_same_programs(Marshalled codes, Version a, Version b) {
  return std::ranges::all_of(codes, [&](std::span<const uint8_t> code) {
    const Result<Module> left = object::read_marshal(code, a);
    const Result<Module> right = object::read_marshal(code, b);
    return left.ok() && right.ok() && bytecode::same_program(*left, *right);
  });
}

}  // namespace

std::optional<Version> version_of_all(Marshalled codes) {
  std::vector<std::pair<uint64_t, Version>> fitting;
  for (const Version version : every_version()) {
    if (const auto oddities = oddities_of_all(codes, version)) {
      fitting.emplace_back(*oddities, version);
    }
  }
  if (fitting.empty()) return std::nullopt;
  const Version best = std::ranges::min_element(fitting)->second;
  const bool is_certain = std::ranges::all_of(fitting, [&](const auto& other) {
    return other.second == best || are_same_programs(codes, best, other.second);
  });
  return is_certain ? std::optional(best) : std::nullopt;
}

Result<Input> read_input(std::span<const uint8_t> bytes, std::optional<Version> version) {
  if (bytes.empty()) return object::read_pyc(bytes).error();
  return Search(bytes, version).run();
}

std::optional<Version> version_named(std::string_view text) {
  Version version;
  if (!text.starts_with("3.")) return std::nullopt;
  const auto read = std::from_chars(text.data() + 2, text.data() + text.size(), version.minor);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return object::is_supported(version) ? std::optional(version) : std::nullopt;
}

}  // namespace pellucid::driver
