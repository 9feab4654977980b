// SPDX-License-Identifier: Apache-2.0
#include "archive/tar.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "archive/zip.h"

namespace pellucid::archive {

namespace {

constexpr uint64_t kBlock = 512;
constexpr uint64_t kLongestText = uint64_t{1} << 20;  // of names in members of their own

std::string_view text_at(Span block, size_t at, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(block.data()) + at, size);
  return all.substr(0, all.find('\0'));
}

// Reads a number in octal digits, or in base 256 if its first bit says so.
std::optional<uint64_t> tar_number(Span block, size_t at, size_t size) {
  uint64_t value = 0;
  if ((block[at] & 0x80) != 0) {
    for (size_t i = at + size - 8; i < at + size; ++i) value = value << 8 | block[i];
    return value;
  }
  size_t end = at + size;
  while (at < end && block[at] == ' ') ++at;
  for (; at < end && block[at] != ' ' && block[at] != 0; ++at) {
    if (block[at] < '0' || block[at] > '7') return std::nullopt;
    value = value << 3 | static_cast<uint64_t>(block[at] - '0');
  }
  return value;
}

// The sum is that of all bytes, with spaces in place of the sum itself. Some programs take the
// bytes as signed numbers.
bool has_right_sum(Span block) {
  int64_t sum = 8 * int64_t{' '};
  int64_t signed_sum = sum;
  for (size_t i = 0; i < kBlock; ++i) {
    if (i >= 148 && i < 156) continue;
    sum += block[i];
    signed_sum += static_cast<int8_t>(block[i]);
  }
  const std::optional<uint64_t> said = tar_number(block, 148, 8);
  return said && (static_cast<int64_t>(*said) == sum || static_cast<int64_t>(*said) == signed_sum);
}

bool is_empty(Span block) {
  return std::all_of(block.begin(), block.end(), [](uint8_t byte) { return byte == 0; });
}

std::string name_in(Span block) {
  std::string name(text_at(block, 0, 100));
  const bool is_posix = text_at(block, 257, 6) == "ustar" && block[262] == 0;
  const std::string_view prefix = is_posix ? text_at(block, 345, 155) : std::string_view();
  return prefix.empty() ? name : std::string(prefix) + '/' + name;
}

// What the members before a file say about it.
struct Said {
  std::string name;
  std::optional<uint64_t> size;
};

// Reads the records of pax: "17 path=pkg/a.pyc\n".
void read_records(std::string_view text, Said& said) {
  while (!text.empty()) {
    size_t length = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<size_t>(end - text.data());
    if (failed != std::errc() || length <= digits + 1 || length > text.size()) return;
    const std::string_view record = text.substr(digits + 1, length - digits - 2);
    text.remove_prefix(length);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    if (key == "path") said.name = value;
    if (key == "size") {
      uint64_t size = 0;
      std::from_chars(value.data(), value.data() + value.size(), size);
      said.size = size;
    }
  }
}

class TarReader {
 public:
  TarReader(Span archive, size_t most) : archive_(archive), most_(most) {}

  Result<Tar> run() {
    while (at_ + kBlock <= archive_.size()) {
      const Span block = archive_.subspan(static_cast<size_t>(at_), kBlock);
      if (is_empty(block)) break;
      const std::optional<uint64_t> own_size = tar_number(block, 124, 12);
      if (!has_right_sum(block) || !own_size) {
        tar_.damage = Error{ErrorCode::Malformed, at_, "tar: a damaged header"};
        break;
      }
      if (++count_ > 2 * most_) return too_many(most_);
      PELLUCID_TRY(const bool goes_on, member(block, *own_size));
      if (!goes_on) break;
    }
    return std::move(tar_);
  }

 private:
  // Reads a member. Returns false at the end of the bytes.
  Result<bool> member(Span block, uint64_t size) {
    const char type = static_cast<char>(block[156]);
    const bool is_file = type == '0' || type == '\0' || type == '7';
    if (is_file && said_.size) size = *said_.size;
    if (type >= '1' && type <= '6') size = 0;  // links, devices, folders
    at_ += kBlock;
    if (type == 'S') skip_more_headers(block);
    const uint64_t left = archive_.size() - std::min<uint64_t>(at_, archive_.size());
    const uint64_t there = std::min(size, left);
    if (type == 'L' || type == 'x') {
      read_text(type, there);
    } else if (type != 'g' && type != 'K') {
      const std::string name = said_.name.empty() ? name_in(block) : said_.name;
      said_ = {};
      if (is_file && !name.ends_with('/')) {
        if (tar_.members.size() == most_) return too_many(most_);
        tar_.members.push_back({name.starts_with("./") ? name.substr(2) : name, at_, size});
      }
    }
    at_ += there + (kBlock - there % kBlock) % kBlock;
    return size <= left;
  }

  // A file with holes may have more headers, which are not counted in its size.
  void skip_more_headers(Span block) {
    bool has_more = block[482] != 0;
    while (has_more && at_ + kBlock <= archive_.size()) {
      has_more = archive_[static_cast<size_t>(at_) + 504] != 0;
      at_ += kBlock;
    }
  }

  void read_text(char type, uint64_t size) {
    const Span bytes =
        archive_.subspan(static_cast<size_t>(std::min<uint64_t>(at_, archive_.size())),
                         static_cast<size_t>(std::min(size, kLongestText)));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (type == 'L') {
      said_.name = text.substr(0, text.find('\0'));
    } else {
      read_records(text, said_);
    }
  }

  Span archive_;
  size_t most_;
  size_t count_ = 0;
  uint64_t at_ = 0;
  Said said_;
  Tar tar_;
};

}  // namespace

bool is_tar(Span bytes) {
  if (bytes.size() < kBlock) return false;
  const Span block = bytes.first(kBlock);
  return block[0] != 0 && has_right_sum(block) && tar_number(block, 124, 12).has_value();
}

Result<Tar> tar_members(Span archive, size_t most) { return TarReader(archive, most).run(); }

}  // namespace pellucid::archive
