// SPDX-License-Identifier: Apache-2.0
#include "cli/work.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>

#include "cli/json.h"
#include "cli/judge.h"
#include "pellucid/pellucid.h"

#ifdef _WIN32
#include <process.h>
#define getpid _getpid
#else
#include <unistd.h>
#endif

namespace pellucid::cli {

namespace {

constexpr size_t kLongestName = 80;  // bytes of a name in messages

std::string json_list(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + json_text(text);
  return '[' + list + ']';
}

bool write_to(const std::string& path, const std::string& text) {
  errno = 0;
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  std::setvbuf(file, nullptr, _IONBF, 0);  // all is written at once
  const bool wrote = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int why = errno;
  const bool closed = std::fclose(file) == 0;
  if (!wrote) errno = why;
  return wrote && closed;
}

// Writes a file next to its place and moves it there, so that it appears whole or not at all. A
// symbolic link is followed, not replaced; a device or a pipe is written directly.
bool write_whole(const std::string& path, const std::string& text) {
  namespace fs = std::filesystem;
  std::error_code failed;
  fs::path place(path);
  if (place.has_parent_path()) fs::create_directories(place.parent_path(), failed);
  // Links may form a cycle.
  fs::file_status found = fs::symlink_status(place, failed);
  for (size_t links = 0; links < 40 && fs::is_symlink(found); ++links) {
    place = place.parent_path() / fs::read_symlink(place, failed);
    found = fs::symlink_status(place, failed);
  }
  if (fs::is_other(found)) return write_to(place.string(), text);
  // The process id keeps processes that write the same place apart.
  fs::path unfinished = place;
  unfinished.replace_filename('.' + place.filename().string() + '.' + std::to_string(getpid()));
  if (write_to(unfinished.string(), text) &&
      std::rename(unfinished.string().c_str(), place.string().c_str()) == 0) {
    return true;
  }
  const int why = errno;
  std::remove(unfinished.string().c_str());
  errno = why;
  return false;
}

// Whether a path is a file with different contents, such as one that the user has edited.
bool has_other_text(const std::string& path, const std::string& text) {
  namespace fs = std::filesystem;
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return false;
  if (fs::file_size(path, failed) != text.size()) return true;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return true;
  std::string there(text.size(), '\0');
  const bool is_read = std::fread(there.data(), 1, there.size(), file) == there.size();
  std::fclose(file);
  return !is_read || there != text;
}

// Reports the diagnostics, on standard error and in JSON.
void tell(const std::vector<Diagnostic>& diagnostics, Outcome& outcome) {
  for (const Diagnostic& said : diagnostics) {
    const bool is_refused = said.severity == Severity::Refused;
    const char* kind = is_refused ? ": " : ": without structure: ";
    outcome.refused = outcome.refused || is_refused;
    outcome.complaints.push_back(
        described({ErrorCode::Unsupported, said.offset, said.name + kind + said.message}));
    if (!outcome.json_diagnostics.empty()) outcome.json_diagnostics += ", ";
    outcome.json_diagnostics += '[' + json_text(said.name) + ", " + std::to_string(said.offset) +
                                ", " + json_text(said.message) +
                                (is_refused ? ", true]" : ", false]");
  }
}

void tell(const std::vector<Rename>& renamed, Outcome& outcome) {
  if (renamed.empty()) return;
  outcome.complaints.push_back(
      "names that no source can write are others: " + std::to_string(renamed.size()) + ", " +
      repr(std::string_view(renamed[0].original).substr(0, kLongestName)) + " as " +
      renamed[0].given + " among them");
  for (const auto& [given, original] : renamed) {
    const char* comma = outcome.json_renamed.empty() ? "" : ", ";
    outcome.json_renamed += comma + json_text(given) + ": " + json_text(original);
  }
}

// Reads the program of a job. Its bytes are not kept.
Result<Program> program_of(const Arguments& arguments, const Job& job) {
  PELLUCID_TRY(const std::vector<uint8_t> bytes, read(job));
  return read_pyc(bytes, arguments.version);
}

Result<Outcome> done(const Arguments& arguments, const Job& job) {
  PELLUCID_TRY(const Program program, program_of(arguments, job));
  Outcome outcome;
  outcome.notes = program.notes();
  outcome.python =
      std::to_string(program.version().major) + '.' + std::to_string(program.version().minor);
  if (arguments.command == Arguments::Command::Dump) {
    PELLUCID_TRY(Dump listed, dump(program, arguments.stage));
    outcome.text = std::move(listed.text);
    tell(listed.diagnostics, outcome);
    return outcome;
  }
  DecompileOptions options;
  options.keep_lines = arguments.keep_lines;
  options.line_length = arguments.line_length;
  options.say_lost = arguments.say_lost;
  options.structured = !arguments.unstructured;
  options.verify = arguments.verify;
  options.strict = arguments.strict;
  options.remarks = true;
  PELLUCID_TRY(Decompilation made, decompile(program, options));
  tell(made.diagnostics, outcome);
  tell(made.renamed, outcome);
  Judgement judged = judge(made);
  outcome.verdict = judged.verdict;
  outcome.reason = judged.reason;
  if (!judged.complaint.empty()) outcome.complaints.push_back(judged.complaint);
  for (auto line = job.about.rbegin(); line != job.about.rend(); ++line) {
    judged.comments.insert(judged.comments.begin(), Comment{1, *line});
  }
  if (!judged.comments.empty()) {
    made.source = with_comments(made.source, std::move(judged.comments), options.keep_lines);
  }
  if (job.out.empty()) {
    outcome.text = std::move(made.source);
  } else if (!arguments.force && has_other_text(job.out, made.source)) {
    outcome.error = job.out + " already exists. Pass --force to overwrite it";
  } else if (!write_whole(job.out, made.source)) {
    outcome.error = job.out + " cannot be written";
    if (errno != 0) outcome.error += std::string(": ") + std::strerror(errno);
  }
  return outcome;
}

Outcome failed(std::string why) {
  Outcome outcome;
  outcome.error = std::move(why);
  return outcome;
}

}  // namespace

// Catches every exception: a bug of ours becomes an error of one file.
Outcome work(const Arguments& arguments, const Job& job) {
  try {
    Result<Outcome> outcome = done(arguments, job);
    if (outcome.ok()) return std::move(*outcome);
    const bool is_bug = outcome.error().code == ErrorCode::Internal;
    return failed((is_bug ? "internal error: " : "") + described(outcome.error()));
  } catch (const std::bad_alloc&) {
    return failed("not enough memory at byte 0x0");
  } catch (const std::exception& error) {
    return failed(std::string("internal error: ") + error.what() + " at byte 0x0");
  }
}

std::string to_json(const BadInput& bad) {
  Job job;
  job.name = bad.name;
  return to_json(job, failed(bad.reason));
}

std::string to_json(const Job& job, const Outcome& outcome) {
  const auto or_null = [](bool there, const std::string& text) {
    return there ? json_text(text) : std::string("null");
  };
  const bool has_source = outcome.error.empty() && job.out.empty();
  return "{\"file\": " + json_text(job.name) + ", \"out\": " + or_null(!job.out.empty(), job.out) +
         ", \"outcome\": " + json_text(outcome.name()) +
         ", \"error\": " + or_null(!outcome.error.empty(), outcome.error) +
         ", \"python\": " + or_null(!outcome.python.empty(), outcome.python) +
         ", \"source\": " + or_null(has_source, outcome.text) + ", \"diagnostics\": [" +
         outcome.json_diagnostics +
         "], \"verdict\": " + or_null(!outcome.verdict.empty(), outcome.verdict) +
         ", \"reason\": " + or_null(!outcome.reason.empty(), outcome.reason) +
         ", \"tier\": " + or_null(!outcome.verdict.empty(), "relowered") + ", \"renamed\": {" +
         outcome.json_renamed + "}, \"notes\": " + json_list(outcome.notes) + "}\n";
}

}  // namespace pellucid::cli
