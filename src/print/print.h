// SPDX-License-Identifier: Apache-2.0
// print::to_source: an ast::Tree -> Python source text and its source map.
//
// Precedence is one table and parentheses are decided in one function. What the syntax of the
// target version allows (f-string quoting, parenthesised with, `except*`, t-strings, type
// parameters) is decided only here. Names that are no identifiers must have been renamed before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ast/tree.h"
#include "object/code.h"

namespace pellucid::print {

struct Style {
  object::Version version;     // the syntax that the text may use
  bool keep_lines = false;     // put statements on their original lines where that is possible
  uint32_t indent = 0;         // levels of indentation of the first line
  uint32_t line_length = 100;  // longer lines are broken where that is possible
};

// One printed statement: the start of its text and its origin.
struct LineEntry {
  uint32_t line = 0;  // in the text, from 1
  ast::Where where;   // in the original
};

// Something that the syntax of the target version cannot express. The text is the nearest that can
// be written: it is not valid there, or not the same program.
struct Problem {
  ast::Where where;  // of the statement
  std::string message;
};

struct Source {
  std::string text;            // UTF-8 (lone surrogates only inside escapes), ends with a newline
  std::vector<LineEntry> map;  // in the order of the text
  std::vector<Problem> problems;
  // A failed check, a bug of ours: the text ends in the middle of that statement.
  std::optional<Problem> failure;
};

// Prints a Module, a statement or an expression.
Source to_source(const ast::Tree& tree, ast::NodeId root, const Style& style);

// Returns the literal of a constant ("1e400 as a float" prints 1e309; opaque ones print their
// name).
std::string to_literal(const object::Module& module, object::ConstId id, const Style& style);

}  // namespace pellucid::print
