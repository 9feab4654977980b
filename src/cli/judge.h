// SPDX-License-Identifier: Apache-2.0
// cli: the verdict on a text as people read it: one word, a reason, and comments in the text.
#pragma once

#include <string>
#include <vector>

#include "pellucid/pellucid.h"

namespace pellucid::cli {

// Returns the message of an error with its place.
std::string described(const Error& error);

struct Judgement {
  std::string verdict;            // "equivalent" or "unproven"; empty: not requested
  std::string reason;             // of the first unproven code object
  std::string complaint;          // about all of them; empty: none
  std::vector<Comment> comments;  // on this and on what the text does not show
};

// Code objects without source, which are reported already, get no comment.
Judgement judge(const Decompilation& made);

}  // namespace pellucid::cli
