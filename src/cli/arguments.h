// SPDX-License-Identifier: Apache-2.0
// cli: what the user asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pellucid/pellucid.h"

namespace pellucid::cli {

struct Arguments {
  enum class Command { Decompile, Dump, Help, Version, Wrong } command = Command::Wrong;
  std::string stage;  // Dump
  std::string out;
  std::vector<std::string> inputs;
  bool keep_lines = false;
  bool as_json = false;
  bool verify = true;         // by the relowered tier: there is no Python here to recompile with
  bool unstructured = false;  // every function as a state machine
  unsigned jobs = 0;          // 0: one a processor
  std::optional<Version> version;  // what every input is read as
  std::string complaint;           // Wrong: what is wrong
  const char* help = "";           // Help: the page
};

Arguments parse(int argc, char** argv);

// The short form, for those who asked for something else.
extern const char* const kUsage;

}  // namespace pellucid::cli
