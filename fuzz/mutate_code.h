// SPDX-License-Identifier: Apache-2.0
// A structure-aware mutator for `.pyc` files: it changes instructions, their arguments, tables and
// counts in the marshalled code objects of an input, and keeps every length correct, so that the
// result is still read as code. Some changes, and all of other inputs, are libFuzzer's own.
//
// To be included by one file of a target: it defines LLVMFuzzerCustomMutator for libFuzzer.
#pragma once

#if defined(__clang__)

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include "bytecode/raw_table.h"
#include "object/pyc.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace pellucid::fuzz {

// A run of bytes with its length before it, as marshal writes a bytes object.
struct Span {
  size_t length_at = 0;  // offset of the four bytes of its length
  size_t begin = 0;
  size_t size = 0;
};

// The parts of a code object that are changed.
struct CodeParts {
  std::vector<size_t> counts;  // offsets of its numbers, four bytes each
  Span code;
  std::vector<Span> tables;  // kinds of locals, line table, exception table
};

// Finds the code objects of a marshalled value: only the positions, without reading values.
class Finder {
 public:
  Finder(const uint8_t* data, size_t size, object::Version version)
      : data_(data), size_(size), version_(version) {}

  std::vector<CodeParts> run(size_t at) {
    at_ = at;
    open_.push_back({1, nullptr, 0});
    while (!open_.empty() && found_.size() < kMostCodes) {
      Open& top = open_.back();
      if (top.fields != nullptr) {
        if (*top.fields == '\0') {
          open_.pop_back();
          continue;
        }
        const char field = *top.fields++;
        if (!(field == 'i' ? number(top.code) : value(field, top.code))) break;
        continue;
      }
      if (top.left == 0) {
        open_.pop_back();
        continue;
      }
      --top.left;
      if (!value('O', 0)) break;
    }
    return std::move(found_);
  }

 private:
  static constexpr size_t kMostCodes = 64;

  struct Open {
    size_t left;  // values left in a container
    const char*
        fields;   // of a code object, otherwise null: i a number, C the code, T a table, O a value
    size_t code;  // its index in found_
  };

  bool has(size_t count) const { return count <= size_ - at_; }
  size_t four() {
    uint32_t number = 0;
    std::memcpy(&number, data_ + at_, 4);
    at_ += 4;
    return number;
  }
  bool number(size_t code) {
    if (!has(4)) return false;
    found_[code].counts.push_back(at_);
    at_ += 4;
    return true;
  }
  bool skip(size_t count) {
    if (!has(count)) return false;
    at_ += count;
    return true;
  }
  bool container(size_t count) {
    if (count > size_) return false;
    open_.push_back({count, nullptr, 0});
    return true;
  }

  // Skips one value. Records a bytes object that is the code or a table of a code object.
  bool value(char field, size_t code) {
    if (!has(1)) return false;
    const auto type = static_cast<char>(data_[at_++] & 0x7f);
    switch (type) {
      case 'N':
      case 'F':
      case 'T':
      case 'S':
      case '.':
      case '0':
        return true;
      case 'i':
      case 'r':
        return skip(4);
      case 'I':
      case 'g':
        return skip(8);
      case 'y':
        return skip(16);
      case 'l': {
        if (!has(4)) return false;
        const auto digits = static_cast<int32_t>(four());
        return skip(2 * static_cast<size_t>(digits < 0 ? -int64_t{digits} : digits));
      }
      case 's': {
        if (!has(4)) return false;
        const size_t length_at = at_;
        const size_t size = four();
        if (!has(size)) return false;
        const Span span{length_at, at_, size};
        if (field == 'C') found_[code].code = span;
        if (field == 'T') found_[code].tables.push_back(span);
        at_ += size;
        return true;
      }
      case 'u':
      case 't':
      case 'a':
      case 'A':
        return has(4) && skip(four());
      case 'z':
      case 'Z':
        if (!has(1)) return false;
        ++at_;
        return skip(data_[at_ - 1]);
      case ')':
        if (!has(1)) return false;
        return container(data_[at_++]);
      case '(':
      case '[':
      case '<':
      case '>':
        return has(4) && container(four());
      case ':':
        return container(3);
      case 'c': {
        const bool is_new = version_.minor >= 11;
        found_.emplace_back();
        open_.push_back({0, is_new ? "iiiiiCOOOTOOOiTT" : "iiiiiiCOOOOOOOiT", found_.size() - 1});
        return true;
      }
      default:
        return false;
    }
  }

  const uint8_t* data_;
  const size_t size_;
  const object::Version version_;
  size_t at_ = 0;
  std::vector<Open> open_;
  std::vector<CodeParts> found_;
};

