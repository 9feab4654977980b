// SPDX-License-Identifier: Apache-2.0
// print: expressions, patterns and parameters.
//
// An expression of any depth is printed without recursion: a stack holds the pieces that are still
// to be written, the next one on top. Expanding a node replaces it by its pieces, in reading order.
// Only f-strings before 3.12 recurse (at most four levels: fstrings.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ast/tree.h"
#include "object/code.h"
#include "print/literals.h"
#include "print/precedence.h"
#include "print/print.h"

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

// The end of a text in an f-string that the field after it shows by itself: `x=` of `{x=}`.
struct Shown {
  size_t size = 0;          // in bytes
  const char* equals = "";  // after the expression; empty: nothing is shown
};

class Expressions {
 public:
  // Appends the text to `out`. `tree` may be null if only constants are printed.
  Expressions(const object::Module& module, const ast::Tree* tree, object::Version version,
              std::string& out)
      : module_(module), tree_(tree), version_(version), out_(out) {}

  void expression(ast::NodeId id, Place place);
  void constant(object::ConstId id, Place place);
  // Prints parameters with their parentheses; invalid: none.
  void parameters(ast::NodeId arguments);
  void type_parameters(ast::ListId params);
  // Continued lines have at least `indent` columns.
  void pattern(ast::NodeId id, size_t indent);
  // Prints the bases and keywords of a class in parentheses.
  void class_arguments(ast::ListId bases, ast::ListId keywords);

  // Reports what the version's syntax cannot express, at `where` of the statement.
  void problem(std::string message) {
    if (problems_.empty() || problems_.back() != message) problems_.push_back(std::move(message));
  }
  std::vector<std::string>& problems() { return problems_; }

  std::vector<Mark>& marks() { return marks_; }

  // Puts text that is known to be from a later line than `line` on that line from here on.
  // Continued lines have `indent` columns.
  void keep_lines_from(uint32_t line, uint32_t indent, bool is_line_start) {
    keeps_lines_ = true;
    line_ = line;
    indent_ = indent;
    statement_start_ = is_line_start ? out_.size() : std::string::npos;
    depth_ = 0;
  }
  uint32_t line() const { return line_; }
  // Breaks the text, if need be, so that what follows is on an original line.
  void go_to_line(int32_t line);

 private:
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

  Expressions(const Expressions& outer, std::string& out, Confined confined)
      : module_(outer.module_),
        tree_(outer.tree_),
        version_(outer.version_),
        out_(out),
        is_confined_(true),
        confined_(confined) {}

  bool before(int minor) const { return version_.minor < minor; }
  void write(std::string_view text);
  void run();
  void step(const Task& task);

  // These append one piece in reading order; `step` reverses the pieces.
  Task& push(Task::What what, uint32_t id = 0, Place place = {}, const char* text = "");
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

  // expressions.cpp
  void expand(ast::NodeId id, Place place);
  void expand_bare(ast::NodeId id, Place place);
  void boolean(ast::NodeId id, Place place);
  void binary(ast::NodeId id, Place place);
  void unary(ast::NodeId id, Place place);
  void compare(ast::NodeId id, Place place);
  void lambda(ast::NodeId id);
  void call(ast::NodeId id);
  void arguments(ast::ListId args, ast::ListId keywords, bool bare_generator);
  void keyword(ast::NodeId id);
  void subscript(ast::NodeId id);
  void slice(ast::NodeId id);

  // displays.cpp
  void list(std::span<const ast::NodeId> items, Place place, bool breakable = true);
  void dict(ast::NodeId id);
  void tuple(ast::NodeId id, Place place);
  bool has_star(std::span<const ast::NodeId> items) const;
  void comprehension_of(const char* opening, ast::NodeId elt, ast::ListId generators,
                        const char* closing);
  void comprehension(ast::NodeId id);

  // constants.cpp
  void expand_constant(object::ConstId id, Place place);
  void constant_items(std::span<const object::ConstId> items, const char* opening,
                      const char* closing);
  void constant_tuple(const object::Const& value, Place place);
  void constant_slice(const object::Const& value, Place place);
  void text_constant(std::string_view content, TextKind kind);

  // parameters.cpp
  void expand_parameters(ast::NodeId id, const char* before_first);
  void expand_parameter(ast::NodeId id);
  void expand_type_parameter(ast::NodeId id);

  // patterns.cpp
  void expand_pattern(ast::NodeId id, Place place);
  void open_pattern(const char* piece);
  void close_pattern(const char* piece, bool may_add_comma = false);
  void next_pattern(ast::NodeId id);
  void go_to_pattern(ast::NodeId id);
  void begin_brackets();
  void end_brackets(bool may_add_comma);
  void new_pattern_line(size_t indent);
  void pattern_list(std::span<const ast::NodeId> items);
  void mapping_pattern(ast::NodeId id);
  void class_pattern(ast::NodeId id);

  // fstrings.cpp
  void format_string(ast::NodeId id);
  void format_parts(std::span<const ast::NodeId> values, Quote quote, Braces braces);
  void format_value(ast::NodeId id, Quote quote, const char* equals);
  Shown shown_in(std::string_view before, ast::NodeId id);
  void finish_interpolation(std::string_view source);
  bool confined_format_string(ast::NodeId id, std::string& text);
  bool append_confined(std::string& text, std::span<const ast::NodeId> values, Quote quote,
                       Braces braces);
  bool append_confined_value(std::string& text, ast::NodeId id, Quote quote, Braces braces,
                             const char* equals);
  bool confined_expression(std::string& text, ast::NodeId value, Quote quote);
  Place place_in_format(ast::NodeId id) const;
  // Returns the values of an f-string or a format spec; `id` itself for a single value.
  std::span<const ast::NodeId> parts_of(const ast::NodeId& id) const;
  // Returns the text between the replacement fields.
  std::string literal_text(std::span<const ast::NodeId> values) const;
  const object::Const* text_part(ast::NodeId id) const;

  const object::Module& module_;
  const ast::Tree* tree_;
  object::Version version_;
  std::string& out_;
  bool is_confined_ = false;
  Confined confined_{kAllQuotes, true};
  bool keeps_lines_ = false;
  uint32_t line_ = 0;           // of the end of the text, if lines are kept
  uint32_t indent_ = 0;         // of lines that are continued
  uint32_t depth_ = 0;          // open brackets
  size_t statement_start_ = 0;  // in the text: a line may end here without a backslash
  bool failed_ = false;         // confined or a trial: something does not fit
  bool is_trial_ = false;       // the text is only compared
  Quotes quotes_ = kAllQuotes;
  bool inside_ = false;
  size_t brace_at_ = std::string::npos;  // a brace written here must not meet another
  std::vector<size_t> interpolations_;   // where the expressions of open interpolations start
  PatternLines pattern_lines_;
  std::vector<Task> work_;
  std::vector<Mark> marks_;
  std::vector<std::string> problems_;
};

}  // namespace pellucid::print
