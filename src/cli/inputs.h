// SPDX-License-Identifier: Apache-2.0
// cli: the inputs of the command line. Files, folders, archives and programs become jobs: each has
// the bytes of one code object, and the place of its source.
//
// The rules are those of python/pellucid/inputs.py: the bytes of an input determine its kind; no
// two jobs share a place, and no place is outside the requested folder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pellucid/result.h"

namespace pellucid::cli {

struct Job {
  std::string name;  // in messages
  std::string path;  // of the file, if it is not a member of an archive
  std::function<Result<std::vector<uint8_t>>()> read_member;
  std::string out;                   // empty: standard output
  std::vector<std::string> about{};  // what surrounds the code in a pickle, one line each
};

// An input that cannot be read.
struct BadInput {
  std::string name;
  std::string reason;
};

struct Jobs {
  std::vector<Job> jobs;
  std::vector<BadInput> bad;
  std::string usage_error;  // if not empty, no job may run
};

// Returns a job for each `.pyc` of the inputs, or for each code object at any place of them, with
// its place in `out` (empty: standard output).
Jobs jobs_of(const std::vector<std::string>& inputs, const std::string& out, bool carves);

Result<std::vector<uint8_t>> read(const Job& job);

}  // namespace pellucid::cli
