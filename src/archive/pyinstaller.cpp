// SPDX-License-Identifier: Apache-2.0
#include "archive/pyinstaller.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "archive/inflate.h"
#include "archive/unpack.h"
#include "pellucid/pellucid.h"

namespace pellucid::archive {

namespace {

constexpr std::string_view kMagic = "MEI\x0c\x0b\x0a\x0b\x0e";
constexpr size_t kCookieSize = 88;
constexpr size_t kEntrySize = 18;
constexpr size_t kHeaderSize = 16;  // of a .pyc

uint32_t big_endian(Span bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) number = number << 8 | bytes[at + i];
  return number;
}

std::optional<Cookie> cookie_at(Span bytes, size_t at) {
  if (bytes.size() - at < kCookieSize) return std::nullopt;
  const uint64_t size = big_endian(bytes, at + 8);
  Cookie cookie;
  cookie.table = big_endian(bytes, at + 12);
  cookie.table_size = big_endian(bytes, at + 16);
  const uint32_t version = big_endian(bytes, at + 20);
  const uint32_t base = version >= 100 ? 100 : 10;
  cookie.major = version / base;
  cookie.minor = version % base;
  const uint64_t end = at + kCookieSize;
  const bool fits = size <= end && cookie.table + cookie.table_size + kCookieSize <= size;
  if (!fits || (cookie.major != 2 && cookie.major != 3)) return std::nullopt;
  cookie.start = end - size;
  return cookie;
}

// Returns true for ELF, Windows and Mach-O (32 and 64 bits, either byte order, and universal).
bool is_executable(Span bytes) {
  if (bytes.size() < 4) return false;
  if (bytes[0] == 'M' && bytes[1] == 'Z') return true;
  constexpr uint32_t kMarks[] = {0x7f454c46, 0xfeedface, 0xfeedfacf,
                                 0xcefaedfe, 0xcffaedfe, 0xcafebabe};
  return std::find(std::begin(kMarks), std::end(kMarks), big_endian(bytes, 0)) != std::end(kMarks);
}

bool is_bare_code(Span bytes) { return !bytes.empty() && (bytes[0] == 0xe3 || bytes[0] == 'c'); }

Error damaged(uint64_t at, const std::string& what) {
  return Error{ErrorCode::Malformed, at, what};
}

std::string module_place(std::string name, bool is_package) {
  std::replace(name.begin(), name.end(), '.', '/');
  return name + (is_package ? "/__init__.pyc" : ".pyc");
}

// A row of a PYZ's table: a name, and (kind, start, size).
struct Row {
  std::string name;
  int64_t kind = 0;
  int64_t start = 0;
  int64_t size = 0;
};

// Reads the rows from a dict, or from a list of pairs.
std::optional<std::vector<Row>> rows_of(const Value& table) {
  using Kind = Value::Kind;
  std::vector<std::pair<Value, Value>> pairs;
  if (table.kind() == Kind::Dict) {
    for (size_t i = 0; i + 1 < table.size(); i += 2) {
      pairs.emplace_back(table.item(i), table.item(i + 1));
    }
  } else if (table.kind() == Kind::List) {
    for (size_t i = 0; i < table.size(); ++i) {
      const Value pair = table.item(i);
      if (pair.kind() != Kind::Tuple || pair.size() != 2) return std::nullopt;
      pairs.emplace_back(pair.item(0), pair.item(1));
    }
  } else {
    return std::nullopt;
  }
  std::vector<Row> rows;
  for (const auto& [name, numbers] : pairs) {
    if (name.kind() != Kind::Str || numbers.kind() != Kind::Tuple || numbers.size() != 3) {
      return std::nullopt;
    }
    Row row;
    row.name = name.text();
    int64_t* const fields[] = {&row.kind, &row.start, &row.size};
    for (size_t i = 0; i < 3; ++i) {
      if (numbers.item(i).kind() != Kind::Int) return std::nullopt;
      *fields[i] = numbers.item(i).integer();
      if (*fields[i] < 0) return std::nullopt;
    }
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.name < b.name; });
  return rows;
}

}  // namespace

std::optional<Cookie> find_cookie(Span bytes) {
  // In files other than executables, only the last 64 KiB are searched.
  const size_t least =
      is_executable(bytes) ? 0 : bytes.size() - std::min<size_t>(bytes.size(), 1 << 16);
  Span before = bytes.subspan(least);
  // Few files have it, which a search from the start finds out far sooner.
  const std::string_view text(reinterpret_cast<const char*>(before.data()), before.size());
  if (text.find(kMagic) == std::string_view::npos) return std::nullopt;
  for (;;) {
    const auto found = std::find_end(before.begin(), before.end(), kMagic.begin(), kMagic.end());
    if (found == before.end()) return std::nullopt;
    const auto at = static_cast<size_t>(found - before.begin());
    if (auto cookie = cookie_at(bytes, least + at)) return cookie;
    before = before.first(at + kMagic.size() - 1);
  }
}

