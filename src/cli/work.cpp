// SPDX-License-Identifier: Apache-2.0
#include "cli/work.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>

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

std::string hex(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

std::string described(const Error& error) {
  if (error.message.find(" byte 0x") != std::string::npos) return error.message;
  return error.message + " at byte " + hex(error.offset);
}

// Returns the length of the UTF-8 character at `at` if JSON may have it unescaped; otherwise 0.
size_t character_at(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(at + 1);
  const bool is_overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool is_beyond = first == 0xf4 && second >= 0x90;
  return is_overlong || is_beyond ? 0 : size;
}

// Returns a valid JSON string for any bytes: an invalid UTF-8 byte (possible in file names) becomes
// the surrogate that Python uses for it, and a surrogate (possible in names in bytecode) is
// escaped.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  const auto escape = [&](unsigned number) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", number);
    out += escaped;
  };
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const size_t size = character_at(text, at);
    if (size == 0) {
      escape(0xdc00u + byte);
    } else if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[at];
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte < ' ') {
      escape(byte);
    } else if (size == 3 && byte == 0xed && (text[at + 1] & 0x20) != 0) {
      escape(0xd000u | (text[at + 1] & 0x3fu) << 6 | (text[at + 2] & 0x3fu));
    } else {
      out.append(text, at, size);
    }
    at += std::max<size_t>(size, 1);
  }
  return out + '"';
}

std::string json_list(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + quoted(text);
  return '[' + list + ']';
}

bool write_to(const std::string& path, const std::string& text) {
  errno = 0;
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
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
  for (size_t links = 0; links < 40 && fs::is_symlink(place, failed); ++links) {
    place = place.parent_path() / fs::read_symlink(place, failed);
  }
  if (fs::is_other(place, failed)) return write_to(place.string(), text);
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

// Adds the worst verdict of all code objects, and the reason of the first unproven one. Marks each
// unproven code object in the source, except those without source, which are reported already.
void add_verdict(const Decompilation& made, Outcome& outcome, std::vector<Comment>& comments) {
  outcome.verdict = "equivalent";
  size_t count = 0;
  std::string first;
  for (const CodeVerdict& code : made.verdict->codes) {
    if (code.status != Status::Unproven) continue;
    outcome.verdict = "unproven";
    const Error where{ErrorCode::Unsupported, code.offset, code.path + ": " + code.reason};
    if (outcome.reason.empty()) outcome.reason = "unproven: " + described(where);
    const auto has_no_source = [&](const Diagnostic& said) {
      return said.severity == Severity::Refused && said.code == code.code;
    };
    if (std::any_of(made.diagnostics.begin(), made.diagnostics.end(), has_no_source)) continue;
    if (count++ == 0) first = described(where);
    comments.push_back({made.codes[code.code].first_line, "unproven: " + described(where)});
  }
  if (count == 0) return;
  const size_t others = count - 1;
  outcome.complaints.push_back("unproven: " + first +
                               (others > 0 ? ", and " + std::to_string(others) + " more" : ""));
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
    outcome.json_diagnostics += '[' + quoted(said.name) + ", " + std::to_string(said.offset) +
                                ", " + quoted(said.message) + (is_refused ? ", true]" : ", false]");
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
    outcome.json_renamed += comma + quoted(given) + ": " + quoted(original);
  }
}

Result<Outcome> done(const Arguments& arguments, const Job& job) {
  PELLUCID_TRY(const std::vector<uint8_t> bytes, read(job));
  PELLUCID_TRY(const Program program, read_pyc(bytes, arguments.version));
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
  options.structured = !arguments.unstructured;
  options.verify = arguments.verify;
  options.remarks = true;
  PELLUCID_TRY(Decompilation made, decompile(program, options));
  tell(made.diagnostics, outcome);
  tell(made.renamed, outcome);
  std::vector<Comment> comments;
  for (std::string& line : made.remarks) comments.push_back({1, std::move(line)});
  if (made.verdict) add_verdict(made, outcome, comments);
  for (std::string& line : made.hidden) comments.push_back({0xffffffffu, std::move(line)});
  if (!comments.empty()) {
    made.source = with_comments(made.source, std::move(comments), options.keep_lines);
  }
  if (job.out.empty()) {
    outcome.text = std::move(made.source);
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
    return there ? quoted(text) : std::string("null");
  };
  const bool has_source = outcome.error.empty() && job.out.empty();
  return "{\"file\": " + quoted(job.name) + ", \"out\": " + or_null(!job.out.empty(), job.out) +
         ", \"outcome\": " + quoted(outcome.name()) +
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
