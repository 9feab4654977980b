// SPDX-License-Identifier: Apache-2.0
// pellucid.h: CPython bytecode in, Python source out, and a proof that the two mean the same.
//
//   const pellucid::Result<pellucid::Program> program = pellucid::read_pyc(bytes);
//   if (!program.ok()) return complain(program.error().message);
//   const auto text = pellucid::decompile(*program, {.verify = true});
//   if (text.ok()) std::cout << text->source;
//
// This header and result.h are the interface of the library. They are stable: what they declare
// keeps its meaning, and new fields come after the ones that there are. Nothing else in the source
// tree is stable.
//
// No function executes anything of its input, prints, or keeps state. A Program never changes, so
// threads may share one. What is wrong with an input is the Error of a Result, and so is a bug in
// pellucid (ErrorCode::Internal); no function throws anything but std::bad_alloc. All text is
// UTF-8, in which a lone surrogate of Python's has its three bytes.
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

// Returns the versions whose bytecode can be read, the oldest first.
std::vector<Version> supported_versions();

// Returns the version that "3.11" names, if it is supported.
std::optional<Version> version_named(std::string_view text);

// --- Programs ------------------------------------------------------------------------------------

struct Access;  // the library's own

// The code objects of one file. Copies share them.
class Program {
 public:
  // The version whose bytecode it is.
  Version version() const;

  // How it was read, if that is out of the ordinary; a line each, for people.
  const std::vector<std::string>& notes() const;

  // Why the version may be another one. Empty if there is no doubt. Nothing is proven of a guess.
  const std::string& doubt() const;

  // What the code is the code of ("function f"), if it is not that of a module; else empty.
  const std::string& subject() const;

 private:
  friend struct Access;
  struct Impl;
  explicit Program(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;  // never null
};

// Reads a `.pyc` file, or marshalled code with any header or none. A header is believed as far as
// the code fits it; else the version that fits best is taken, and notes() and doubt() say so.
// `version` decides where it is given. Errors have the byte offset in `bytes`.
Result<Program> read_pyc(std::span<const uint8_t> bytes,
                         std::optional<Version> version = std::nullopt);

// Reads what `marshal.dumps(code)` made in this version, and nothing else.
Result<Program> read_marshal(std::span<const uint8_t> bytes, Version version);

// --- Verdicts ------------------------------------------------------------------------------------

enum class Status : uint8_t {
  Identical,   // the same instructions, but for metadata and the order of pools
  Equivalent,  // the same effects in the same order on every path
  Unproven,    // neither was shown
};

// Byte offsets in the original and in the candidate at which the proof meets: it goes from one pair
// to the next, and what holds at one holds on every path to it.
struct Meeting {
  uint32_t original = 0;
  uint32_t candidate = 0;
};

// One code object of the original, and what is proven of it.
struct CodeVerdict {
  Status status = Status::Unproven;
  uint32_t code = 0;              // its number: Decompilation::codes
  std::string path;               // "<module>/f/<lambda>"
  std::string reason;             // why it is unproven; else empty
  uint32_t offset = 0;            // in its bytecode: where the proof stops
  uint32_t candidate_offset = 0;  // and in that of the other side
  std::vector<Meeting> meetings;  // sorted; with CompareOptions::meetings, of what is proven
};

struct Verdict {
  Status status = Status::Unproven;  // the worst of `codes`
  std::vector<CodeVerdict> codes;    // in the order in which they were met, the outermost first
};

struct CompareOptions {
  // Say where the proof meets, for a certificate. Then no code object is called identical.
  bool meetings = false;
};

// Compares two programs of one version: does the second mean what the first does? The usual
// candidate is what the text of a decompilation was compiled to.
Result<Verdict> compare(const Program& original, const Program& candidate,
                        const CompareOptions& options = {});

// --- Decompilation -------------------------------------------------------------------------------

struct DecompileOptions {
  // Compile the tree of the text again, without Python, and compare that with the program. Makes
  // Decompilation::verdict.
  bool verify = false;
  // With `verify`: write what is not proven in plainer forms, and keep those that are proven.
  bool search = true;
  // Put statements on their original lines, where that is possible.
  bool keep_lines = false;
  // False: write every function as a loop over a state.
  bool structured = true;
  // Say what the file holds that the text does not show. Makes Decompilation::remarks and
  // Decompilation::hidden.
  bool remarks = false;
};

// One code object that was decompiled. Its number is its place in Decompilation::codes.
struct CodeObject {
  std::string path;         // "<module>/f/<lambda>"; empty: made to hold the others
  uint32_t first_line = 0;  // of its text, from 1
};

// Where a line of the text comes from.
struct LineMapping {
  uint32_t line = 0;                     // in the text, from 1
  std::optional<int32_t> original_line;  // in the original source, if that is known
  std::optional<uint32_t> offset;        // in the bytecode of `code`, in bytes
  uint32_t code = 0;                     // the number of a code object
};

enum class Severity : uint8_t {
  Unstructured,  // the text says it all, though not as a person would
  Refused,       // the text lacks it
};

// A part of the text that is not as it should be.
struct Diagnostic {
  Severity severity = Severity::Refused;
  uint32_t code = 0;    // the number of a code object
  std::string name;     // its qualified name, as the text has it
  uint32_t offset = 0;  // in its bytecode, in bytes
  std::string message;
};

// A name that no source can write, and the one that stands for it in the text.
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
  std::vector<std::string> remarks;  // what the text does not show, a line each
  std::vector<std::string> hidden;   // the source of code that no instruction loads, line by line
};

