// SPDX-License-Identifier: Apache-2.0
// cli: one job, from the bytes of a `.pyc` to what is printed and written.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/inputs.h"

namespace pellucid::cli {

// What became of one file.
struct Outcome {
  std::string text;  // where nothing was written
  std::string error;
  std::vector<std::string> complaints;  // about parts of it
  std::vector<std::string> notes;       // how it was read, if that is out of the ordinary
  std::string python;                   // "3.11"
  std::string json_diagnostics;         // the items of a JSON array
  std::string json_renamed;             // the items of a JSON object: a name, what it was
  bool refused = false;                 // some code object has no source
  std::string verdict;                  // "equivalent" or "unproven"; empty: not asked for
  std::string reason;                   // of the first that is not proven

  const char* name() const {
    if (!error.empty()) return "error";
    if (refused) return "incomplete";
    return verdict.empty() ? "decompiled" : verdict.c_str();
  }
};

// Does the job and writes its source, if the job says where. Never throws.
Outcome work(const Arguments& arguments, const Job& job);

// The outcome as one line of JSON, with the fields that `pellucid.batch` gives.
std::string to_json(const Job& job, const Outcome& outcome);
std::string to_json(const BadInput& bad);

}  // namespace pellucid::cli
