// SPDX-License-Identifier: Apache-2.0
#include "archive/inflate.h"

#include <array>

namespace pellucid::archive {

namespace {

// Thrown for damaged data; never leaves this file.
struct Damaged {
  const char* why;
  ErrorCode code = ErrorCode::Malformed;
};

constexpr uint32_t kLongestCode = 15;
// Codes of up to so many bits are looked up at once.
constexpr uint32_t kLookedUp = 10;

class Bits {
 public:
  explicit Bits(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  // Returns the next bits, the first one lowest; zeros after the end.
  uint32_t peek(uint32_t count) {
    while (held_ < count && at_ < bytes_.size()) {
      buffer_ |= uint64_t{bytes_[at_++]} << held_;
      held_ += 8;
    }
    return static_cast<uint32_t>(buffer_) & ((uint32_t{1} << count) - 1);
  }

  // Takes bits that were peeked at.
  void skip(uint32_t count) {
    if (held_ < count) throw Damaged{"unexpected end of packed data"};
    buffer_ >>= count;
    held_ -= count;
  }

  // Returns the next `count` (at most 16) bits.
  uint32_t take(uint32_t count) {
    const uint32_t bits = peek(count);
    skip(count);
    return bits;
  }

  void skip_to_byte() {
    at_ -= held_ / 8;
    buffer_ = held_ = 0;
  }
  size_t at() const { return at_ - held_ / 8; }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  uint64_t buffer_ = 0;
  uint32_t held_ = 0;
};

// A canonical Huffman code: codes of a length are consecutive, shorter ones come first.
class Huffman {
 public:
  explicit Huffman(std::span<const uint8_t> lengths) {
    for (const uint8_t length : lengths) ++count_[length];
    count_[0] = 0;
    int32_t left = 1;
    for (size_t length = 1; length < count_.size(); ++length) {
      left = 2 * left - static_cast<int32_t>(count_[length]);
      if (left < 0) throw Damaged{"impossible code lengths"};
    }
    std::array<uint32_t, 16> next{};
    std::array<uint32_t, 16> code{};
    for (size_t length = 1; length + 1 < count_.size(); ++length) {
      next[length + 1] = next[length] + count_[length];
      code[length + 1] = (code[length] + count_[length]) << 1;
    }
    symbols_.resize(lengths.size());
    for (size_t symbol = 0; symbol < lengths.size(); ++symbol) {
      const uint8_t length = lengths[symbol];
      if (length == 0) continue;
      symbols_[next[length]++] = static_cast<uint16_t>(symbol);
      look_up(code[length]++, length, static_cast<uint16_t>(symbol));
    }
  }

  uint32_t take(Bits& bits) const {
    const uint32_t ahead = bits.peek(kLongestCode);
    const Entry found = table_[ahead & ((1u << kLookedUp) - 1)];
    if (found.length != 0) {
      bits.skip(found.length);
      return found.symbol;
    }
    uint32_t code = 0, first = 0, index = 0;
    for (uint32_t length = 1; length <= kLongestCode; ++length) {
      code |= (ahead >> (length - 1)) & 1;
      if (code - first < count_[length]) {
        bits.skip(length);
        return symbols_[index + code - first];
      }
      index += count_[length];
      first = (first + count_[length]) << 1;
      code <<= 1;
    }
    bits.skip(kLongestCode);  // which may be missing
    throw Damaged{"a code that means nothing"};
  }

 private:
  struct Entry {
    uint16_t symbol = 0;
    uint8_t length = 0;
  };

  void look_up(uint32_t code, uint32_t length, uint16_t symbol) {
    if (length > kLookedUp) return;
    uint32_t reversed = 0;
    for (uint32_t bit = 0; bit < length; ++bit)
      reversed |= ((code >> bit) & 1) << (length - 1 - bit);
    for (uint32_t at = reversed; at < table_.size(); at += 1u << length) {
      table_[at] = {symbol, static_cast<uint8_t>(length)};
    }
  }

