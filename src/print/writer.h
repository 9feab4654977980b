// SPDX-License-Identifier: Apache-2.0
// print: the text of an expression while it is written, and the pieces still to be written.
//
// An expression of any depth is printed without recursion: a stack holds the pieces that are still
// to be written, the next one on top. Expanding a node (expand.h) replaces it by its pieces, in
// reading order. Only f-strings before 3.12 recurse (at most four levels: fstrings.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ast/tree.h"
#include "object/code.h"
#include "print/literals.h"
#include "print/precedence.h"

namespace pellucid::print {

inline constexpr uint32_t kIndent = 4;  // columns of a level of indentation

// A place in the text where a line may be broken (wrap.h).
struct Mark {
  enum What : uint8_t {
    Open,
    OpenLine,  // always broken
    OpenBare,  // of a tuple: brackets are written only if it is broken
    Separator,
    Close,
    CloseWithComma,
    Choice,     // an `and` or `or` begins
    Joined,     // one that must begin on the line of the choice around it
    ChoiceEnd,  // the choice ends
    Group,      // an operation begins that may get brackets, to be broken before its operators
    Row,        // the same without brackets, within such a one
    Operator,
    GroupEnd,  // of a Group or a Row
  } what;
  uint32_t at;  // Open, OpenLine, Separator: after their text; the others: before it
  // Of a Group: its last part may start on the line of the operator before it.
  bool may_hug = false;
};

// A pattern whose parts are printed on their original lines (ast/lines.h).
struct PatternLines {
  struct Bracket {
    size_t indent;       // of its line
    size_t start;        // of the text inside
    bool is_last_there;  // a line ends after it
  };
  bool kept = false;
  int32_t line = -1;  // of the end of the text so far
  size_t indent = 0;  // of the text's last line
  std::vector<Bracket> brackets;
};

// A piece still to be written.
struct Task {
  enum What : uint8_t {
    Text,
    Open,
    OpenLine,
    OpenBare,
    Separator,
    Close,
    CloseWithComma,
    CloseBare,
    Choice,
    Joined,
    ChoiceEnd,
    Group,
    HuggingGroup,
    Row,
    Operator,
    GroupEnd,
    Word,
    Line,
    Expr,
    Const,
    Params,
    Param,
    TypeParam,
    Pattern,
    PatternOpen,
    PatternLine,
    PatternClose,
    Comprehension,
    Keyword,
    FormatText,
    FormatField,
    Brace,
    InterpolationBrace,
    InterpolationText
  } what;
  Quotes quotes = kAllQuotes;  // inside an f-string: those still free
  bool inside = false;         // of an f-string
  Quote quote = kSingle;       // FormatText
  Braces braces = Braces::Plain;
  Place place;
  uint32_t id = 0;
  uint32_t cut = 0;  // FormatText: the bytes at the end that the field after it shows
  const char* text = "";
};

// The limits of an expression inside an f-string before 3.12.
struct Confined {
  Quotes quotes;
  bool newlines;  // every enclosing string has triple quotes
};

struct Writer {
  // Appends the text to `to`. `from` may be null if only constants are printed.
  Writer(const object::Module& owner, const ast::Tree* from, object::Version target,
         std::string& to)
      : module(owner), tree(from), version(target), out(to) {}
  // Writes an expression inside an f-string of `outer`, before 3.12.
  Writer(const Writer& outer, std::string& to, Confined limits)
      : module(outer.module),
        tree(outer.tree),
        version(outer.version),
        out(to),
        is_confined(true),
        confined(limits) {}

  bool before(int minor) const { return version.minor < minor; }
  void write(std::string_view text);
  // Reports what the version's syntax cannot express, at `where` of the statement.
  void problem(std::string message) {
    if (problems.empty() || problems.back() != message) problems.push_back(std::move(message));
  }

  // These append one piece in reading order; run() reverses the pieces.
  Task& push(Task::What what, uint32_t id = 0, Place place = {}, const char* piece = "");
  void text(const char* piece) { push(Task::Text, 0, {}, piece); }
  void open(const char* piece) { push(Task::Open, 0, {}, piece); }
  void separator(const char* piece = ", ") { push(Task::Separator, 0, {}, piece); }
  // Not breakable without brackets around: the line break would belong to another list.
  void comma(bool breakable) { push(breakable ? Task::Separator : Task::Text, 0, {}, ", "); }
  void close(const char* piece, bool may_add_comma = false) {
    push(may_add_comma ? Task::CloseWithComma : Task::Close, 0, {}, piece);
  }
  void word(Symbol symbol) { push(Task::Word, symbol.value); }
  // The text starts with a space.
  void operation(const char* piece, bool breakable) {
    if (!breakable) return text(piece);
    text(" ");
    push(Task::Operator);
    text(piece + 1);
  }
  // The next piece starts with this expression, or is on the line where it starts.
  void line_before(ast::NodeId id);
  void expr(ast::NodeId id, Place place) { push(Task::Expr, id.value, place); }

  // Puts text that is known to be from a later line than `start` on that line from here on.
  // Continued lines have `columns`.
  void keep_lines_from(uint32_t start, uint32_t columns, bool is_line_start);
  // Breaks the text, if need be, so that what follows is on an original line.
  void go_to_line(int32_t to);

  const object::Module& module;
  const ast::Tree* tree;
  object::Version version;
  std::string& out;
  bool is_confined = false;
  Confined confined = {kAllQuotes, true};
  bool keeps_lines = false;
  uint32_t line = 0;           // of the end of the text, if lines are kept
  uint32_t indent = 0;         // of lines that are continued
  uint32_t depth = 0;          // open brackets
  size_t statement_start = 0;  // in the text: a line may end here without a backslash
  bool failed = false;         // confined or a trial: something does not fit
  bool is_trial = false;       // the text is only compared
  Quotes quotes = kAllQuotes;
  bool inside = false;                      // of an f-string
  size_t brace_at = std::string::npos;      // a brace written here must not meet another
  std::vector<size_t> interpolations = {};  // where the expressions of open interpolations start
  PatternLines pattern_lines = {};
  std::vector<Task> work = {};
  std::vector<Mark> marks = {};
  std::vector<std::string> problems = {};
};

// Writes all pieces, those that they are replaced by included.
void run(Writer& writer);

}  // namespace pellucid::print
