// SPDX-License-Identifier: Apache-2.0
// cli: the command line, parsed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pellucid/pellucid.h"

namespace pellucid::cli {

struct Arguments {
  enum class Command { Decompile, Dump, Inspect, Help, Version, Wrong } command = Command::Wrong;
  std::string stage;  // Dump
  std::string out;
  std::vector<std::string> inputs;
  bool keep_lines = false;
  bool say_lost = false;
  bool as_json = false;
  bool carves = false;        // read code objects at any place of each file
  bool force = false;         // overwrite files that have different contents
  bool strict = false;        // compare what handles interruptions, too
  bool verify = true;         // by the relowered tier, since there is no Python to recompile with
  bool unstructured = false;  // every function as a state machine
  unsigned line_length = 100;
  unsigned jobs = 0;               // 0: one for each processor
  std::optional<Version> version;  // the version that every input is read as
  std::string complaint;           // Wrong: the message
  const char* help = "";           // Help: the page
};

Arguments parse(int argc, char** argv);

// The short usage text, for a wrong command line.
extern const char* const kUsage;

}  // namespace pellucid::cli
