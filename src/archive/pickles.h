// SPDX-License-Identifier: Apache-2.0
// archive: files that programs load with pickle or a relative: pickles, what joblib and numpy
// write, and Keras models with code in their configuration. (torch.save writes a zip archive with a
// pickle, or pickles.) They are recognised by their bytes; nothing in them is called.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "archive/containers.h"
#include "pickle/codes.h"

namespace pellucid::archive {

// Returns true if a member of an archive that begins like this may be such a file.
bool may_be_pickled(Span head, std::string_view name);

// What such a file holds. Names and places are relative to it.
struct Pickled {
  std::vector<Member> members;
  std::vector<Load> loads;
  bool is_pickled = false;  // it is such a file
};

Pickled pickled_in(const Data& data, const Options& options);

// Returns the code objects of a file's pickles, for a program that replaces them: those in the
// constants of others, too, but none of pickles within pickles.
std::vector<pickle::FoundCode> code_in_pickle(Span bytes);

}  // namespace pellucid::archive
