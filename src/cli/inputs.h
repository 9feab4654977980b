// SPDX-License-Identifier: Apache-2.0
// cli: what the command line is given. Files, folders, archives and programs become jobs: the bytes
// of one code object each, and the place where its source goes.
//
// The rules are those of python/pellucid/inputs.py: what an input is, its bytes say; no two jobs
// share a place, and no place lies outside the folder that was asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pellucid/result.h"

namespace pellucid::cli {

struct Job {
  std::string name;  // how messages call it
  std::string path;  // of the file, if it is no member of an archive
  std::function<Result<std::vector<uint8_t>>()> read_member;
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
