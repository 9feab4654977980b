// SPDX-License-Identifier: Apache-2.0
// The layout is close to black's. From the left, each bracket whose content fits is left alone. The
// content of any other goes on a separate line, if it fits there and the bracket is not a display;
// otherwise each item does. These lines are then treated in the same way. An operation that has to
// begin on the line of the choice around it prevents that for the brackets before it.
//
// An operation that is all of a value or a condition, and does not fit, is put in brackets, and
// broken before its operators if that is not enough. If it has a single operator, only the bracket
// at its end is broken, if all before it fits. An operation that is an item gets brackets only if
// it is a conditional.
#include "print/wrap.h"

#include <algorithm>

namespace pellucid::print {

namespace {

// If indentation takes most of a line, this much text still fits after it.
constexpr size_t kLeastText = 40;

// The brackets in brackets at which CPython's tokenizer stops (MAXLEVEL). To indent further would
// take the square of their number.
constexpr size_t kMostLevels = 200;

size_t most_columns(size_t indent, size_t length) { return std::max(length, indent + kLeastText); }

// Returns true if each byte is a column.
bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

size_t columns(std::string_view text) {
  if (is_ascii(text)) return text.size();
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

bool opens(const Mark& mark) { return mark.what <= Mark::OpenBare; }

// `text` is the line without its indentation; it starts at `start` of what the marks count.
class Wrapper {
 public:
  Wrapper(std::string text, size_t indent, size_t length, const std::vector<Mark>& marks,
          size_t start)
      : line_(std::move(text)),
        is_ascii_(is_ascii(line_)),
        indent_(indent),
        length_(length),
        marks_(marks),
        start_(start),
        column_(indent) {
    match();
  }

  std::string run() {
    size_t i = 0;
    while (i < marks_.size()) {
      const Mark& mark = marks_[i];
      switch (mark.what) {
        case Mark::Open:
        case Mark::OpenLine:
        case Mark::OpenBare:
          copy_to(i);
          // Nothing in it has to be broken.
          if (!open(i) && breaks_[partner_[i]] == breaks_[i]) {
            i = partner_[i];
            copy_to(i);
            open_.pop_back();
          }
          break;
        case Mark::Separator:
          copy_to(i);
          if (!open_.empty() && open_.back() == Layout::Items) new_line();
          break;
        case Mark::Close:
        case Mark::CloseWithComma:
          copy_to(i);
          if (!open_.empty()) close(i);
          break;
        case Mark::Choice:
          held_until_ = std::max(held_until_, last_joined_[i]);
          break;
        case Mark::Joined:
        case Mark::ChoiceEnd:
          break;
        case Mark::Group:
        case Mark::Row:
          begin(i);
          break;
        case Mark::Operator:
          if (is_chance(i)) {
            copy_to(i);
            new_line();
          }
          break;
        case Mark::GroupEnd:
          end(i);
          break;
      }
      ++i;
    }
    out_ += std::string_view(line_).substr(done_);
    return std::move(out_);
  }

 private:
  size_t position(size_t i) const { return marks_[i].at - start_; }

  void match() {
    partner_.resize(marks_.size(), 0);
    breaks_.resize(marks_.size() + 1, 0);
    joined_.resize(marks_.size() + 1, 0);
    last_joined_.resize(marks_.size(), 0);
    groups_.resize(marks_.size());
    std::vector<size_t> open, choices, groups;
    for (size_t i = 0; i < marks_.size(); ++i) {
      const Mark::What what = marks_[i].what;
      if (what == Mark::Choice) choices.push_back(i);
      if (what == Mark::Joined && !choices.empty()) last_joined_[choices.back()] = i;
      if (what == Mark::ChoiceEnd && !choices.empty()) choices.pop_back();
      breaks_[i + 1] = breaks_[i] + (what == Mark::OpenLine ? 1 : 0);
      joined_[i + 1] = joined_[i] + (what == Mark::Joined ? 1 : 0);
      if (what == Mark::Group || what == Mark::Row) groups.push_back(i);
      if ((what == Mark::Operator || what == Mark::GroupEnd) && !groups.empty()) {
        partner_[i] = groups.back();
        Group& group = groups_[groups.back()];
        if (what == Mark::Operator) group.operators.push_back(i);
        if (what == Mark::GroupEnd) {
          partner_[groups.back()] = i;
          groups.pop_back();
        }
      }
      if (opens(marks_[i])) open.push_back(i);
      const bool closes = what == Mark::Close || what == Mark::CloseWithComma;
      if (!closes || open.empty()) continue;
      partner_[open.back()] = i;
      partner_[i] = open.back();
      open.pop_back();
    }
  }

  // --- operations

  struct Group {
    std::vector<size_t> operators;  // marks
    bool is_bracketed = false;
    bool is_broken = false;
  };

  // Returns true if the line may be broken at this mark, which is no bracket and no separator.
  bool is_chance(size_t i) const {
    if (marks_[i].what == Mark::Group) return may_break(i);
    if (marks_[i].what == Mark::Operator) return groups_[partner_[i]].is_broken;
    return marks_[i].what == Mark::GroupEnd && groups_[partner_[i]].is_bracketed;
  }

  // Returns true if no operand after an operator has to begin on the line where the operation
  // does.
  bool may_break(size_t i) const {
    const auto& operators = groups_[i].operators;
    if (operators.empty()) return false;
    if (marks_[i + 1].what == Mark::Choice) return last_joined_[i + 1] < operators[0];
    return marks_[i + 1].what != Mark::Joined || joined_[operators[0]] == joined_[partner_[i]];
  }

  void begin(size_t i) {
    copy_to(i);
    Group& group = groups_[i];
    const bool is_row = marks_[i].what == Mark::Row;
    const bool is_whole = !open_.empty() && open_.back() == Layout::Whole;
    if (!may_break(i) || is_whole || (is_row && levels_ == 0)) return;
    size_t next = levels_ > 0 ? partner_[i] + 1 : marks_.size();
    while (next < marks_.size() && marks_[next].what >= Mark::Choice && !is_chance(next)) ++next;
    const size_t end = next < marks_.size() ? position(next) : line_.size();
    const size_t room = room_in(column_);
    const bool may_fit = end - position(i) <= 4 * room;
    if (may_fit && columns_here() + columns_between(position(i), end) <= room) return;
    if (!is_row && is_better_broken_after(i)) return;
    group.is_bracketed = !is_row;
    if (!is_row) {
      out_ += '(';
      ++levels_;
      new_line();
    }
    group.is_broken = is_row || !fits_here(position(i), position(partner_[i]));
  }

  void end(size_t i) {
    if (!is_chance(i)) return;
    copy_to(i);
    --levels_;
    new_line();
    out_ += ')';
  }

  // Returns true if an operation with one operator is better broken in the brackets at its end.
  bool is_better_broken_after(size_t i) const {
    if (groups_[i].operators.size() > 1) return false;
    const size_t at = position(groups_[i].operators[0]), end = position(partner_[i]);
    size_t last = partner_[i] - 1;
    while (marks_[last].what >= Mark::Choice && last > i) --last;
    const bool is_close =
        marks_[last].what == Mark::Close || marks_[last].what == Mark::CloseWithComma;
    if (!is_close) return false;
    const size_t first = partner_[last];
    return position(last) + 1 == end && position(last) > position(first) && position(first) > at &&
           columns_here() + columns_between(position(i), position(first)) <= room_in(column_);
  }

  size_t columns_of(std::string_view text) const { return is_ascii_ ? text.size() : columns(text); }
  size_t columns_here() const { return columns_of(std::string_view(out_).substr(text_)); }
  size_t columns_between(size_t from, size_t to) const {
    return columns_of(std::string_view(line_).substr(from, to - from));
  }
  size_t room_in(size_t column) const { return most_columns(column, length_) - column; }

  // --- brackets

  // Where the lines of a bracket end: nowhere, around its content, or after its items as well.
  enum class Layout : uint8_t { Whole, Content, Items };

  // Returns true if something in the bracket has to be broken.
  bool open(size_t i) {
    const bool must = marks_[i].what == Mark::OpenLine;
    const bool is_full = must || !fits(i);
    const bool is_broken = must || (is_full && i >= held_until_);
    if (!is_broken) {
      open_.push_back(Layout::Whole);
      return is_full;
    }
    ++levels_;
    open_.push_back(content_fits(i) ? Layout::Content : Layout::Items);
    if (marks_[i].what == Mark::OpenBare) out_ += '(';
    new_line();
    return true;
  }

  void close(size_t i) {
    const Layout layout = open_.back();
    open_.pop_back();
    if (layout == Layout::Whole) return;
    --levels_;
    if (layout == Layout::Items && marks_[i].what == Mark::CloseWithComma) out_ += ',';
    new_line();
    if (marks_[partner_[i]].what == Mark::OpenBare) out_ += ')';
  }

  void copy_to(size_t i) {
    out_ += std::string_view(line_).substr(done_, position(i) - done_);
    done_ = position(i);
  }

  // Returns true for a display and for names that are imported: each item gets a line.
  bool is_display(size_t i) const {
    if (marks_[i].what == Mark::OpenBare) return true;
    const size_t at = position(i);
    if (at < 2) return true;
    const char before = line_[at - 2];
    return before == ' ' || before == '(' || before == '[' || before == '{' || before == '*' ||
           before == '=' || before == '-' || before == '~' || before == '+' || before == ':';
  }

  // Returns true if the content of a broken bracket goes on one line.
  bool content_fits(size_t i) const {
    const size_t close = partner_[i];
    if (breaks_[close] != breaks_[i + 1]) return false;
    return fits_here(position(i), position(close)) &&
           (marks_[close].what == Mark::Close || !is_display(i));
  }

  // Returns true if this text fits on a line that is to be begun.
  bool fits_here(size_t from, size_t to) const {
    const size_t room = room_in(indent_ + kIndent * levels_);
    return to - from <= 4 * room && columns_between(from, to) <= room;
  }

  // Returns true if all up to the next possible break after the bracket fits on the current line.
  bool fits(size_t i) const {
    const size_t close = partner_[i];
    // An empty pair of brackets cannot be broken.
    if (position(close) == position(i)) return true;
    size_t next = close + 1;
    while (next < marks_.size() && marks_[next].what >= Mark::Choice && !is_chance(next)) ++next;
    const size_t end = next < marks_.size() ? position(next) : line_.size();
    const size_t room = room_in(column_);
    if (end - position(i) > 4 * room) return false;
    const std::string_view rest = std::string_view(line_).substr(position(i), end - position(i));
    return columns_here() + columns_of(rest) <= room;
  }

  void new_line() {
    while (out_.ends_with(' ')) out_.pop_back();
    out_ += '\n';
    column_ = indent_ + kIndent * std::min(levels_, kMostLevels);
    out_.append(column_, ' ');
    text_ = out_.size();
  }

  std::string line_;
  bool is_ascii_;
  size_t indent_;
  size_t length_;
  const std::vector<Mark>& marks_;
  size_t start_;
  std::vector<size_t> partner_;
  std::vector<Group> groups_;        // of marks that begin one
  std::vector<uint32_t> breaks_;     // how many brackets before the mark have to be broken
  std::vector<uint32_t> joined_;     // how many before the mark have to be on a choice's line
  std::vector<size_t> last_joined_;  // of a choice: the last mark that is to be on its line
  size_t held_until_ = 0;            // no bracket is broken before this mark
  std::vector<Layout> open_;         // of the enclosing brackets
  size_t levels_ = 0;                // how many of them are broken
  std::string out_;
  size_t done_ = 0;
  size_t column_;    // where the text of the last line of `out_` starts
  size_t text_ = 0;  // the same, as a place in `out_`
};

}  // namespace

void wrap_line(std::string& out, size_t start, size_t indent, size_t length,
               const std::vector<Mark>& marks, bool must) {
  const std::string_view line = std::string_view(out).substr(start);
  const size_t most = most_columns(indent, length);
  if (marks.empty() || (line.size() <= most && !must)) return;
  // Lines in deep nests are mostly indentation, which is not counted.
  const std::string_view text = line.substr(std::min(indent, line.size()));
  if (indent + columns(text) <= most && !must) return;
  // A literal that spans lines keeps them.
  if (text.find('\n') != std::string_view::npos) return;
  const size_t text_start = out.size() - text.size();
  const std::string wrapped = Wrapper(std::string(text), indent, length, marks, text_start).run();
  out.resize(text_start);
  out += wrapped;
}

}  // namespace pellucid::print
