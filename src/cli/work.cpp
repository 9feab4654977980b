#include "cli/work.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>

#include "driver/input.h"
#include "driver/inspect.h"
#include "driver/marks.h"
#include "driver/pipeline.h"
#include "object/repr.h"

#ifdef _WIN32
#include <process.h>
#define getpid _getpid
#else
#include <unistd.h>
#endif

namespace pellucid::cli {

namespace {

constexpr size_t kLongestName = 80;  // bytes of one that are said

std::string hex(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

std::string described(const Error& error) {
  if (error.message.find(" byte 0x") != std::string::npos) return error.message;
  return error.message + " at byte " + hex(error.offset);
}

// How many bytes at `at` are one character of UTF-8 that JSON may hold as it is; 0: none.
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

// Valid JSON, whatever the bytes: one that is no UTF-8 (a file's name may have any) becomes the
// surrogate that Python makes of it, and a surrogate, which a name in bytecode may have, is
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

// A file is written beside its place and moved there, so that it appears whole or not at all. A
// link stays: what it leads to is written; and so does a device or a pipe.
bool write_whole(const std::string& path, const std::string& text) {
  namespace fs = std::filesystem;
  std::error_code failed;
  fs::path place(path);
  if (place.has_parent_path()) fs::create_directories(place.parent_path(), failed);
  // Links may lead around in a circle.
  for (size_t links = 0; links < 40 && fs::is_symlink(place, failed); ++links) {
    place = place.parent_path() / fs::read_symlink(place, failed);
  }
  if (fs::is_other(place, failed)) return write_to(place.string(), text);
  // Two processes may write the same place.
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

// The worst verdict of all code objects, and where the first of the proofs stops. Each that is not
// proven is marked in the source, but for those that have none, which are told of already.
void add_verdict(const object::Module& module, const driver::Output& output, Outcome& outcome,
                 std::vector<driver::Comment>& comments) {
  outcome.verdict = "equivalent";
  const std::vector<uint32_t> lines = driver::first_lines(module, module.root, output.line_map);
  size_t count = 0;
  std::string first;
  for (const verify::CodeVerdict& code : output.verdict->codes) {
    if (code.status != verify::Status::Unproven) continue;
    outcome.verdict = "unproven";
    const Error where{ErrorCode::Unsupported, code.offset_a, code.path + ": " + code.reason};
    if (outcome.reason.empty()) outcome.reason = "unproven: " + described(where);
    const auto has_no_source = [&](const driver::Diagnostic& said) {
      return said.refused && said.code == code.code;
    };
    if (std::any_of(output.diagnostics.begin(), output.diagnostics.end(), has_no_source)) continue;
    if (count++ == 0) first = described(where);
    comments.push_back({lines[code.code.index()], "unproven: " + described(where)});
  }
  if (count == 0) return;
  const size_t others = count - 1;
  outcome.complaints.push_back("unproven: " + first +
                               (others > 0 ? ", and " + std::to_string(others) + " more" : ""));
}

// What is not as it should be, on standard error and in JSON.
void tell(const std::vector<driver::Diagnostic>& diagnostics, Outcome& outcome) {
  for (const driver::Diagnostic& diagnostic : diagnostics) {
    const std::string& name = diagnostic.qualname;
    const char* kind = diagnostic.refused ? ": " : ": without structure: ";
    outcome.refused = outcome.refused || diagnostic.refused;
    outcome.complaints.push_back(
        described({ErrorCode::Unsupported, diagnostic.offset, name + kind + diagnostic.message}));
    if (!outcome.json_diagnostics.empty()) outcome.json_diagnostics += ", ";
    outcome.json_diagnostics += '[' + quoted(name) + ", " + std::to_string(diagnostic.offset) +
                                ", " + quoted(diagnostic.message) +
                                (diagnostic.refused ? ", true]" : ", false]");
  }
}

Result<Outcome> done(const Arguments& arguments, const Job& job) {
  PELLUCID_TRY(const std::vector<uint8_t> bytes, read(job));
  PELLUCID_TRY(driver::Input input, driver::read_input(bytes, arguments.version));
  const object::Module& module = input.module;
  Outcome outcome;
  outcome.notes = std::move(input.notes);
  outcome.python =
      std::to_string(module.version.major) + '.' + std::to_string(module.version.minor);
  if (arguments.command == Arguments::Command::Dump) {
    if (arguments.stage == "module") {
      outcome.text = object::dump(module);
    } else {
      std::vector<driver::Diagnostic> told;
      PELLUCID_TRY(outcome.text, driver::dump_stage(module, module.root, arguments.stage, &told));
      tell(told, outcome);
    }
    return outcome;
  }
  driver::Options options;
  options.keep_lines = arguments.keep_lines;
  options.force_unstructured = arguments.unstructured;
  options.verify = options.search = arguments.verify;
  options.doubt = input.doubt;
  driver::Remarks remarks = driver::remarks_on(input, bytes);
  PELLUCID_TRY(driver::Output output, driver::decompile(module, module.root, options));
  tell(output.diagnostics, outcome);
  if (!output.renamed.empty()) {
    const auto& [given, before] = output.renamed[0];
    const std::string count = std::to_string(output.renamed.size());
    outcome.complaints.push_back("names that no source can write are others: " + count + ", " +
                                 object::repr_of_text(before.substr(0, kLongestName)) + " as " +
                                 given + " among them");
  }
  std::vector<driver::Comment> comments;
  for (std::string& line : remarks.before) comments.push_back({1, std::move(line)});
  for (std::string& line : driver::lines_on_names(output)) comments.push_back({1, std::move(line)});
  for (const auto& [given, before] : output.renamed) {
    const char* comma = outcome.json_renamed.empty() ? "" : ", ";
    outcome.json_renamed += comma + quoted(given) + ": " + quoted(before);
  }
  if (output.verdict) add_verdict(module, output, outcome, comments);
  for (std::string& line : remarks.after) comments.push_back({0xffffffffu, std::move(line)});
  if (!comments.empty()) {
    output.source = driver::with_comments(output.source, std::move(comments), options.keep_lines);
  }
  if (job.out.empty()) {
    outcome.text = std::move(output.source);
  } else if (!write_whole(job.out, output.source)) {
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

// The one place where what should not happen is caught: a bug of ours is an error of one file.
Outcome work(const Arguments& arguments, const Job& job) {
  try {
    Result<Outcome> outcome = done(arguments, job);
    return outcome.ok() ? std::move(*outcome) : failed(described(outcome.error()));
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