  std::array<uint32_t, 16> count_{};
  std::vector<uint16_t> symbols_;
  std::array<Entry, 1u << kLookedUp> table_{};
};

constexpr std::array<uint16_t, 29> kLengthBase = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                                  15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                                  67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr std::array<uint8_t, 29> kLengthBits = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr std::array<uint16_t, 30> kDistanceBase = {
    1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
    193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr std::array<uint8_t, 30> kDistanceBits = {0, 0, 0,  0,  1,  1,  2,  2,  3,  3,
                                                   4, 4, 5,  5,  6,  6,  7,  7,  8,  8,
                                                   9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

class Inflater {
 public:
  Inflater(std::span<const uint8_t> packed, size_t size) : bits_(packed), size_(size) {}

  std::vector<uint8_t> run() {
    bool is_last = false;
    while (!is_last) {
      is_last = bits_.take(1) == 1;
      switch (bits_.take(2)) {
        case 0:
          stored();
          break;
        case 1:
          fixed();
          break;
        case 2:
          dynamic();
          break;
        default:
          throw Damaged{"a block of unknown type"};
      }
    }
    return std::move(out_);
  }

  std::vector<uint8_t> so_far() { return std::move(out_); }

  size_t at() const { return bits_.at(); }

 private:
  void put(uint8_t byte) {
    if (out_.size() == size_) {
      throw Damaged{"more bytes than the archive says, or than may be unpacked", ErrorCode::Limit};
    }
    out_.push_back(byte);
  }

  void stored() {
    bits_.skip_to_byte();
    const uint32_t length = bits_.take(16);
    if (bits_.take(16) != (length ^ 0xffff)) throw Damaged{"a length that is not confirmed"};
    for (uint32_t i = 0; i < length; ++i) put(static_cast<uint8_t>(bits_.take(8)));
  }

  void fixed() {
    std::array<uint8_t, 288> lengths{};
    for (size_t i = 0; i < lengths.size(); ++i)
      lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    std::array<uint8_t, 30> distances{};
    distances.fill(5);
    codes(Huffman(lengths), Huffman(distances));
  }

  void dynamic() {
    constexpr std::array<uint8_t, 19> kOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                11, 4,  12, 3, 13, 2, 14, 1, 15};
    const size_t literals = bits_.take(5) + 257;
    const size_t distances = bits_.take(5) + 1;
    const size_t count = bits_.take(4) + 4;
    if (literals > 286 || distances > 30) throw Damaged{"too many codes"};
    std::array<uint8_t, 19> meta{};
    for (size_t i = 0; i < count; ++i) meta[kOrder[i]] = static_cast<uint8_t>(bits_.take(3));
    const Huffman lengths_code(meta);
    std::vector<uint8_t> lengths;
    while (lengths.size() < literals + distances) {
      const uint32_t symbol = lengths_code.take(bits_);
      if (symbol < 16) {
        lengths.push_back(static_cast<uint8_t>(symbol));
        continue;
      }
      if (symbol == 16 && lengths.empty()) throw Damaged{"nothing to repeat"};
      const uint8_t repeated = symbol == 16 ? lengths.back() : uint8_t{0};
      const uint32_t times = symbol == 16   ? 3 + bits_.take(2)
                             : symbol == 17 ? 3 + bits_.take(3)
                                            : 11 + bits_.take(7);
      lengths.insert(lengths.end(), times, repeated);
    }
    if (lengths.size() > literals + distances) throw Damaged{"too many code lengths"};
    const std::span<const uint8_t> all(lengths);
    codes(Huffman(all.first(literals)), Huffman(all.subspan(literals)));
  }

  void codes(const Huffman& literal_code, const Huffman& distance_code) {
    for (;;) {
      uint32_t symbol = literal_code.take(bits_);
      if (symbol == 256) return;
      if (symbol < 256) {
        put(static_cast<uint8_t>(symbol));
        continue;
      }
      symbol -= 257;
      if (symbol >= kLengthBase.size()) throw Damaged{"a code that means nothing"};
      const uint32_t length = kLengthBase[symbol] + bits_.take(kLengthBits[symbol]);
      const uint32_t far = distance_code.take(bits_);
      if (far >= kDistanceBase.size()) throw Damaged{"a code that means nothing"};
      const size_t distance = kDistanceBase[far] + bits_.take(kDistanceBits[far]);
      if (distance > out_.size()) throw Damaged{"a copy of what is not there"};
      for (uint32_t i = 0; i < length; ++i) put(out_[out_.size() - distance]);
    }
  }

  Bits bits_;
  size_t size_;
  std::vector<uint8_t> out_;
};

}  // namespace

Result<std::vector<uint8_t>> inflate(std::span<const uint8_t> packed, size_t size) {
  PELLUCID_TRY(std::vector<uint8_t> bytes, inflate_most(packed, size));
  if (bytes.size() == size) return bytes;
  return Error{ErrorCode::Malformed, packed.size(), "fewer bytes than the archive says"};
}

Result<std::vector<uint8_t>> inflate_most(std::span<const uint8_t> packed, size_t limit,
                                          size_t* used) {
  Inflater inflater(packed, limit);
  try {
    std::vector<uint8_t> bytes = inflater.run();
    if (used != nullptr) *used = inflater.at();
    return bytes;
  } catch (const Damaged& damaged) {
    return Error{damaged.code, inflater.at(), damaged.why};
  }
}

std::vector<uint8_t> inflate_front(std::span<const uint8_t> packed, size_t count) {
  Inflater inflater(packed, count);
  try {
    return inflater.run();
  } catch (const Damaged&) {
    return inflater.so_far();
  }
}

uint32_t crc32(std::span<const uint8_t> bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t i = 0; i < made.size(); ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320u : 0);
      made[i] = value;
    }
    return made;
  }();
  uint32_t crc = ~uint32_t{0};
  for (const uint8_t byte : bytes) crc = (crc >> 8) ^ table[(crc ^ byte) & 0xff];
  return ~crc;
}

}  // namespace pellucid::archive
