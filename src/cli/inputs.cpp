// SPDX-License-Identifier: Apache-2.0
#include "cli/inputs.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <regex>

#include "archive/containers.h"
#include "cli/judge.h"
#include "pellucid/pellucid.h"

namespace pellucid::cli {

namespace fs = std::filesystem;

namespace {

// No .pyc of a real module comes near this; larger files are refused before they are read.
constexpr uintmax_t kLargestFile = uintmax_t{1} << 30;
// The limit for inputs without a known size (a pipe, a device).
constexpr size_t kLargestStream = size_t{256} << 20;

struct Found {
  Job job;
  fs::path inside;  // relative to the given folder or archive
};

struct Group {
  fs::path given;
  bool holds_many = false;
  std::vector<Found> found;
};

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(c < 128 ? std::tolower(c) : c); });
  return text;
}

Error cannot(const char* what) {
  const char* why = errno != 0 ? std::strerror(errno) : what;
  return Error{ErrorCode::Malformed, 0, lowered(why)};
}

// Reads a pipe or a device to its end.
Result<std::vector<uint8_t>> read_stream(std::FILE* file) {
  std::vector<uint8_t> bytes;
  uint8_t part[1 << 16];
  while (const size_t size = std::fread(part, 1, sizeof part, file)) {
    if (bytes.size() + size > kLargestStream) {
      return Error{ErrorCode::Limit, bytes.size(), "larger than 256 MiB"};
    }
    bytes.insert(bytes.end(), part, part + size);
  }
  if (std::ferror(file) != 0) return cannot("cannot be read");
  return bytes;
}

Result<std::vector<uint8_t>> read_file(const std::string& path) {
  errno = 0;
  if (path == "-") return read_stream(stdin);
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return cannot("cannot be read");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> closes(file, std::fclose);
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return read_stream(file);
  const uintmax_t size = fs::file_size(path, failed);
  if (failed) return cannot("cannot be read");
  if (size > kLargestFile) return Error{ErrorCode::Limit, 0, "larger than 1 GiB"};
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  std::setvbuf(file, nullptr, _IONBF, 0);  // all is read at once
  errno = 0;
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  if (std::ferror(file) != 0) return cannot("cannot be read");
  return bytes;
}

// Returns a member's path without the parts that would lead out of the folder.
fs::path safe(const std::string& member) {
  fs::path out;
  std::string part;
  const auto finish = [&] {
    std::replace(part.begin(), part.end(), ':', '_');
    if (!part.empty() && part != "." && part != "..") out /= part;
    part.clear();
  };
  for (const char c : member) {
    if (c == '/' || c == '\\') {
      finish();
    } else if (c != '\0') {
      part += c;
    }
  }
  finish();
  return out;
}

// Adds the code of a file, which is the file itself or in an archive.
void add(Group& group, const fs::path& path, archive::Contents contents, const fs::path& inside) {
  for (archive::Member& member : contents.members) {
    if (member.is_whole) {
      group.found.push_back({{path.string(), path.string(), {}, {}}, inside});
    } else {
      group.found.push_back({{path.string() + '/' + member.name,
                              {},
                              std::move(member.read),
                              {},
                              std::move(member.about)},
                             (group.holds_many ? inside : fs::path()) / safe(member.place)});
    }
  }
}

// Returns what a file holds; nothing if it cannot be read, as its job will report.
Result<archive::Contents> contents_of_file(const fs::path& path, bool carves) {
  const archive::SourcePtr source = archive::source_of_file(path);
  if (!source->open().ok()) return archive::Contents();
  archive::Options options;
  options.name = path.filename().string();
  options.carves = carves;
  Result<archive::Contents> contents = archive::contents_of(source, options);
  if (contents.ok()) return contents;
  return Error{contents.error().code, 0, described(contents.error())};
}

// Adds a file of a folder if it is code, or its members if it is an archive.
void find_in_file(Group& group, const fs::path& path, bool carves) {
  const fs::path inside = path.lexically_relative(group.given);
  if (path.extension() == ".pyc" && !carves) {
    group.found.push_back({{path.string(), path.string(), {}, {}}, inside});
    return;
  }
  if (path.extension() == ".py") return;
  Result<archive::Contents> contents = contents_of_file(path, carves);
  // Nothing indicates that a file that cannot be read is code.
  if (contents.ok()) add(group, path, std::move(*contents), inside);
}

void find_in_folder(Group& group, bool carves) {
  std::vector<fs::path> paths;
  std::error_code failed;
  fs::recursive_directory_iterator at(group.given, fs::directory_options::skip_permission_denied,
                                      failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    const bool is_code = at->path().extension() == ".pyc" && !at->is_directory(failed);
    if (is_code || at->is_regular_file(failed)) paths.push_back(at->path());
  }
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) find_in_file(group, path, carves);
}