class Mutator {
 public:
  Mutator(uint8_t* data, size_t size, size_t max_size, unsigned seed)
      : data_(data), size_(size), max_size_(max_size), random_(seed) {}

  size_t run() {
    const auto version = size_ < object::kHeaderSize
                             ? std::nullopt
                             : object::version_of_magic(object::header_of({data_, size_}).magic);
    if (!version || below(8) == 0) return LLVMFuzzerMutate(data_, size_, max_size_);
    version_ = *version;
    const auto codes = Finder(data_, size_, version_).run(object::kHeaderSize);
    if (codes.empty()) return LLVMFuzzerMutate(data_, size_, max_size_);
    const CodeParts& parts = codes[below(codes.size())];
    switch (below(10)) {
      case 0:
        return change_count(parts);
      case 1:
      case 2:
        return change_table(parts);
      default:
        return change_code(parts);
    }
  }

 private:
  size_t below(size_t end) { return end == 0 ? 0 : random_() % end; }

  // Returns a random opcode of the version.
  uint8_t opcode() {
    const bytecode::RawTable& table = bytecode::raw_table(version_);
    for (;;) {
      const size_t number = below(256);
      if (!table[number].name.empty()) return static_cast<uint8_t>(number);
    }
  }
  uint8_t argument() { return static_cast<uint8_t>(below(4) == 0 ? below(256) : below(8)); }

  size_t change_count(const CodeParts& parts) {
    if (parts.counts.empty()) return size_;
    const size_t at = parts.counts[below(parts.counts.size())];
    data_[at + below(2)] ^= static_cast<uint8_t>(1u << below(8));
    return size_;
  }

  size_t change_table(const CodeParts& parts) {
    if (parts.tables.empty()) return size_;
    const Span& table = parts.tables[below(parts.tables.size())];
    switch (below(3)) {
      case 0:
        return insert(table, below(table.size + 1), {static_cast<uint8_t>(below(256))});
      case 1:
        return remove(table, below(table.size), 1);
      default:
        if (table.size > 0) data_[table.begin + below(table.size)] = byte();
        return size_;
    }
  }
  uint8_t byte() { return static_cast<uint8_t>(below(2) == 0 ? below(256) : below(16)); }

  size_t change_code(const CodeParts& parts) {
    const Span& code = parts.code;
    const size_t units = code.size / 2;
    if (units == 0) return insert(code, 0, {opcode(), argument()});
    const size_t at = 2 * below(units);
    switch (below(6)) {
      case 0:
        data_[code.begin + at] = opcode();
        return size_;
      case 1:
        data_[code.begin + at + 1] = argument();
        return size_;
      case 2: {
        const size_t from = 2 * below(units);
        std::memmove(data_ + code.begin + at, data_ + code.begin + from, 2);
        return size_;
      }
      case 3: {
        std::vector<uint8_t> bytes{opcode(), argument()};
        bytes.resize(2 + 2 * size_t{bytecode::raw_table(version_)[bytes[0]].caches});
        return insert(code, at, bytes);
      }
      case 4: {
        // Duplicates a run of code.
        const size_t count = 2 * (1 + below(std::min<size_t>(units - at / 2, 8)));
        const uint8_t* const from = data_ + code.begin + at;
        return insert(code, 2 * below(units), {from, from + count});
      }
      default:
        return remove(code, at, 2 * (1 + below(3)));
    }
  }

  void set_length(const Span& span, size_t size) {
    const auto length = static_cast<uint32_t>(size);
    std::memcpy(data_ + span.length_at, &length, 4);
  }

  size_t insert(const Span& span, size_t at, const std::vector<uint8_t>& bytes) {
    if (bytes.size() > max_size_ - size_) return size_;
    uint8_t* const place = data_ + span.begin + at;
    std::memmove(place + bytes.size(), place, size_ - span.begin - at);
    std::memcpy(place, bytes.data(), bytes.size());
    set_length(span, span.size + bytes.size());
    return size_ + bytes.size();
  }

  size_t remove(const Span& span, size_t at, size_t count) {
    count = std::min(count, span.size - std::min(at, span.size));
    if (count == 0) return size_;
    uint8_t* const place = data_ + span.begin + at;
    std::memmove(place, place + count, size_ - span.begin - at - count);
    set_length(span, span.size - count);
    return size_ - count;
  }

  uint8_t* data_;
  const size_t size_;
  const size_t max_size_;
  object::Version version_;
  std::minstd_rand random_;
};

}  // namespace pellucid::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return pellucid::fuzz::Mutator(data, size, max_size, seed).run();
}

#endif
