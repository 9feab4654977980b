// SPDX-License-Identifier: Apache-2.0
// archive: containers of code other than `.pyc` files: zip archives, PyInstaller programs and their
// PYZ archives, recognised by their bytes. They are bounded as SECURITY.md says.
//
// This is the one reader of archives, for the binary, the extension and the WebAssembly module.
// Members are listed first and read on demand.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "archive/loads.h"
#include "archive/source.h"
#include "archive/unpack.h"
#include "pellucid/result.h"

namespace pellucid::archive {

// One code object: its name in the container, the place of its source (a path with slashes, not yet
// checked), and how its bytes are read.
struct Member {
  std::string name;
  std::string place;
  std::function<Result<Bytes>()> read;
  bool is_whole = false;             // all bytes of the input, which are code; it has no name
  std::vector<std::string> about{};  // what surrounds the code in a pickle, one line each
};

struct Options {
  Unpack unpack;                  // what the core cannot inflate; may be empty
  size_t most_members = 200'000;  // of the archive and those in it
  bool lists_loads = false;       // sets Contents::loads
};

enum class DataKind { Code, Zip, Pyz, Program, Pickle };

// What bytes hold. They may be code and have an archive after it or in a constant: both are found,
// code first. If they are neither, there are no members.
struct Contents {
  DataKind kind = DataKind::Code;  // of the archive
  std::vector<Member> members;
  std::vector<Load> loads;  // what loading the pickles would do

  // Returns true if there is more than one file's code.
  bool is_archive() const { return kind != DataKind::Code; }
};

// Returns true if a file with this beginning may be a `.pyc`, or code without all or part of its
// header.
constexpr size_t kHeadSize = 24;
bool looks_like_code(Span head);

// Returns the code in a file. The error of a damaged archive counts if it is no code itself.
Result<Contents> contents_of(const SourcePtr& source, const Options& options = {});

}  // namespace pellucid::archive
