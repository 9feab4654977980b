// SPDX-License-Identifier: Apache-2.0
// print: the one table of precedence, and the one function that decides on parentheses.
#pragma once

#include <cstdint>

#include "ast/tree.h"
#include "object/code.h"

namespace pellucid::print {

// How tightly an expression binds, loosest first (CPython's Grammar/python.gram, from
// star_expressions to atom). Tuple, Yield and Named are bare only where a Place allows it.
enum class Level : uint8_t {
  Tuple,
  Yield,
  Named,
  Test,
  Or,
  And,
  Not,
  Compare,
  BitOr,
  BitXor,
  BitAnd,
  Shift,
  Arith,
  Term,
  Factor,
  Power,
  Await,
  Primary
};

constexpr Level tighter(Level level) { return static_cast<Level>(static_cast<uint8_t>(level) + 1); }

// What a place in the text accepts without parentheses: all levels from `min` up, and what `flags`
// add.
struct Place {
  enum Flag : uint16_t {
    kTuple = 1,           // a tuple of two or more may be bare: return a, b
    kYield = 2,           // x = yield y
    kNamed = 4,           // if x := y:
    kNoStar = 8,          // with kTuple: but not one with a starred item
    kSubscript = 16,      // inside [...]: any tuple is bare
    kSlice = 256,         // a slice constant is written a:b
    kBareGenerator = 32,  // the call's own parentheses serve the generator expression
    kMembership = 64,     // a frozenset constant may be written as a set display
    kNoNumber = 128,      // before a dot, where 1.real would be a float
    kBranch = 512,        // only a branch depends on its value
    kOperand = 1024,      // an `and` or `or` tests its value
    kTarget = 2048,       // an assignment target
    kWhole = 4096,        // of a statement: brackets may be put around it
    kPart = 8192,         // part of an operation that may be broken before its operators
    kFirstPart = 16384,   // the same, in one row with the operators, or dots, after it
    kApart = 32768,       // it starts on a separate line; of a tuple, each item does (ast/lines.h)
  };
  Level min = Level::Test;
  uint16_t flags = 0;
  constexpr bool has(Flag flag) const { return (flags & flag) != 0; }
};

// Returns the flags of a place that also hold for the parts of its expression.
constexpr uint16_t use_of(Place place) {
  return place.flags & static_cast<uint16_t>(Place::kBranch | Place::kOperand);
}

constexpr Place at(Level level) { return {level, 0}; }
constexpr Place kTest = at(Level::Test);
constexpr Place kItem = {Level::Test, Place::kWhole | Place::kPart};  // in brackets, with others
constexpr Place kTopLevel = {Level::Test, Place::kTuple | Place::kYield};
constexpr Place kBareTuple = {Level::Test, Place::kTuple};
constexpr Place kNamedTest = {Level::Test, Place::kNamed};
constexpr Place kCondition = {Level::Test, Place::kNamed | Place::kBranch};
constexpr Place whole(Place place) {
  return {place.min, static_cast<uint16_t>(place.flags | Place::kWhole)};
}

struct BinaryForm {
  const char* text;
  Level level;
};
inline constexpr BinaryForm kBinary[] = {
    // In the order of ast::Operator.
    {" + ", Level::Arith},  {" - ", Level::Arith}, {" * ", Level::Term},   {" @ ", Level::Term},
    {" / ", Level::Term},   {" % ", Level::Term},  {" ** ", Level::Power}, {" << ", Level::Shift},
    {" >> ", Level::Shift}, {" | ", Level::BitOr}, {" ^ ", Level::BitXor}, {" & ", Level::BitAnd},
    {" // ", Level::Term},
};
inline constexpr const char* kAugmented[] = {
    " += ",  " -= ",  " *= ", " @= ", " /= ", " %= ", " **= ",
    " <<= ", " >>= ", " |= ", " ^= ", " &= ", " //= "};
inline constexpr const char* kUnary[] = {"-", "+", "not ", "~"};
inline constexpr const char* kCompare[] = {" < ",  " <= ", " == ",     " != ", " > ",
                                           " >= ", " is ", " is not ", " in ", " not in "};

// The expressions that may bind less tightly than Primary.
inline constexpr ast::Kinds kLooser = {ast::Kind::BoolOp,    ast::Kind::NamedExpr, ast::Kind::BinOp,
                                       ast::Kind::UnaryOp,   ast::Kind::Lambda,    ast::Kind::IfExp,
                                       ast::Kind::Await,     ast::Kind::Compare,   ast::Kind::Yield,
                                       ast::Kind::YieldFrom, ast::Kind::Tuple};

Level level_of(const ast::Tree& tree, ast::NodeId id);
Level level_of(const object::Module& module, object::ConstId id, object::Version version);

// Returns true if an expression of this level needs parentheses in this place. A tuple is taken to
// have two items; its printing decides for one item, or a star.
constexpr bool needs_parentheses(Level level, Place place) {
  switch (level) {
    case Level::Tuple:
      return !place.has(Place::kTuple) && !place.has(Place::kSubscript);
    case Level::Yield:
      return !place.has(Place::kYield);
    case Level::Named:
      return !place.has(Place::kNamed);
    default:
      return level < place.min;
  }
}

}  // namespace pellucid::print
