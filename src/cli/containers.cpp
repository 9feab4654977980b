// SPDX-License-Identifier: Apache-2.0
#include "cli/containers.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/inflate.h"
#include "cli/pyinstaller.h"
#include "cli/zip.h"
#include "pellucid/pellucid.h"

namespace pellucid::cli {

namespace {

using Bytes = std::vector<uint8_t>;
using Span = std::span<const uint8_t>;

constexpr size_t kMostMembers = 200'000;
constexpr int kDeepest = 4;                        // nested archives
constexpr uint64_t kMostHeld = uint64_t{1} << 30;  // unpacked bytes of nested archives

bool starts_with(Span bytes, std::string_view mark) {
  return bytes.size() >= mark.size() &&
         std::equal(mark.begin(), mark.end(), bytes.begin(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

// Returns a member whose reading fails with `error`.
Member refusing(std::string name, std::string place, const Error& error) {
  return {std::move(name), std::move(place), [error]() -> Result<Bytes> { return error; }};
}

class Finder {
 public:
  Result<std::vector<Member>> run(const Data& data) {
    PELLUCID_TRY([[maybe_unused]] const bool done,
                 look_into(data, kind_of(data), "", "", kDeepest));
    return std::move(members_);
  }

 private:
  Result<bool> look_into(const Data& data, DataKind kind, const std::string& name,
                         const std::string& place, int depth) {
    switch (kind) {
      case DataKind::Code:
        return true;
      case DataKind::Zip:
        return zip(data, name, place, depth);
      case DataKind::Pyz:
        return pyz(data, name, place, false);
      case DataKind::Program:
        return program(data, name, place, depth);
    }
    return true;
  }

  // Adds the members of a nested archive; if it is damaged, one member that reports so.
  Result<bool> within(const Data& data, const std::string& name, const std::string& place,
                      int depth) {
    const DataKind kind = kind_of(data);
    if (depth == 0 || kind == DataKind::Code) return true;
    Result<bool> done = look_into(data, kind, name + '/', place, depth - 1);
    if (done.ok() || done.error().code == ErrorCode::Limit) return done;
    return add(refusing(name, place + name, done.error()));
  }

  Result<bool> add(Member member) {
    if (members_.size() == kMostMembers) {
      return Error{ErrorCode::Limit, 0, "more than 200,000 members"};
    }
    members_.push_back(std::move(member));
    return true;
  }

  Result<bool> zip(const Data& data, const std::string& name, const std::string& place, int depth) {
    PELLUCID_TRY(std::vector<ZipMember> found, zip_members(data.bytes));
    std::sort(found.begin(), found.end(),
              [](const ZipMember& a, const ZipMember& b) { return a.name < b.name; });
    for (const ZipMember& member : found) {
      if (member.name.ends_with('/')) continue;
      Member own{name + member.name, place + member.name,
                 [data, member] { return unpack(data.bytes, member); }};
      if (member.name.ends_with(".pyc")) {
        PELLUCID_TRY([[maybe_unused]] const bool added, add(std::move(own)));
        continue;
      }
      if (member.name.ends_with(".py")) continue;
      const Bytes head = front_of(data.bytes, member, kHeadSize);
      if (looks_like_code(head)) {
        const Result<Bytes> bytes = own.read();
        if (!bytes.ok() || !read_pyc(*bytes).ok()) continue;
        PELLUCID_TRY([[maybe_unused]] const bool added, add(std::move(own)));
      } else if (starts_with(head, "PK\3\4") || starts_with(head, std::string_view("PYZ\0", 4)) ||
                 starts_with(head,
                             "\x7f"
                             "ELF") ||
                 starts_with(head, "MZ")) {
        // A claim of 64 bits must not overflow the sum.
        held_ += std::min<uint64_t>(member.size, kMostHeld + 1);
        if (held_ > kMostHeld) continue;
        Result<Bytes> bytes = own.read();
        if (!bytes.ok()) continue;
        PELLUCID_TRY([[maybe_unused]] const bool added,
                     within(data_of(std::move(*bytes)), own.name, own.place + '/', depth));
      }
    }
    return true;
  }

  Result<bool> pyz(const Data& data, const std::string& name, const std::string& place,
                   bool is_encrypted) {
    PELLUCID_TRY(std::vector<Member> found, members_of_pyz(data, is_encrypted));
    for (Member& member : found) {
      PELLUCID_TRY([[maybe_unused]] const bool added,
                   add({name + member.name, place + member.place, std::move(member.read)}));
    }
    return true;
  }

  Result<bool> program(const Data& data, const std::string& name, const std::string& place,
                       int depth) {
    const std::optional<Cookie> cookie = find_cookie(data.bytes);
    if (!cookie) return Error{ErrorCode::Malformed, 0, "PyInstaller: no archive"};
    PELLUCID_TRY(const std::vector<Entry> entries, entries_of(data, *cookie));
    const bool is_encrypted = std::any_of(entries.begin(), entries.end(), [](const Entry& entry) {
      return entry.name == "pyimod00_crypto_key";
    });
    const Bytes header = header_for(cookie->major, cookie->minor);
    for (const Entry& entry : entries) {
      if (entry.kind == 's' || entry.kind == 'm' || entry.kind == 'M') {
        std::string inside = entry.name;
        if (entry.kind != 's') std::replace(inside.begin(), inside.end(), '.', '/');
        inside += entry.kind == 'M' ? "/__init__.pyc" : ".pyc";
        const auto read = [entry] { return entry.read(); };
        PELLUCID_TRY([[maybe_unused]] const bool added,
                     add({name + entry.name, place + inside, with_header(read, header)}));
      } else if (std::string_view("zZxb").find(entry.kind) != std::string_view::npos && depth > 0) {
        PELLUCID_TRY([[maybe_unused]] const bool looked,
                     look_into_entry(entry, name, place, is_encrypted, depth));
      }
    }
    return true;
  }

  Result<bool> look_into_entry(const Entry& entry, const std::string& name,
                               const std::string& place, bool is_encrypted, int depth) {
    Data inner = entry.packed;
    if (entry.is_packed) {
      constexpr std::string_view kSuffixes[] = {".zip", ".pyz", ".whl", ".egg", ".pkg"};
      if (std::none_of(std::begin(kSuffixes), std::end(kSuffixes),
                       [&](std::string_view suffix) { return entry.name.ends_with(suffix); })) {
        return true;
      }
      held_ += entry.size;
      if (held_ > kMostHeld) return true;
      Result<Bytes> bytes = entry.read();
      if (!bytes.ok()) {
        return add(refusing(name + entry.name, place + entry.name, bytes.error()));
      }
      inner = data_of(std::move(*bytes));
    }
    if (starts_with(inner.bytes, std::string_view("PYZ\0", 4))) {
      const Result<bool> done = pyz(inner, name + entry.name + '/', place, is_encrypted);
      if (done.ok() || done.error().code == ErrorCode::Limit) return done;
      return add(refusing(name + entry.name, place + entry.name, done.error()));
    }
    if (!starts_with(inner.bytes, "PK\3\4")) return true;
    return within(inner, name + entry.name, place + entry.name + '/', depth);
  }

  std::vector<Member> members_;
  uint64_t held_ = 0;
};

}  // namespace

Data Data::part(uint64_t at, uint64_t size) const {
  const uint64_t start = std::min<uint64_t>(at, bytes.size());
  const uint64_t count = std::min<uint64_t>(size, bytes.size() - start);
  return {keeper, bytes.subspan(static_cast<size_t>(start), static_cast<size_t>(count))};
}

Data data_of(Bytes bytes) {
  auto keeper = std::make_shared<const Bytes>(std::move(bytes));
  const Span all(*keeper);
  return {std::move(keeper), all};
}

bool looks_like_code(Span head) {
  const auto is_code = [&](size_t at) { return at < head.size() && (head[at] & 0x7f) == 'c'; };
  const bool has_mark = head.size() > 3 && head[2] == '\r' && head[3] == '\n';
  if (has_mark && is_code(16)) return true;
  if (!head.empty() && head[0] == 0xe3) return true;
  for (const size_t at : {4u, 8u, 12u, 16u}) {
    if (!is_code(at)) continue;
    const Span front = head.first(at);
    if (has_mark || std::all_of(front.begin(), front.end(), [](uint8_t b) { return b == 0; })) {
      return true;
    }
  }
  return false;
}

bool is_code_by_head(Span head) {
  return !starts_with(head, std::string_view("PYZ\0", 4)) && !starts_with(head, "PK\3\4") &&
         looks_like_code(head);
}

DataKind kind_of(const Data& data) {
  if (starts_with(data.bytes, std::string_view("PYZ\0", 4))) return DataKind::Pyz;
  if (is_code_by_head(data.part(0, kHeadSize).bytes)) return DataKind::Code;
  if (find_cookie(data.bytes)) return DataKind::Program;
  return is_zip(data.bytes) ? DataKind::Zip : DataKind::Code;
}

Result<std::vector<Member>> members_of(const Data& data) { return Finder().run(data); }

}  // namespace pellucid::cli
