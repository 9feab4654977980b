// SPDX-License-Identifier: Apache-2.0
#include "archive/containers.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "archive/inflate.h"
#include "archive/pickles.h"
#include "archive/pyinstaller.h"
#include "archive/zip.h"
#include "pellucid/pellucid.h"

namespace pellucid::archive {

namespace {

constexpr std::string_view kPyz("PYZ\0", 4);
constexpr std::string_view kElf(
    "\x7f"
    "ELF");

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

Result<Bytes> bytes_of(const SourcePtr& source) {
  PELLUCID_TRY(const Data data, source->open());
  return Bytes(data.bytes.begin(), data.bytes.end());
}

SourcePtr unpacked_source(std::function<Result<Bytes>()> read) {
  return source_of([read = std::move(read)]() -> Result<Data> {
    PELLUCID_TRY(Bytes bytes, read());
    return data_of(std::move(bytes));
  });
}

// What is looked into: an archive, and the place of its members.
struct Place {
  SourcePtr source;
  std::string name;    // in front of the names of members
  std::string folder;  // in front of their places
  int depth = 0;       // so many more archives may be nested
};

// Returns true if marshalled code may begin there: its first field is the number of its arguments.
bool begins_code(Span head, size_t at) {
  const auto is_zero = [&](size_t i) { return i >= head.size() || head[i] == 0; };
  return at < head.size() && (head[at] & 0x7f) == 'c' && is_zero(at + 3) && is_zero(at + 4);
}

// Returns true if the file begins with the header of a `.pyc`, and code.
bool is_headed(Span head) {
  return head.size() > 16 && head[2] == '\r' && head[3] == '\n' && (head[16] & 0x7f) == 'c';
}

bool holds_code(Span bytes) {
  return looks_like_code(bytes.first(std::min(bytes.size(), kHeadSize))) && read_pyc(bytes).ok();
}

DataKind kind_of(const Data& data) {
  if (starts_with(data.bytes, kPyz)) return DataKind::Pyz;
  if (find_cookie(data.bytes)) return DataKind::Program;
  return is_zip(data.bytes) ? DataKind::Zip : DataKind::Code;
}

class Finder {
 public:
  explicit Finder(const Options& options) : options_(options) {}

  Result<Contents> run(const SourcePtr& source) {
    Contents contents;
    PELLUCID_TRY(const Data data, source->open());
    const bool is_code = is_headed(data.bytes) || holds_code(data.bytes);
    if (is_code) members_.push_back({"", "", [source] { return bytes_of(source); }, true});
    DataKind kind = kind_of(data);
    const Place place{source, "", "", kDeepest};
    if (kind == DataKind::Code && !is_code) {
      PELLUCID_TRY(const bool is_pickled, pickled(data, place));
      if (is_pickled) kind = DataKind::Pickle;
    }
    const Result<bool> done = look_into(data, kind, place);
    if (!done.ok() && (!is_code || done.error().code == ErrorCode::Limit)) return done.error();
    if (!is_code || members_.size() > 1) contents.kind = kind;
    contents.members = std::move(members_);
    contents.loads = std::move(loads_);
    return contents;
  }

 private:
  Result<bool> look_into(const Data& data, DataKind kind, const Place& place) {
    switch (kind) {
      case DataKind::Code:
      case DataKind::Pickle:
        return true;
      case DataKind::Zip:
        return zip(data, place);
      case DataKind::Pyz:
        return pyz(data, place, false);
      case DataKind::Program:
        return program(data, place);
    }
    return true;
  }

  // Adds the code of a pickle, or of another file that programs load like one; returns false if it
  // is none.
  Result<bool> pickled(const Data& data, const Place& place) {
    Pickled found = pickled_in(data, options_);
    for (Load& load : found.loads) {
      load.name = place.name.substr(0, place.name.size() - (place.name.empty() ? 0 : 1));
      loads_.push_back(std::move(load));
    }
    for (Member& member : found.members) {
      member.name = place.name + member.name;
      member.place = place.folder + member.place;
      PELLUCID_TRY([[maybe_unused]] const bool added, add(std::move(member)));
    }
    return found.is_pickled;
  }

  // Adds the members of a nested archive; if it is damaged, one member that reports so.
  Result<bool> within(const SourcePtr& source, const Place& outer, const std::string& name) {
    PELLUCID_TRY(const Data data, source->open());
    const DataKind kind = kind_of(data);
    if (outer.depth == 0) return true;
    const Place place{source, outer.name + name + '/', outer.folder + name + '/', outer.depth - 1};
    if (kind == DataKind::Code) return pickled(data, place);
    const Result<bool> done = look_into(data, kind, place);
    if (done.ok() || done.error().code == ErrorCode::Limit) return done;
    return add(refusing(outer.name + name, outer.folder + name, done.error()));
  }

  Result<bool> add(Member member) {
    if (members_.size() == options_.most_members) return too_many(options_.most_members);
    members_.push_back(std::move(member));
    return true;
  }

  // Returns true if so many more bytes may be unpacked to search them.
  bool may_hold(uint64_t size) {
    // A claim of 64 bits must not overflow the sum.
    held_ += std::min<uint64_t>(size, kMostHeld + 1);
    return held_ <= kMostHeld;
  }

