// SPDX-License-Identifier: Apache-2.0
// driver: one code object -> the statements of its body, by the first attempt that succeeds.
#pragma once

#include <memory>
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
#include "object/places.h"
#include "structure/scopes/scopes.h"
#include "structure/steps.h"

namespace pellucid::driver {

// The state that the attempts at all code objects of one text share.
struct Text {
  flow::Graphs& graphs;
  ast::Tree& tree;  // its module is a copy of that of `graphs`, and gains what the text needs
  structure::Scopes& scopes;
  ast::Misfits& misfits;
  SharedBodies& shared;
  std::vector<ast::ListId>& bodies;              // finished, by CodeId
  std::vector<std::unique_ptr<Lifted>>& lifted;  // with `keep_ends`, by CodeId; null: not yet
  structure::Trace* trace = nullptr;
};

// The request for one body.
struct Wanted {
  object::CodeId code;
  bool unstructured = false;    // control flow as a loop over a state
  bool is_unproven = false;     // because it is unproven with structure
  bool structured_too = false;  // with structure after all, if it cannot be written as a loop
  bool keeps_order = false;     // of the locals (Form::InOrder)
  bool joins_copies = true;     // false: copies of endings stay separate, in their places
  const object::Facts* facts = &kNoFacts;
  const object::Places* places = nullptr;
};

struct Attempted {
  Result<ast::ListId> body;           // or why the last attempt failed
  std::optional<Error> no_structure;  // why the first attempts failed, if they did
  Faults faults;                      // the places that no instruction can say
};

// Makes the attempts at a body in order: with structure, then as a loop over a state. What a failed
// attempt changed in the tree is undone.
Attempted attempt(const Text& text, const Wanted& wanted);

// Returns true if the body is read by its shape where the code object is used: the compiler added
// it, and no text has it.
bool is_read_by_shape(const object::Module& module, object::CodeId code);

}  // namespace pellucid::driver
