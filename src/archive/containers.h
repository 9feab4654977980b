// SPDX-License-Identifier: Apache-2.0
// archive: containers of code other than `.pyc` files: zip and tar archives, compressed files,
// PyInstaller programs and their PYZ archives, one in another. They are bounded as SECURITY.md
// says.
//
// This is the one reader of archives, for the binary, the extension and the WebAssembly module.
// Members are listed first and read on demand.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "archive/kinds.h"
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
  bool is_source = false;            // a `.py` file, if they are wanted
  std::vector<std::string> about{};  // what surrounds the code in a pickle, one line each
};

struct Options {
  std::string name;               // of the input: a compressed file has none for what is in it
  Unpack unpack;                  // what the core cannot inflate; may be empty
  size_t most_members = 200'000;  // of the archive and those in it
  bool sources = false;           // list `.py` files too
  bool carves = false;            // list code objects at any place instead (archive/carve.h)
  bool lists_loads = false;       // sets Contents::loads
};

// What bytes hold. They may be code and have an archive after it or in a constant: both are found,
// code first. If they are neither, there are no members.
struct Contents {
  DataKind kind = DataKind::Code;  // of the archive
  std::vector<Member> members;
  std::vector<Load> loads;  // what loading the pickles would do

  // Returns true if there is more than one file's code.
  bool is_archive() const { return kind != DataKind::Code; }
};

// Returns the code in a file. The error of a damaged archive counts if it is no code itself.
Result<Contents> contents_of(const SourcePtr& source, const Options& options = {});

}  // namespace pellucid::archive