  Result<bool> zip(const Data& data, const Place& place) {
    PELLUCID_TRY(std::vector<ZipMember> found, zip_members(data.bytes, options_.most_members));
    std::stable_sort(found.begin(), found.end(),
                     [](const ZipMember& a, const ZipMember& b) { return a.name < b.name; });
    for (const ZipMember& member : found) {
      if (member.name.ends_with('/')) continue;
      PELLUCID_TRY([[maybe_unused]] const bool done, zip_member(data, place, member));
    }
    return true;
  }

  Result<bool> zip_member(const Data& data, const Place& place, const ZipMember& member) {
    const auto read = [source = place.source, member,
                       unpack_with = options_.unpack]() -> Result<Bytes> {
      PELLUCID_TRY(const Data archive, source->open());
      return unpack(archive.bytes, member, unpack_with);
    };
    Member own{place.name + member.name, place.folder + member.name, read};
    if (member.name.ends_with(".pyc")) return add(std::move(own));
    if (member.name.ends_with(".py")) return true;
    const Bytes head = front_of(data.bytes, member, kHeadSize, options_.unpack);
    const bool may_be_code = looks_like_code(head);
    const bool may_be_other = may_be_archive(head) || may_be_pickled(head, member.name);
    if (!may_be_code && (!may_be_other || place.depth == 0)) return true;
    if (!may_be_code && !may_hold(member.size)) return true;
    const SourcePtr inner = unpacked_source(read);
    const Result<Data> bytes = inner->open();
    if (!bytes.ok()) return true;  // its name does not claim that it is code
    if (may_be_code) {
      if (!holds_code(bytes->bytes)) return true;
      PELLUCID_TRY([[maybe_unused]] const bool added, add(std::move(own)));
      if (!is_zip(bytes->bytes) || !may_hold(member.size)) return true;
    }
    return within(inner, place, member.name);
  }

  static bool may_be_archive(Span head) {
    return starts_with(head, "PK\3\4") || starts_with(head, kPyz) || starts_with(head, kElf) ||
           starts_with(head, "MZ");
  }

  Result<bool> pyz(const Data& data, const Place& place, bool is_encrypted) {
    PELLUCID_TRY(std::vector<Member> found, members_of_pyz(place.source, data.bytes, is_encrypted));
    for (Member& member : found) {
      PELLUCID_TRY(
          [[maybe_unused]] const bool added,
          add({place.name + member.name, place.folder + member.place, std::move(member.read)}));
    }
    return true;
  }

  Result<bool> program(const Data& data, const Place& place) {
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
        PELLUCID_TRY([[maybe_unused]] const bool added,
                     add({place.name + entry.name, place.folder + inside,
                          with_header(reads(place.source, entry), header)}));
      } else if (std::string_view("zZxb").find(entry.kind) != std::string_view::npos &&
                 place.depth > 0) {
        PELLUCID_TRY([[maybe_unused]] const bool looked,
                     look_into_entry(entry, place, is_encrypted));
      }
    }
    return true;
  }

  Result<bool> look_into_entry(const Entry& entry, const Place& place, bool is_encrypted) {
    SourcePtr inner = part_of(place.source, entry.start, entry.packed_size);
    if (entry.is_packed) {
      constexpr std::string_view kSuffixes[] = {".zip", ".pyz", ".whl", ".egg", ".pkg"};
      if (std::none_of(std::begin(kSuffixes), std::end(kSuffixes),
                       [&](std::string_view suffix) { return entry.name.ends_with(suffix); })) {
        return true;
      }
      if (!may_hold(entry.size)) return true;
      inner = unpacked_source(reads(place.source, entry));
    }
    const Result<Data> data = inner->open();
    const auto refused = [&](const Error& error) {
      return add(refusing(place.name + entry.name, place.folder + entry.name, error));
    };
    if (!data.ok()) return refused(data.error());
    if (starts_with(data->bytes, kPyz)) {
      const Result<bool> done =
          pyz(*data, {inner, place.name + entry.name + '/', place.folder, 0}, is_encrypted);
      return done.ok() || done.error().code == ErrorCode::Limit ? done : refused(done.error());
    }
    return starts_with(data->bytes, "PK\3\4") ? within(inner, place, entry.name) : true;
  }

  static std::function<Result<Bytes>()> reads(const SourcePtr& source, const Entry& entry) {
    return [source, entry]() -> Result<Bytes> {
      PELLUCID_TRY(const Data data, source->open());
      return read_entry(data, entry);
    };
  }

  const Options& options_;
  std::vector<Member> members_;
  std::vector<Load> loads_;
  uint64_t held_ = 0;
};

}  // namespace

bool looks_like_code(Span head) {
  if (is_headed(head) || begins_code(head, 0)) return true;
  const bool has_mark = head.size() > 3 && head[2] == '\r' && head[3] == '\n';
  for (const size_t at : {4u, 8u, 12u, 16u}) {
    if (!begins_code(head, at)) continue;
    const Span front = head.first(at);
    if (has_mark || std::all_of(front.begin(), front.end(), [](uint8_t b) { return b == 0; })) {
      return true;
    }
  }
  return false;
}

Result<Contents> contents_of(const SourcePtr& source, const Options& options) {
  return Finder(options).run(source);
}

}  // namespace pellucid::archive
