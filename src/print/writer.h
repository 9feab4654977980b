// SPDX-License-Identifier: Apache-2.0
// print: the text of an expression while it is written, and the pieces still to be written.
//
// Expanding a node (expand.h) replaces it by its pieces, in reading order, which are written at
// once: by recursion, down to Writer::kDeepest pieces that are one within the other. An expression
// may be of any depth: below that, a stack holds the pieces that are still to be written, the next
// one on top. f-strings before 3.12 start again with each level, of which there are at most four
// (fstrings.cpp).
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
    Open,      // of a display, or around an expression
    OpenCall,  // of arguments, parameters or a subscript
    OpenLine,  // always broken
    OpenBare,  // of a tuple: brackets are written only if it is broken
    Separator,
    Close,
    CloseWithComma,  // of several items
    Choice,          // an `and` or `or` begins
    Joined,          // one that must begin on the line of the choice around it
    ChoiceEnd,       // the choice ends
    Group,           // a value begins that may get brackets, to be broken before its operators
    Row,             // the same without brackets, within such a one
    Operator,
    GroupEnd,  // of a Group or a Row
  } what;
  uint32_t at;  // Open, OpenLine, Separator: after their text; the others: before it
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
    OpenCall,
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
  std::string_view text;
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
  void write(std::string_view piece) {
    // `{{` in an f-string is a brace, not a set.
    if (brace_at == out.size() && piece.starts_with('{')) out += ' ';
    out += piece;
  }
  void write_opening(std::string_view piece, Mark::What what) {
    write(piece);
    ++depth;
    mark(what);
  }
  void write_closing(std::string_view piece, Mark::What what) {
    --depth;
    mark(what);
    write(piece);
  }
  void write_word(Symbol symbol) {
    const std::string_view name = module.text(symbol);
    if (!is_plain_word(symbol, name)) return write_odd_word(name);
    out += name;
  }
  void write_odd_word(std::string_view name);
  // Returns true if the name is an identifier.
  bool is_plain_word(Symbol symbol, std::string_view name) {
    const size_t at = symbol.index();
    return (at < words.size() && words[at] == kPlain) || look_at_word(symbol, name);
  }
  bool look_at_word(Symbol symbol, std::string_view name);
  void mark(Mark::What what) {
    if (inside || is_confined) return;
    marks.push_back({what, static_cast<uint32_t>(out.size())});
    has_broken_line = has_broken_line || what == Mark::OpenLine;
  }
  // Reports what the version's syntax cannot express, at `where` of the statement.
  void problem(std::string message) {
    if (problems.empty() || problems.back() != message) problems.push_back(std::move(message));
  }

  // These write one piece, in reading order.
  void put(Task::What what, uint32_t id = 0, Place place = {}, std::string_view piece = {}) {
    put(Task{what, quotes, inside, kSingle, Braces::Plain, place, id, 0, piece});
  }
  void put(const Task& task);
  void text(std::string_view piece) {
    if (is_deferring) return put(Task::Text, 0, {}, piece);
    write(piece);
  }
  void open(std::string_view piece) {
    if (is_deferring) return put(Task::Open, 0, {}, piece);
    write_opening(piece, Mark::Open);
  }
  void open_call(std::string_view piece) {
    if (is_deferring) return put(Task::OpenCall, 0, {}, piece);
    write_opening(piece, Mark::OpenCall);
  }
  void separator(std::string_view piece = ", ") {
    if (is_deferring) return put(Task::Separator, 0, {}, piece);
    write(piece);
    mark(Mark::Separator);
  }
  // Not breakable without brackets around: the line break would belong to another list.
  void comma(bool breakable) { breakable ? separator() : text(", "); }
  void close(std::string_view piece, bool may_add_comma = false) {
    if (is_deferring) {
      return put(may_add_comma ? Task::CloseWithComma : Task::Close, 0, {}, piece);
    }
    write_closing(piece, may_add_comma ? Mark::CloseWithComma : Mark::Close);
  }
  void word(Symbol symbol) {
    if (is_deferring) return put(Task::Word, symbol.value);
    write_word(symbol);
  }
  // The text starts with a space.
  void operation(std::string_view piece, bool breakable) {
    if (!breakable) return text(piece);
    text(" ");
    put(Task::Operator);
    text(piece.substr(1));
  }
  // Writes a Name: the text of an annotation is one too.
  void name(Symbol symbol);
  // The next piece starts with this expression, or is on the line where it starts.
  void line_before(ast::NodeId id);
  void expr(ast::NodeId id, Place place);

  // Puts text that is known to be from a later line than `start` on that line from here on.
  // Continued lines have `columns`.
  void keep_lines_from(uint32_t start, uint32_t columns, bool is_line_start);
  // Breaks the text, if need be, so that what follows is on an original line.
  void go_to_line(int32_t to);

  static constexpr uint32_t kDeepest = 40;
  enum Spelling : uint8_t { kUnknown, kPlain, kOdd };

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
  uint32_t level = 0;         // of the pieces that are being written, one within the other
  bool is_deferring = false;  // pieces go to `work`
  std::vector<Task> work = {};
  std::vector<Mark> marks = {};
  bool has_broken_line = false;      // one of the marks is an OpenLine
  std::vector<Spelling> words = {};  // by name: whether it is an identifier, once that is known
  std::vector<std::string> problems = {};
};

// Writes one piece, or replaces it by its pieces.
void step(Writer& writer, const Task& task);

}  // namespace pellucid::print