Result<Group> group_of(const std::string& input, bool carves) {
  Group group;
  group.given = input;
  std::error_code failed;
  const fs::file_status found = input == "-" ? fs::file_status() : fs::status(input, failed);
  if (fs::is_directory(found)) {
    group.holds_many = true;
    find_in_folder(group, carves);
  } else {
    if (input != "-" && !fs::exists(found)) {
      return Error{ErrorCode::Malformed, 0, "no such file or directory"};
    }
    const fs::path name = input == "-" ? fs::path("stdin.pyc") : group.given.filename();
    if (fs::is_regular_file(found)) {
      PELLUCID_TRY(archive::Contents contents, contents_of_file(input, carves));
      const bool is_archive = contents.is_archive();
      if (is_archive) add(group, group.given, std::move(contents), name);
      group.holds_many = is_archive;
    }
    if (!group.holds_many) group.found.push_back({{input, input, {}, {}}, name});
  }
  if (group.found.empty()) return Error{ErrorCode::Malformed, 0, "no compiled Python in it"};
  return group;
}

// Returns a key for a place: names that differ only in case are one file on some systems.
std::string key(const fs::path& place) { return lowered(place.generic_string()); }

// Returns the name of a cached file without the tag of its Python.
std::string without_tag(const std::string& stem) {
  static const std::regex kTagged("(.+?)(\\.[a-z]+-[0-9]+(\\.opt-[A-Za-z0-9_]+)?)");
  std::smatch match;
  return std::regex_match(stem, match, kTagged) ? match[1].str() : stem;
}

// Returns the place of each source: next to `__pycache__`, and without its tag (PEP 3147, PEP 488)
// if no other file claims it. If there are `mod.cpython-38.pyc` and `mod.cpython-39.pyc`, both keep
// their tags.
std::vector<fs::path> untagged(const std::vector<Found>& found) {
  std::vector<fs::path> plain, tagged;
  std::map<std::string, int> count;
  for (const Found& each : found) {
    fs::path folder = each.inside.parent_path();
    const std::string stem = each.inside.stem().string();
    const bool in_cache = folder.filename() == "__pycache__";
    if (in_cache) folder = folder.parent_path();
    tagged.push_back(folder / (stem + ".py"));
    plain.push_back(folder / ((in_cache ? without_tag(stem) : stem) + ".py"));
    ++count[key(plain.back())];
  }
  for (size_t i = 0; i < plain.size(); ++i) {
    if (count[key(plain[i])] > 1) plain[i] = tagged[i];
  }
  return plain;
}

// Assigns each place once: a second `mod.py` becomes `mod~2.py`.
class Places {
 public:
  fs::path take(const fs::path& place) {
    int& number = taken_[key(place)];
    fs::path free = place;
    while (number > 0 && taken_.contains(key(free))) {
      free.replace_filename(place.stem().string() + '~' + std::to_string(++number) + ".py");
    }
    if (number == 0) number = 1;
    taken_.try_emplace(key(free), 1);
    return free;
  }

 private:
  std::map<std::string, int> taken_;
};

}  // namespace

Jobs jobs_of(const std::vector<std::string>& inputs, const std::string& out, bool carves) {
  Jobs all;
  std::vector<Group> groups;
  for (const std::string& input : inputs) {
    Result<Group> group = group_of(input, carves);
    if (group.ok()) {
      groups.push_back(std::move(*group));
    } else {
      all.bad.push_back({input, group.error().message});
    }
  }
  std::error_code ignored;
  const bool is_folder = out.ends_with('/') || fs::is_directory(out, ignored);
  const auto several = static_cast<size_t>(std::count_if(
      groups.begin(), groups.end(), [](const Group& group) { return group.holds_many; }));
  const bool is_one_file = groups.size() == 1 && several == 0 && !is_folder;
  if (!out.empty() && !is_one_file && fs::exists(out, ignored) && !is_folder && !groups.empty()) {
    all.usage_error = out + " is not a folder, and there is more than one file to write";
    return all;
  }
  Places places;
  for (Group& group : groups) {
    const std::vector<fs::path> plain = untagged(group.found);
    fs::path own;
    if (group.holds_many && several > 1) {
      own = fs::weakly_canonical(group.given, ignored).filename();
    }
    for (size_t i = 0; i < plain.size(); ++i) {
      Job& job = group.found[i].job;
      if (!out.empty()) {
        job.out = is_one_file ? out : (fs::path(out) / places.take(own / plain[i])).string();
      }
      all.jobs.push_back(std::move(job));
    }
  }
  return all;
}

Result<std::vector<uint8_t>> read(const Job& job) {
  return job.read_member ? job.read_member() : read_file(job.path);
}

}  // namespace pellucid::cli
