// SPDX-License-Identifier: Apache-2.0
#include "archive/loads.h"

#include <algorithm>

#include "pellucid/pellucid.h"
#include "pickle/text.h"

namespace pellucid::archive {

namespace {

using pickle::hex_text;

// Returns what loading it means, in one sentence.
std::string summary_of(const Load& load) {
  const auto count = [&](const char* danger) {
    return std::count_if(load.steps.begin(), load.steps.end(),
                         [&](const LoadStep& step) { return step.danger == danger; });
  };
  const std::string all = std::to_string(load.steps.size());
  if (const auto runs = count("runs"); runs > 0) {
    return "runs code or reaches what can: " + std::to_string(runs) + " of " + all +
           " steps, marked !";
  }
  if (const auto unknown = count("unknown"); unknown > 0) {
    return "depends on other modules or the program: " + std::to_string(unknown) + " of " + all +
           " steps, marked ?";
  }
  return load.steps.empty() ? "makes plain values" : "makes values of well-known types";
}

}  // namespace

std::string text_of(const Load& load, const std::string& file) {
  const auto line = [](const char* what, const std::string& text) {
    std::string padded = what;
    padded.resize(13, ' ');
    return "  " + padded + on_one_line(text) + '\n';
  };
  std::string out =
      on_one_line(file + (load.name.empty() ? "" : '/' + load.name)) + '\n' +
      line("holds", "a pickle of protocol " + std::to_string(load.protocol) + ", bytes " +
                        hex_text(load.start) + " to " + hex_text(load.end) +
                        (load.inside.empty() ? "" : ", " + load.inside)) +
      line("loading it", summary_of(load));
  for (const LoadStep& step : load.steps) {
    std::string at = hex_text(step.offset);
    at.resize(std::max<size_t>(at.size(), 8), ' ');
    const char mark = step.danger == "runs" ? '!' : step.danger == "unknown" ? '?' : ' ';
    out += "    " + at + mark + ' ' + on_one_line(step.text);
    if (mark == '!') out += " (" + step.why + ')';
    out += '\n';
  }
  for (const std::string& note : load.notes) out += line("note", note);
  if (!load.failure.empty()) out += line("fails", load.failure + ": pickle stops here");
  return out;
}

}  // namespace pellucid::archive
