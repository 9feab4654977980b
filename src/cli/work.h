// SPDX-License-Identifier: Apache-2.0
// cli: one job, from the bytes of a `.pyc` to its output.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/inputs.h"

namespace pellucid::cli {

// The result of one job.
struct Outcome {
  std::string text;  // if it was not written to a file
  std::string error;
  std::vector<std::string> complaints;  // about parts of the file
  std::vector<std::string> notes;       // about unusual ways in which it was read
  std::string python;                   // "3.11"
  std::string json_diagnostics;         // the items of a JSON array
  std::string json_renamed;             // the items of a JSON object: new name, original name
  bool refused = false;                 // some code object has no source
  std::string verdict;                  // "equivalent" or "unproven"; empty: not requested
  std::string reason;                   // of the first unproven code object

  const char* name() const {
    if (!error.empty()) return "error";
    if (refused) return "incomplete";
    return verdict.empty() ? "decompiled" : verdict.c_str();
  }
};

// Does the job and writes its source if the job has a place for it. Never throws.
Outcome work(const Arguments& arguments, const Job& job);

// Returns the outcome as one line of JSON, with the fields of `pellucid.batch`.
std::string to_json(const Job& job, const Outcome& outcome);
std::string to_json(const BadInput& bad);

}  // namespace pellucid::cli
