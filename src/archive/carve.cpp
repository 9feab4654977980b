// SPDX-License-Identifier: Apache-2.0
#include "archive/carve.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "archive/kinds.h"
#include "archive/marshal_walk.h"
#include "pellucid/pellucid.h"
#include "pickle/text.h"

namespace pellucid::archive {

namespace {

constexpr uint64_t kStepsPerByte = 8;
constexpr size_t kPycHeaderSize = 16;
constexpr uint32_t kMostArguments = 0xffff;
constexpr size_t kMostCarved = 200'000;

class Carver {
 public:
  explicit Carver(Span bytes) : bytes_(bytes), steps_(kStepsPerByte * bytes.size()) {}

  AllCarved run() {
    size_t at = 0;
    while (at < bytes_.size() && steps_ > 0 && found_.size() < kMostCarved) {
      const size_t end = may_begin(at) ? value_at(at) : at;
      at = std::max(at + 1, end);
    }
    return {std::move(found_), at};
  }

 private:
  uint32_t number(size_t at) const {
    uint32_t value = 0;
    for (size_t i = 4; i-- > 0;)
      value = value << 8 | (at + i < bytes_.size() ? bytes_[at + i] : ~0u);
    return value;
  }

  bool is_string(size_t at) const {
    return at < bytes_.size() && ((bytes_[at] & 0x7f) == 's' || bytes_[at] == 'r');
  }

  // Returns true if a code object, or a list, tuple or dict may begin there.
  bool may_begin(size_t at) const {
    switch (bytes_[at] & 0x7f) {
      case 'c':
        // Its bytecode follows five or six numbers.
        return number(at + 1) <= kMostArguments && number(at + 5) <= kMostArguments &&
               (is_string(at + 21) || is_string(at + 25));
      case '(':
      case '[': {
        const uint32_t count = number(at + 1);
        return count > 0 && count < bytes_.size() - at;
      }
      case ')':
      case '{':
        return true;
      default:
        return false;
    }
  }

  // Adds the code objects of the value that begins there. Returns where it ends, or `at`.
  size_t value_at(size_t at) {
    for (const Fields fields : {Fields::New, Fields::Old}) {
      const std::optional<Walk> value = walk(bytes_, at, fields, steps_);
      if (!value || value->codes.empty()) continue;
      std::vector<Carved> codes;
      for (const Walk::Code& code : value->codes) {
        if (auto one = carved(*value, code)) codes.push_back(std::move(*one));
      }
      if (codes.size() != value->codes.size()) continue;
      std::move(codes.begin(), codes.end(), std::back_inserter(found_));
      return value->end;
    }
    return at;
  }

  std::optional<Carved> carved(const Walk& value, const Walk::Code& code) {
    std::optional<Bytes> own = code_alone(bytes_, value, code);
    if (code.start == value.start) {
      if (!own || !read_pyc(*own).ok()) return std::nullopt;
    } else {
      const std::optional<Walk> single = walk(bytes_, code.start, value.fields, steps_);
      std::optional<Bytes> other;
      if (single) other = code_alone(bytes_, *single, single->codes[0]);
      const int rank = own ? rank_of(*own) : 0;
      const int other_rank = other ? rank_of(*other) : 0;
      if (rank == 0 && other_rank == 0) return std::nullopt;
      // Two bytes that precede a code object by chance are a tuple of it.
      const bool may_be_chance = value.codes.size() == 1 && code.start == value.start + 2;
      if (other_rank > rank || (other_rank == rank && may_be_chance)) own = std::move(other);
    }
    Carved made{code.start, code.end, std::move(*own)};
    if (code.start >= kPycHeaderSize) {
      const Span header = bytes_.subspan(code.start - kPycHeaderSize, kPycHeaderSize);
      if (has_magic(header)) {
        made.start -= kPycHeaderSize;
        made.bytes.insert(made.bytes.begin(), header.begin(), header.end());
      }
    }
    return made;
  }

  static bool has_magic(Span header) {
    for (uint8_t minor = 8; minor <= 15; ++minor) {
      const Bytes known = pyc_header({3, minor});
      if (known.size() >= 4 && std::equal(known.begin(), known.begin() + 4, header.begin())) {
        return true;
      }
    }
    return false;
  }

  // Returns 0 if it is no code that can be read, and more the more code objects have the name of a
  // file: if what they refer to is misnumbered, that is another text.
  static int rank_of(const Bytes& bytes) {
    const Result<Program> program = read_pyc(bytes);
    if (!program.ok()) return 0;
    const Result<Inspection> inside = inspect(*program);
    if (!inside.ok()) return 1;
    int rank = 1;
    for (const CodeReport& code : inside->codes) {
      const std::string& file = code.filename;
      rank += file.ends_with(".py") || (file.starts_with('<') && file.ends_with('>')) ? 1 : 0;
    }
    return rank;
  }

  Span bytes_;
  uint64_t steps_;
  std::vector<Carved> found_;
};

}  // namespace

AllCarved carved_in(Span bytes) { return Carver(bytes).run(); }

std::vector<Member> carve(const Data& data) {
  AllCarved all = carved_in(data.bytes);
  std::vector<Member> members;
  for (Carved& code : all.codes) {
    const std::string start = pickle::hex_text(code.start);
    const std::string size = std::to_string(code.end - code.start);
    const auto bytes = std::make_shared<const Bytes>(std::move(code.bytes));
    Member member{start, start + ".pyc", [bytes]() -> Result<Bytes> { return *bytes; }};
    member.about = {"at byte " + start + ", " + size + " bytes"};
    members.push_back(std::move(member));
  }
  if (all.searched < data.bytes.size()) {
    const std::string name = "from " + pickle::hex_text(all.searched) + " on";
    const Error error{ErrorCode::Limit, all.searched, "not searched: it takes too long"};
    members.push_back({name, name, [error]() -> Result<Bytes> { return error; }});
  }
  return members;
}

}  // namespace pellucid::archive