Result<Bytes> read_entry(const Data& data, const Entry& entry) {
  if (std::max<uint64_t>(entry.size, entry.packed_size) > kLargestMember) {
    return Error{ErrorCode::Limit, 0, "larger than 256 MiB"};
  }
  const Span packed = data.part(entry.start, entry.packed_size).bytes;
  if (!entry.is_packed) return Bytes(packed.begin(), packed.end());
  return unpacked(packed, entry.size);
}

Result<std::vector<Entry>> entries_of(const Data& data, const Cookie& cookie) {
  const Data archive = data.part(cookie.start, data.bytes.size());
  const Span table = archive.part(cookie.table, cookie.table_size).bytes;
  std::vector<Entry> entries;
  for (size_t at = 0; at + kEntrySize <= table.size();) {
    const size_t length = big_endian(table, at);
    if (length < kEntrySize || length > table.size() - at) {
      return damaged(cookie.start + cookie.table + at, "PyInstaller: a damaged table");
    }
    Entry entry;
    entry.start = cookie.start + big_endian(table, at + 4);
    entry.packed_size = big_endian(table, at + 8);
    entry.size = big_endian(table, at + 12);
    entry.is_packed = table[at + 16] != 0;
    entry.kind = static_cast<char>(table[at + 17]);
    const Span name = table.subspan(at + kEntrySize, length - kEntrySize);
    entry.name.assign(name.begin(), name.end());
    entry.name.erase(std::find(entry.name.begin(), entry.name.end(), '\0'), entry.name.end());
    entries.push_back(std::move(entry));
    at += length;
  }
  return entries;
}

Result<std::vector<Member>> members_of_pyz(const SourcePtr& source, Span bytes, bool is_encrypted) {
  if (bytes.size() < 12) {
    return Error{ErrorCode::Truncated, bytes.size(), "PYZ: the archive ends within its header"};
  }
  Bytes header(bytes.begin() + 4, bytes.begin() + 8);
  header.resize(kHeaderSize);
  const uint64_t at = big_endian(bytes, 8);
  if (at < 12 || at >= bytes.size() || bytes.size() - at > kLargestMember) {
    return damaged(8, "PYZ: a table that is not there");
  }
  PELLUCID_TRY(const Value table, unmarshal(bytes.subspan(static_cast<size_t>(at)), at));
  const auto rows = rows_of(table);
  if (!rows) return damaged(at, "PYZ: a damaged table");
  std::vector<Member> members;
  for (const Row& row : *rows) {
    if (row.kind != 0 && row.kind != 1) continue;
    const auto read = [source, is_encrypted, start = static_cast<uint64_t>(row.start),
                       size = static_cast<uint64_t>(row.size)]() -> Result<Bytes> {
      PELLUCID_TRY(const Data data, source->open());
      const Span packed = data.part(start, size).bytes;
      if (is_bare_code(packed)) return Bytes(packed.begin(), packed.end());
      Result<Bytes> inflated = unpacked(packed, kLargestMember);
      if (inflated.ok() || !is_encrypted) return inflated;
      return Error{ErrorCode::Unsupported, 0,
                   "encrypted by PyInstaller (--key); the key is in the program"};
    };
    const std::string place = module_place(row.name, row.kind == 1);
    members.push_back({place, place, with_header(read, header)});
  }
  return members;
}

std::function<Result<Bytes>()> with_header(std::function<Result<Bytes>()> read, Bytes header) {
  return [read = std::move(read), header = std::move(header)]() -> Result<Bytes> {
    PELLUCID_TRY(Bytes bytes, read());
    if (is_bare_code(bytes)) bytes.insert(bytes.begin(), header.begin(), header.end());
    return bytes;
  };
}

Bytes header_for(uint32_t major, uint32_t minor) {
  return pyc_header({static_cast<uint8_t>(major), static_cast<uint8_t>(minor)});
}

Result<Bytes> unpacked(Span packed, uint64_t limit) {
  // RFC 1950: two bytes, the data, a checksum.
  if (packed.size() < 6 || (packed[0] & 15) != 8 || (packed[0] << 8 | packed[1]) % 31 != 0) {
    return damaged(0, "damaged in its archive: no data of zlib");
  }
  return inflate_most(packed.subspan(2), static_cast<size_t>(limit));
}

}  // namespace pellucid::archive
