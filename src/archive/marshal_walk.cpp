// SPDX-License-Identifier: Apache-2.0
#include "archive/marshal_walk.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace pellucid::archive {

namespace {

constexpr int kDeepestValue = 2000;  // as in CPython
constexpr uint8_t kIsNumbered = 0x80;
constexpr size_t kMostCopied = size_t{64} << 20;

// What follows the type of an object.
struct Layout {
  size_t plain = 0;      // bytes without objects
  size_t items = 0;      // objects after them
  bool is_dict = false;  // pairs of objects, up to the type '0'
  bool is_code = false;
};

// Reads what objects consist of; `at` is after their type.
class Layouts {
 public:
  explicit Layouts(Span bytes) : bytes_(bytes) {}

  uint32_t number(size_t at) const {
    uint32_t value = 0;
    for (size_t i = 4; i-- > 0;)
      value = value << 8 | (at + i < bytes_.size() ? bytes_[at + i] : 0u);
    return value;
  }

  // Returns nothing for a type that does not exist, or more than there are bytes.
  std::optional<Layout> of(char type, size_t at) const {
    if (at > bytes_.size()) return std::nullopt;
    const size_t left = bytes_.size() - at;
    const auto fits = [&](Layout layout) {
      const bool is_there = layout.plain <= left && layout.items <= left - layout.plain;
      return is_there ? std::optional(layout) : std::nullopt;
    };
    const size_t byte = left > 0 ? bytes_[at] : 0;
    switch (type) {
      case 'N':
      case 'F':
      case 'T':
      case 'S':
      case '.':
        return Layout{};
      case 'i':
      case 'r':
        return fits({4});
      case 'I':
      case 'g':
        return fits({8});
      case 'y':
        return fits({16});
      case 'f':
      case 'z':
      case 'Z':
        return fits({1 + byte});
      case 'x': {
        const size_t second = at + 1 + byte;
        const size_t size = second < bytes_.size() ? bytes_[second] : 0;
        return fits({2 + byte + size});
      }
      case 'l': {
        const auto digits = static_cast<int32_t>(number(at));
        const uint64_t size = digits < 0 ? -int64_t{digits} : int64_t{digits};
        return fits({4 + static_cast<size_t>(2 * size)});
      }
      case 's':
      case 't':
      case 'u':
      case 'a':
      case 'A':
        return fits({size_t{4} + number(at)});
      case '(':
      case '[':
      case '<':
      case '>':
        return fits({4, number(at)});
      case ')':
        return fits({1, byte});
      case ':':
        return Layout{0, 3};
      case '{':
        return Layout{0, 0, true};
      case 'c':
        return Layout{0, 0, false, true};
      default:
        return std::nullopt;
    }
  }

 private:
  Span bytes_;
};

// The fields of a code object, in order: a number, or an object.
constexpr std::string_view kOldFields = "nnnnnnoooooooono";
constexpr std::string_view kNewFields = "nnnnnoooooooonoo";

class Walker {
 public:
  Walker(Span bytes, Fields fields, uint64_t& steps)
      : bytes_(bytes), layouts_(bytes), fields_(fields), steps_(steps) {}

  std::optional<Walk> run(size_t start) {
    at_ = start;
    if (!object(0)) return std::nullopt;
    walk_.start = start;
    walk_.end = at_;
    walk_.fields = fields_;
    return std::move(walk_);
  }

 private:
  bool object(int depth) {
    if (at_ >= bytes_.size() || depth > kDeepestValue || steps_ == 0) return false;
    --steps_;
    const size_t start = at_;
    const uint8_t type = bytes_[at_++];
    if ((type & kIsNumbered) != 0) walk_.numbered.push_back(start);
    const auto layout = layouts_.of(static_cast<char>(type & ~kIsNumbered), at_);
    if (!layout) return false;
    if (type == 'r' && layouts_.number(at_) >= walk_.numbered.size()) return false;
    at_ += layout->plain;
    for (size_t i = 0; i < layout->items; ++i) {
      if (!object(depth + 1)) return false;
    }
    if (layout->is_dict) return pairs(depth);
    return !layout->is_code || code(start, depth);
  }

