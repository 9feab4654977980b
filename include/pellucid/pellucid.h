// SPDX-License-Identifier: Apache-2.0
// pellucid.h: turn CPython bytecode into Python source, and prove that the two mean the same.
//
//   const pellucid::Result<pellucid::Program> program = pellucid::read_pyc(bytes);
//   if (!program.ok()) return complain(program.error().message);
//   const auto text = pellucid::decompile(*program, {.verify = true});
//   if (text.ok()) std::cout << text->source;
//
// This header and result.h are the interface of the library. They are stable: declarations keep
// their meaning, and new fields are added after the existing ones. Nothing else in the source tree
// is stable.
//
// No function executes its input, prints, or keeps state. A Program never changes, so threads may
// share one. Invalid input, and a bug in pellucid (ErrorCode::Internal), is the Error of a Result.
// No function throws anything except std::bad_alloc. All text is UTF-8; a lone surrogate of Python
// is encoded in three bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pellucid/result.h"

namespace pellucid {

// A version of CPython.
struct Version {
  uint8_t major = 3;
  uint8_t minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};

// Returns the versions whose bytecode can be read, oldest first.
std::vector<Version> supported_versions();

// Parses a version such as "3.11"; nothing if it is not supported.
std::optional<Version> version_named(std::string_view text);

// --- Programs ------------------------------------------------------------------------------------

struct Access;  // the library's own

// The code objects of one file. Copies share them.
class Program {
 public:
  // The Python version of the bytecode.
  Version version() const;

  // How the file was read, if that is unusual; one line per note, for people.
  const std::vector<std::string>& notes() const;

  // Why the version may be wrong; empty if it is certain. If it is a guess, nothing is proven.
  const std::string& doubt() const;

  // What the code belongs to ("function f"); empty for a module.
  const std::string& subject() const;

