// SPDX-License-Identifier: Apache-2.0
#include "archive/containers.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "archive/carve.h"
#include "archive/gzip.h"
#include "archive/pickles.h"
#include "archive/pyinstaller.h"
#include "archive/tar.h"
#include "archive/zip.h"
#include "pellucid/pellucid.h"

namespace pellucid::archive {

namespace {

using Read = std::function<Result<Bytes>()>;

constexpr int kDeepest = 4;                        // nested archives
constexpr uint64_t kMostHeld = uint64_t{1} << 30;  // unpacked bytes of nested archives

// Returns a member whose reading fails with `error`.
Member refusing(std::string name, std::string place, const Error& error) {
  return {std::move(name), std::move(place), [error]() -> Result<Bytes> { return error; }};
}

Read reader_of(const SourcePtr& source) {
  return [source]() -> Result<Bytes> {
    PELLUCID_TRY(const Data data, source->open());
    if (data.bytes.size() <= kLargestMember) return Bytes(data.bytes.begin(), data.bytes.end());
    return Error{ErrorCode::Limit, 0, "larger than 256 MiB"};
  };
}

SourcePtr unpacked_source(Read read) {
  return source_of([read = std::move(read)]() -> Result<Data> {
    PELLUCID_TRY(Bytes bytes, read());
    return data_of(std::move(bytes));
  });
}

// Returns the name of what is in a compressed file.
std::string without_suffix(std::string name) {
  for (const std::string_view suffix : {".gz", ".bz2", ".lz4", ".xz", ".zst"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      name.resize(name.size() - suffix.size());
      return name;
    }
  }
  return name;
}

// Returns true if a name says that the file is an archive, so that it matters that it cannot be
// read. (The layers of an image are blobs.)
bool claims_archive(const std::string& name) {
  constexpr std::string_view kSuffixes[] = {".tgz", ".tbz2", ".txz", ".tzst"};
  return name.find(".tar") != std::string::npos || name.find("blobs/") != std::string::npos ||
         std::any_of(std::begin(kSuffixes), std::end(kSuffixes),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

// What is looked into.
struct Place {
  SourcePtr source;
  std::string name;    // before the names of members
  std::string folder;  // before their places
  std::string own;     // its own name
  int depth = 0;       // so many more archives may be nested
};

// A file in an archive.
struct File {
  std::string name;
  SourcePtr source;
  Bytes head;
  uint64_t unpacked = 0;  // bytes to unpack before it can be searched
};

class Finder {
 public:
  explicit Finder(const Options& options) : options_(options) {}

  Result<Contents> run(const SourcePtr& source) {
    Contents contents;
    PELLUCID_TRY(const Data data, source->open());
    const bool is_code = is_headed(data.bytes) || holds_code(data.bytes);
    if (is_code) members_.push_back({"", "", reader_of(source), true});
    DataKind kind = kind_of(data.bytes);
    const Place place{source, "", "", options_.name, kDeepest};
    // An archive may follow a pickle, as it may follow code.
    bool is_pickled = false;
    if (!is_code) {
      PELLUCID_TRY(is_pickled, pickled(data, place));
      if (is_pickled && kind == DataKind::Code) kind = DataKind::Pickle;
    }
    const bool is_first = is_code || is_pickled;
    const Result<bool> done = look_into(data, kind, place);
    if (!done.ok() && (!is_first || done.error().code == ErrorCode::Limit)) return done.error();
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
      case DataKind::Carved:
        return true;
      case DataKind::Zip:
        return zip(data, place);
      case DataKind::Pyz:
        return pyz(data, place, false);
      case DataKind::Program:
        return program(data, place);
      case DataKind::Tar:
        return tar(data, place);
      case DataKind::Gzip:
      case DataKind::Packed:
        return packed(data, place);
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
    const Result<Data> data = source->open();
    if (!data.ok()) return add(refusing(outer.name + name, outer.folder + name, data.error()));
    const DataKind kind = kind_of(data->bytes);
    if (outer.depth == 0) return true;
    const Place place{source, outer.name + name + '/', outer.folder + name + '/', name,
                      outer.depth - 1};
    PELLUCID_TRY([[maybe_unused]] const bool is_pickled, pickled(*data, place));
    const Result<bool> done = look_into(*data, kind, place);
    if (done.ok() || is_full_) return done;
    return add(refusing(outer.name + name, outer.folder + name, done.error()));
  }

  Result<bool> add(Member member) {
    is_full_ = members_.size() == options_.most_members;
    if (is_full_) return too_many(options_.most_members);
    members_.push_back(std::move(member));
    return true;
  }

  // Returns true if so many more bytes may be unpacked to search them.
  bool may_hold(uint64_t size) {
    // A claim of 64 bits must not overflow the sum.
    held_ += std::min<uint64_t>(size, kMostHeld + 1);
    return held_ <= kMostHeld;
  }

  // Adds a file of an archive if it is code, and what is in it.
  Result<bool> file(const Place& place, const File& file) {
    Member own{place.name + file.name, place.folder + file.name, reader_of(file.source)};
    if (file.name.ends_with(".pyc")) return add(std::move(own));
    if (file.name.ends_with(".py")) {
      own.is_source = true;
      return options_.sources ? add(std::move(own)) : true;
    }
    bool may_be_code = looks_like_code(file.head);
    const bool may_be_other = may_be_archive(file.head) || may_be_pickled(file.head, file.name);
    bool is_archive = may_be_other && place.depth > 0;
    if (may_be_code) {
      const Result<Data> data = file.source->open();
      if (!data.ok()) return true;  // its name does not claim that it is code
      may_be_code = holds_code(data->bytes);
      is_archive = place.depth > 0 && kind_of(data->bytes) != DataKind::Code;
      if (may_be_code) {
        PELLUCID_TRY([[maybe_unused]] const bool added, add(own));
      }
    }
    if (!is_archive) return true;
    if (!may_hold(file.unpacked)) return add(refusing(own.name, own.place, too_much()));
    return within(file.source, place, file.name);
  }

  static Error too_much() {
    return {ErrorCode::Limit, 0,
            "not searched: the nested archives are larger than 1 GiB unpacked"};
  }

  Result<bool> zip(const Data& data, const Place& place) {
    PELLUCID_TRY(std::vector<ZipMember> found, zip_members(data.bytes, options_.most_members));
    std::stable_sort(found.begin(), found.end(),
                     [](const ZipMember& a, const ZipMember& b) { return a.name < b.name; });
    for (const ZipMember& member : found) {
      if (member.name.ends_with('/')) continue;
      const auto read = [source = place.source, member,
                         unpack_with = options_.unpack]() -> Result<Bytes> {
        PELLUCID_TRY(const Data archive, source->open());
        return unpack(archive.bytes, member, unpack_with);
      };
      Bytes head;
      if (!member.name.ends_with(".pyc")) {
        head = front_of(data.bytes, member, kHeadSize, options_.unpack);
      }
      PELLUCID_TRY([[maybe_unused]] const bool done,
                   file(place, {member.name, unpacked_source(read), std::move(head), member.size}));
    }
    return true;
  }

  Result<bool> tar(const Data& data, const Place& place) {
    PELLUCID_TRY(const Tar found, tar_members(data.bytes, options_.most_members));
    for (const TarMember& member : found.members) {
      const Span head = data.part(member.start, std::min<uint64_t>(member.size, kHeadSize)).bytes;
      const SourcePtr source = member_of_tar(place.source, member);
      PELLUCID_TRY([[maybe_unused]] const bool done,
                   file(place, {member.name, source, Bytes(head.begin(), head.end()), 0}));
    }
    if (!found.damage) return true;
    const std::string name = "byte " + std::to_string(found.damage->offset);
    return add(refusing(place.name + name, place.folder + name, *found.damage));
  }

  static SourcePtr member_of_tar(const SourcePtr& source, const TarMember& member) {
    return source_of([source, member]() -> Result<Data> {
      PELLUCID_TRY(const Data data, source->open());
      Data part = data.part(member.start, member.size);
      if (part.bytes.size() == member.size) return part;
      return Error{ErrorCode::Truncated, data.bytes.size(), "tar: the archive ends in this member"};
    });
  }

  // Looks into a compressed file, which may hold code or an archive.
  Result<bool> packed(const Data& data, const Place& place) {
    const Result<Bytes> head = head_of_packed(data.bytes);
    const std::string name = without_suffix(place.own);
    if (!head.ok()) {
      const bool claims = claims_archive(place.name) || may_be_pickled({}, name);
      return place.name.empty() || claims ? head.error() : Result<bool>(true);
    }
    if (!looks_like_code(*head) && !may_be_archive(*head) && !may_be_pickled(*head, name)) {
      return true;
    }
    const uint64_t most = kMostHeld - std::min(held_, kMostHeld);
    const SourcePtr inner = unpacked_source([source = place.source, most,
                                             unpack_with = options_.unpack]() -> Result<Bytes> {
      PELLUCID_TRY(const Data all, source->open());
      const std::optional<Packing> packing = packing_of(all.bytes);
      return packing ? unpack_all(unpack_with, *packing, all.bytes, most) : gunzip(all.bytes, most);
    });
    PELLUCID_TRY(const Data bytes, inner->open());
    (void)may_hold(bytes.bytes.size());
    const bool is_code = holds_code(bytes.bytes);
    if (is_code) {
      PELLUCID_TRY([[maybe_unused]] const bool added,
                   add({place.name + name, place.folder + name, reader_of(inner)}));
    }
    const DataKind kind = kind_of(bytes.bytes);
    if (kind == DataKind::Code && !is_code) return pickled(bytes, place);
    const bool is_again = kind == DataKind::Gzip || kind == DataKind::Packed;
    if (is_again && place.depth == 0) return true;
    return look_into(bytes, kind,
                     {inner, place.name, place.folder, name, place.depth - (is_again ? 1 : 0)});
  }

  Result<Bytes> head_of_packed(Span bytes) const {
    const std::optional<Packing> packing = packing_of(bytes);
    if (packing) return unpack_front(options_.unpack, *packing, bytes, kHeadSize);
    Bytes head = gunzip_front(bytes, kHeadSize);
    return head.empty() ? gunzip(bytes, kHeadSize) : Result<Bytes>(std::move(head));
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
      if (!may_hold(entry.size)) {
        return add(refusing(place.name + entry.name, place.folder + entry.name, too_much()));
      }
      inner = unpacked_source(reads(place.source, entry));
    }
    const Result<Data> data = inner->open();
    const auto refused = [&](const Error& error) {
      return add(refusing(place.name + entry.name, place.folder + entry.name, error));
    };
    if (!data.ok()) return refused(data.error());
    const DataKind kind = kind_of(data->bytes);
    if (kind == DataKind::Pyz) {
      const Place here{inner, place.name + entry.name + '/', place.folder, entry.name, 0};
      const Result<bool> done = pyz(*data, here, is_encrypted);
      return done.ok() || is_full_ ? done : refused(done.error());
    }
    return kind == DataKind::Zip ? within(inner, place, entry.name) : true;
  }

  static Read reads(const SourcePtr& source, const Entry& entry) {
    return [source, entry]() -> Result<Bytes> {
      PELLUCID_TRY(const Data data, source->open());
      return read_entry(data, entry);
    };
  }

  const Options& options_;
  std::vector<Member> members_;
  std::vector<Load> loads_;
  uint64_t held_ = 0;
  bool is_full_ = false;
};

}  // namespace

Result<Contents> contents_of(const SourcePtr& source, const Options& options) {
  if (!options.carves) return Finder(options).run(source);
  PELLUCID_TRY(const Data data, source->open());
  return Contents{DataKind::Carved, carve(data), {}};
}

}  // namespace pellucid::archive
