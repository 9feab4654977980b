// SPDX-License-Identifier: Apache-2.0
// The operations of match statements, one by one.
#pragma once

#include "fallback/state_machine.h"

namespace pellucid::fallback {

// Tests whether the subject is a sequence or a mapping: only a pattern has this test.
void match_kind(Machine& machine, ValueId id, ast::NodeId pattern, Statements& code);
// Gets the values of a mapping under some keys, or None: stops at the first key that is missing.
void match_keys(Machine& machine, ValueId id, Statements& code);
// Gets the attributes of an instance that a class pattern extracts, or None.
void match_class(Machine& machine, BlockId block, ValueId id, Statements& code);
// Makes the dictionary that `**rest` captures.
void copy_without_keys(Machine& machine, ValueId id, Statements& code);

}  // namespace pellucid::fallback
