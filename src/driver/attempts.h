// SPDX-License-Identifier: Apache-2.0
// driver: one code object -> the statements of its body, by the first attempt that succeeds.
#pragma once

#include <optional>
#include <vector>

#include "ast/misfits.h"
#include "ast/tree.h"
#include "base/result.h"
#include "driver/lifting.h"
#include "driver/shared_bodies.h"
#include "flow/graphs.h"
#include "object/code.h"
#include "object/facts.h"
#include "structure/scopes/scopes.h"
#include "structure/steps.h"

namespace pellucid::driver {

// What the attempts at all code objects of one text share.
struct Text {
  flow::Graphs& graphs;
  ast::Tree& tree;  // its module is a copy of that of `graphs`, and gains what the text needs
  structure::Scopes& scopes;
  ast::Misfits& misfits;
  SharedBodies& shared;
  std::vector<ast::ListId>& bodies;  // finished, by CodeId
  structure::Trace* trace = nullptr;
};

// What is asked of one body.
struct Wanted {
  object::CodeId code;
  bool unstructured = false;    // control flow as a loop over a state
  bool is_unproven = false;     // since with structure it is unproven
  bool structured_too = false;  // after all, if it cannot be written as a loop
  bool joins_copies = true;     // false: endings stay apart as they lie there
  object::Facts facts = {};
};

struct Attempted {
  Result<ast::ListId> body;           // or why the last attempt failed
  std::optional<Error> no_structure;  // why the first attempts failed, if they did
  Faults faults;                      // what could not be said
};

// Makes the attempts at a body in their order: with statements of Python's own, then as a loop over
// a state. What a failed one has changed in the tree is taken back.
Attempted attempt(const Text& text, const Wanted& wanted);

// Returns true if the shape of the body is read where the code object is used: it says what nobody
// wrote.
bool is_read_by_shape(const object::Module& module, object::CodeId code);

}  // namespace pellucid::driver