// Returns the source of a program. Whatever the bytecode, there is one: a body that no statements
// of Python's own can say becomes a loop over a state, and one that cannot be read raises where it
// stands; `diagnostics` has both.
Result<Decompilation> decompile(const Program& program, const DecompileOptions& options = {});

// A remark for the readers of a text.
struct Comment {
  uint32_t line = 1;  // of the source, before which it is to stand
  std::string text;   // anything: what is not printable ASCII is escaped
};

// Returns the source with the comments on lines of their own. `keep_lines`: after the last line, so
// that every other stays where it is.
std::string with_comments(std::string_view source, std::vector<Comment> comments,
                          bool keep_lines = false);

// --- For people ----------------------------------------------------------------------------------

// A listing of one stage of the work, of all code objects. Its form is not stable.
struct Dump {
  std::string text;
  std::vector<Diagnostic> diagnostics;  // what could not be listed
};

// Returns the names of the stages, in the order of the work. One more, "dis", lists instructions.
std::vector<std::string> stages();

Result<Dump> dump(const Program& program, std::string_view stage);

// One thing that a file holds and its text does not show.
struct Finding {
  std::string kind;        // "constant", "code", "name", "junk", ...
  std::string text;        // what it is, in ASCII
  uint64_t offset = 0;     // in the bytecode of the code object, or in the file
  bool is_common = false;  // what compilers leave behind
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
  uint16_t magic = 0;       // of the header, as are the next four
  std::string magic_words;  // "magic number 3394 of CPython 3.7"
  uint32_t flags = 0;
  uint32_t date = 0;
  uint32_t size = 0;
  size_t start = 0;  // where the code begins in the file, and where it ends
  size_t end = 0;
  std::vector<Finding> findings;  // of the file as a whole
  std::vector<CodeReport> codes;  // outer ones first
};

Result<Inspection> inspect(const Program& program);

// Returns the text in quotes, as Python's repr() does; always ASCII.
std::string repr(std::string_view text);

// Returns the text in one line: what a reader could not see is escaped.
std::string on_one_line(std::string_view text);

// --- Archives of code ----------------------------------------------------------------------------

// Returns the 16 bytes that a `.pyc` of a version begins with, its date and size zero; nothing, if
// the version is not supported.
std::vector<uint8_t> pyc_header(Version version);

// A value of the marshal format, as archives have in their tables. Copies share it.
class Value {
 public:
  enum class Kind : uint8_t { None, False, True, Int, Str, Bytes, Tuple, List, Dict, Other };

  Kind kind() const;
  int64_t integer() const;         // of an Int
  std::string_view text() const;   // of Str and Bytes; lives as long as a copy of the value does
  size_t size() const;             // of Tuple, List and Dict (twice its pairs); else 0
  Value item(size_t index) const;  // of these; a Dict has key, value, key, value, ...

 private:
  friend struct Access;
  struct Impl;
  Value(std::shared_ptr<const Impl> impl, uint32_t id) : impl_(std::move(impl)), id_(id) {}

  std::shared_ptr<const Impl> impl_;
  uint32_t id_;
};

// Reads one value from the front of `bytes`. `base` is where they begin in the file, for messages.
Result<Value> unmarshal(std::span<const uint8_t> bytes, uint64_t base = 0);

}  // namespace pellucid