 private:
  friend struct Access;
  struct Impl;
  explicit Program(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;  // never null
};

// Reads a `.pyc` file, or marshalled code with any header or none. If the code does not fit the
// header, the version that fits best is used, and notes() and doubt() report it. `version`
// overrides the header. Errors contain the byte offset in `bytes`.
Result<Program> read_pyc(std::span<const uint8_t> bytes,
                         std::optional<Version> version = std::nullopt);

// Reads the output of `marshal.dumps(code)` in this version, and nothing else.
Result<Program> read_marshal(std::span<const uint8_t> bytes, Version version);

// --- Verdicts ------------------------------------------------------------------------------------

enum class Status : uint8_t {
  Identical,   // the same instructions, apart from metadata and the order of pools
  Equivalent,  // the same effects in the same order on every path
  Unproven,    // neither was proven
};

// Byte offsets in the original and in the candidate at which the proof meets: it goes from one pair
// to the next, and what holds at one holds on every path to it.
struct Meeting {
  uint32_t original = 0;
  uint32_t candidate = 0;
};

// The verdict on one code object of the original.
struct CodeVerdict {
  Status status = Status::Unproven;
  uint32_t code = 0;              // its number: Decompilation::codes
  std::string path;               // "<module>/f/<lambda>"
  std::string reason;             // why it is unproven; otherwise empty
  uint32_t offset = 0;            // in its bytecode: where the proof stops
  uint32_t candidate_offset = 0;  // the same, in the candidate's bytecode
  std::vector<Meeting> meetings;  // sorted; with CompareOptions::meetings, if it is proven
};

struct Verdict {
  Status status = Status::Unproven;  // the worst of `codes`
  std::vector<CodeVerdict> codes;    // in the order in which they were found, outermost first
};

struct CompareOptions {
  // Record where the proof meets, for a certificate. No code object is then called identical.
  bool meetings = false;
  // Also compare which handler gets the exception of a signal handler.
  bool strict = false;
};

// Compares two programs of the same version: does the second mean the same as the first? The
// candidate is usually the compiled source of a decompilation.
Result<Verdict> compare(const Program& original, const Program& candidate,
                        const CompareOptions& options = {});

// --- Decompilation -------------------------------------------------------------------------------

struct DecompileOptions {
  // Compile the syntax tree of the source, without Python, and compare it with the program. Sets
  // Decompilation::verdict.
  bool verify = false;
  // With `verify`: also compare which handler gets the exception of a signal handler.
  bool strict = false;
  // With `verify`: try plainer forms of code that is not proven, and keep those that are proven.
  bool search = true;
  // Keep statements on their original lines if possible.
  bool keep_lines = false;
  // Longer lines, in columns, are broken where possible.
  uint32_t line_length = 100;
  // Add comments where the bytecode shows that the source had what the text cannot have:
  // annotations of locals, folded expressions, constants as statements (Python 3.11 and later).
  bool say_lost = false;
  // False: write every function as a loop over a state.
  bool structured = true;
  // Report what the file contains that the source does not show. Sets Decompilation::remarks and
  // Decompilation::hidden.
  bool remarks = false;
  // The version whose syntax the source uses; by default that of the bytecode. What an older syntax
  // cannot express is a Diagnostic.
  std::optional<Version> syntax;
};

// One code object that was decompiled. Its number is its place in Decompilation::codes.
struct CodeObject {
  std::string path;         // "<module>/f/<lambda>"; empty if it was added to contain the others
  uint32_t first_line = 0;  // of its source, from 1
};

// The origin of a line of the source.
struct LineMapping {
  uint32_t line = 0;                     // in the recovered source, from 1
  std::optional<int32_t> original_line;  // in the original source, if that is known
  std::optional<uint32_t> offset;        // in the bytecode of `code`, in bytes
  uint32_t code = 0;                     // the number of a code object
};

enum class Severity : uint8_t {
  Unstructured,  // the source is complete, but written as a loop over a state
  Refused,       // the source does not contain it
};

// A part of the source that could not be recovered as usual.
struct Diagnostic {
  Severity severity = Severity::Refused;
  uint32_t code = 0;    // the number of a code object
  std::string name;     // its qualified name in the source
  uint32_t offset = 0;  // in its bytecode, in bytes
  std::string message;
};

// A name that source code cannot spell, and the name that replaces it in the source.
struct Rename {
  std::string given;
  std::string original;
};

struct Decompilation {
  std::string source;  // ends with a newline
  std::vector<CodeObject> codes;
  std::vector<LineMapping> lines;
  std::vector<Diagnostic> diagnostics;  // empty: everything was recovered
  std::vector<Rename> renamed;
  std::optional<Verdict> verdict;
  std::vector<std::string> remarks;  // what the source does not show, one line each
  std::vector<std::string> hidden;   // the source of code that no instruction loads, line by line
};

// Returns the source of a program. There is a source for any bytecode: a body that Python's
// statements cannot express becomes a loop over a state, and one that cannot be read raises.
// `diagnostics` lists both.
Result<Decompilation> decompile(const Program& program, const DecompileOptions& options = {});

// A comment to add to a source.
struct Comment {
  uint32_t line = 1;  // the line of the source that it precedes
  std::string text;   // any text: everything except printable ASCII is escaped
};

// Returns the source with the comments on separate lines. `keep_lines` puts them after the last
// line, so that no other line moves.
std::string with_comments(std::string_view source, std::vector<Comment> comments,
                          bool keep_lines = false);

// --- For people ----------------------------------------------------------------------------------

// The output of one stage for all code objects. Its format is not stable.
struct Dump {
  std::string text;
  std::vector<Diagnostic> diagnostics;  // what could not be listed
};

// Returns the names of the stages, in order. One more, "dis", lists the instructions.
std::vector<std::string> stages();

Result<Dump> dump(const Program& program, std::string_view stage);

// Something that a file contains and its source does not show.
struct Finding {
  std::string kind;        // "constant", "code", "name", "junk", ...
  std::string text;        // what it is, in ASCII
  uint64_t offset = 0;     // in the bytecode of the code object, or in the file
  bool is_common = false;  // compilers leave such things behind
};

struct CodeReport {
  std::string path;
  uint32_t code = 0;  // its number
  std::string filename;
  int32_t first_line = 0;
  uint32_t flags = 0;
  size_t bytecode_size = 0;
  size_t constant_count = 0;
  size_t name_count = 0;
  std::vector<Finding> findings;
};

struct Inspection {
  uint16_t magic = 0;       // from the header, like the next four
  std::string magic_words;  // "magic number 3394 of CPython 3.7"
  uint32_t flags = 0;
  uint32_t date = 0;
  uint32_t size = 0;
  size_t start = 0;  // where the code starts in the file, and where it ends
  size_t end = 0;
  std::vector<Finding> findings;  // of the file as a whole
  std::vector<CodeReport> codes;  // outer ones first
};

Result<Inspection> inspect(const Program& program);

// Returns the text in quotes, like Python's repr(); always ASCII.
std::string repr(std::string_view text);

// Returns the text on one line; invisible characters are escaped.
std::string on_one_line(std::string_view text);

// --- Archives of code ----------------------------------------------------------------------------

// Returns the 16-byte header of a `.pyc` of this version, with date and size zero; empty if the
// version is not supported.
std::vector<uint8_t> pyc_header(Version version);

// Returns the version of code objects that one Python marshalled, without headers: the one that all
// of them fit. Nothing if that is not certain.
std::optional<Version> version_of(std::span<const std::span<const uint8_t>> marshalled);

// A value of the marshal format, as used in the tables of archives. Copies share it.
class Value {
 public:
  enum class Kind : uint8_t { None, False, True, Int, Str, Bytes, Tuple, List, Dict, Other };

  Kind kind() const;
  int64_t integer() const;         // of an Int
  std::string_view text() const;   // of Str and Bytes; valid while a copy of the value exists
  size_t size() const;             // of Tuple, List and Dict (twice its pairs); otherwise 0
  Value item(size_t index) const;  // an item of these; a Dict has key, value, key, value, ...

 private:
  friend struct Access;
  struct Impl;
  Value(std::shared_ptr<const Impl> impl, uint32_t id) : impl_(std::move(impl)), id_(id) {}

  std::shared_ptr<const Impl> impl_;
  uint32_t id_;
};

// Reads one value from the start of `bytes`. `base` is their offset in the file, for messages.
Result<Value> unmarshal(std::span<const uint8_t> bytes, uint64_t base = 0);

}  // namespace pellucid
