// SPDX-License-Identifier: Apache-2.0
// pickle: what calls of a few pure functions return, without calling them: the ways to write bytes
// and strings in a pickle (_codecs.encode, base64.b64decode, ''.join, operator.add, ...).
#pragma once

#include <string>

#include "pickle/graph.h"

namespace pellucid::pickle {

// Returns the plain value that a call returns, or `id` itself if that is none of these functions.
ValueId folded(Graph& graph, ValueId id);

// Decodes base 64, standard or URL-safe, ignoring other characters; empty if it is damaged.
std::string base64_decoded(std::string_view text);

}  // namespace pellucid::pickle
