// SPDX-License-Identifier: Apache-2.0
// driver: the faults of a code object (bytecode::Fault), as the text has them.
//
// The rest of the code is unaffected. A fault is written as `raise NotImplementedError('...')`,
// under a comment with the instructions, and nothing about the code object is proven.
#pragma once

#include <vector>

#include "ast/tree.h"
#include "base/result.h"
#include "bytecode/decode.h"
#include "bytecode/stream.h"
#include "object/code.h"

namespace pellucid::driver {

// The number of places that are given up after decoding, one try each, before the whole code object
// is.
inline constexpr size_t kMostPlaces = 32;

// Returns the stream with a call that raises in the place of every fault. The module gains the
// messages.
bytecode::Stream spelled_out(object::Module& module, const bytecode::Stream& stream);

// Returns the result of `use` for the code object's stream. A place where `use` fails becomes a
// fault, and `use` is called again. `faults` gets all faults.
template <typename Use>
auto with_places(const object::Module& module, const Result<bytecode::Stream>& decoded,
                 std::vector<bytecode::Fault>& faults, Use use)
    -> decltype(use(std::declval<const bytecode::Stream&>())) {
  if (!decoded.ok()) return decoded.error();
  bytecode::Stream stream = *decoded;
  for (size_t place = 0;; ++place) {
    auto result = use(stream);
    faults = stream.faults;
    if (result.ok() || place == kMostPlaces) return result;
    if (!bytecode::give_up(module, stream, result.error())) return result;
  }
}

// Returns the statements with a comment before each that stands for a fault.
ast::ListId with_instructions(ast::Tree& tree, ast::ListId body,
                              const std::vector<bytecode::Fault>& faults);

// Returns a body that only raises, with the error as its message.
ast::ListId marker_body(ast::Tree& tree, const Error& error);

}  // namespace pellucid::driver
