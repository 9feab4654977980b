// cli: what the command line is given. Files, folders, wheels, eggs and other zip archives become
// jobs: the bytes of one `.pyc` each, and the place where its source goes.
//
// The rules are those of python/pellucid/inputs.py: no two jobs share a place, and no place lies
// outside the folder that was asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/zip.h"

namespace pellucid::cli {

// An archive that was read, with its members.
struct Archive {
  std::vector<uint8_t> bytes;
  std::vector<Member> members;
};

struct Job {
  std::string name;  // how messages call it
  std::string path;  // of the file, if it is no member of an archive
  std::shared_ptr<const Archive> archive;
  size_t member = 0;
  std::string out;  // empty: standard output
};

// An input that cannot be looked into.
struct BadInput {
  std::string name;
  std::string reason;
};

struct Jobs {
  std::vector<Job> jobs;
  std::vector<BadInput> bad;
  std::string usage_error;  // not empty: nothing may be done
};

// A job for each `.pyc` of the inputs, which go to `out` (empty: standard output).
Jobs jobs_of(const std::vector<std::string>& inputs, const std::string& out);

Result<std::vector<uint8_t>> read(const Job& job);

}  // namespace pellucid::cli