  bool pairs(int depth) {
    while (at_ < bytes_.size() && bytes_[at_] != '0') {
      if (!object(depth + 1) || !object(depth + 1)) return false;
    }
    return at_++ < bytes_.size();
  }

  bool code(size_t start, int depth) {
    ++inside_;
    for (const char field : fields_ == Fields::Old ? kOldFields : kNewFields) {
      if (field == 'n') {
        if (bytes_.size() - at_ < 4) return false;
        at_ += 4;
      } else if (!object(depth + 1)) {
        return false;
      }
    }
    if (--inside_ == 0) walk_.codes.push_back({start, at_});
    return true;
  }

  Span bytes_;
  Layouts layouts_;
  Fields fields_;
  uint64_t& steps_;
  size_t at_ = 0;
  size_t inside_ = 0;
  Walk walk_;
};

// Copies one object. Numbers are given anew; what is referred to and not copied yet is copied
// there.
class Copier {
 public:
  Copier(Span bytes, const Walk& value) : bytes_(bytes), layouts_(bytes), value_(value) {}

  std::optional<Bytes> run(size_t start) {
    if (!object(start, 0)) return std::nullopt;
    return std::move(out_);
  }

 private:
  // Returns where the object ends.
  std::optional<size_t> object(size_t start, int depth) {
    if (start >= bytes_.size() || depth > kDeepestValue || out_.size() > kMostCopied) {
      return std::nullopt;
    }
    const uint8_t type = bytes_[start];
    size_t at = start + 1;
    if (type == 'r') return reference(at, depth) ? std::optional(at + 4) : std::nullopt;
    if ((type & kIsNumbered) != 0) {
      const auto own = std::lower_bound(value_.numbered.begin(), value_.numbered.end(), start);
      numbers_[static_cast<size_t>(own - value_.numbered.begin())] = numbers_.size();
    }
    const auto layout = layouts_.of(static_cast<char>(type & ~kIsNumbered), at);
    if (!layout) return std::nullopt;
    out_.push_back(type);
    at = plain(at, layout->plain);
    if (layout->is_dict) return pairs(at, depth);
    if (layout->is_code) return code(at, depth);
    for (size_t i = 0; i < layout->items; ++i) {
      const auto end = object(at, depth + 1);
      if (!end) return std::nullopt;
      at = *end;
    }
    return at;
  }

  size_t plain(size_t at, size_t size) {
    const Span part = bytes_.subspan(at, size);
    out_.insert(out_.end(), part.begin(), part.end());
    return at + size;
  }

  bool reference(size_t at, int depth) {
    const size_t number = layouts_.number(at);
    const auto known = numbers_.find(number);
    if (known == numbers_.end()) {
      return number < value_.numbered.size() && object(value_.numbered[number], depth + 1);
    }
    out_.push_back('r');
    for (int i = 0; i < 4; ++i) out_.push_back(static_cast<uint8_t>(known->second >> (8 * i)));
    return true;
  }

  std::optional<size_t> pairs(size_t at, int depth) {
    while (bytes_[at] != '0') {
      const auto end = object(at, depth + 1);
      if (!end) return std::nullopt;
      at = *end;
    }
    return plain(at, 1);
  }

  std::optional<size_t> code(size_t at, int depth) {
    for (const char field : value_.fields == Fields::Old ? kOldFields : kNewFields) {
      const auto end = field == 'n' ? std::optional(plain(at, 4)) : object(at, depth + 1);
      if (!end) return std::nullopt;
      at = *end;
    }
    return at;
  }

  Span bytes_;
  Layouts layouts_;
  const Walk& value_;
  std::unordered_map<size_t, size_t> numbers_;
  Bytes out_;
};

}  // namespace

std::optional<Walk> walk(Span bytes, size_t start, Fields fields, uint64_t& steps) {
  return Walker(bytes, fields, steps).run(start);
}

std::optional<Bytes> code_alone(Span bytes, const Walk& value, const Walk::Code& code) {
  return Copier(bytes, value).run(code.start);
}

}  // namespace pellucid::archive
