// SPDX-License-Identifier: Apache-2.0
// The layout is close to black's. From the left, each bracket whose content fits is left alone.
// Otherwise its content is put on a separate line if it fits there and the bracket is not a
// display, and else each of its items. These lines are then treated in the same way. An operation
// that has to begin on the line of the choice around it prevents that for the brackets before it.
//
// A value or a condition that does not fit is put in brackets, and broken before its operators if
// that is not enough. With no operator, or with a single one beside a bracket at its start or end,
// it is broken in the brackets that it has, unless these are not on the first line or brackets keep
// the target of an assignment whole. An operation that is an item gets brackets only if it is a
// conditional.
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

bool closes(const Mark& mark) {
  return mark.what == Mark::Close || mark.what == Mark::CloseWithComma;
}

// `text` is the line without its indentation; it starts at `start` of what the marks count.
class Wrapper {
 public:
  Wrapper(std::string text, size_t indent, size_t length, const std::vector<Mark>& marks,
          size_t start)
      : line_(std::move(text)),
        is_ascii_(is_ascii(line_)),
        has_lines_(line_.find('\n') != line_.npos),
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
        case Mark::OpenCall:
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
      if (opens(marks_[i])) {
        open.push_back(i);
        first_open_ = std::min(first_open_, i);
      }
      if (!closes(marks_[i]) || open.empty()) continue;
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
    if (marks_[i].what == Mark::Group) {
      return may_break(i) && (!groups_[i].operators.empty() || starts_in_brackets(i));
    }
    if (marks_[i].what == Mark::Operator) return groups_[partner_[i]].is_broken;
    return marks_[i].what == Mark::GroupEnd && groups_[partner_[i]].is_bracketed;
  }

  // Returns true if a value may get brackets. One with operators may if no operand after the first
  // one has to begin on the line where the operation does; another one unless it is a statement, or
  // after a bracket that it is not assigned to.
  bool may_break(size_t i) const {
    const auto& operators = groups_[i].operators;
    if (operators.empty()) {
      const bool is_value = marks_[i].what == Mark::Group && position(i) > 0;
      return is_value && (i < first_open_ || is_assigned(i));
    }
    if (marks_[i + 1].what == Mark::Choice) return last_joined_[i + 1] < operators[0];
    return marks_[i + 1].what != Mark::Joined || joined_[operators[0]] == joined_[partner_[i]];
  }

  void begin(size_t i) {
    copy_to(i);
    Group& group = groups_[i];
    const bool is_row = marks_[i].what == Mark::Row;
    const bool is_whole = !open_.empty() && open_.back() == Layout::Whole;
    if (!may_break(i) || is_whole || (is_row && levels_ == 0)) return;
    if (fits_on_line(i, levels_ > 0 ? partner_[i] + 1 : marks_.size())) return;
    if (!is_row && is_better_bare(i)) return;
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

  // Returns true if a value is better broken in the brackets that it has than put in new ones.
  bool is_better_bare(size_t i) const {
    const size_t operators = groups_[i].operators.size();
    if (operators > 1) return false;
    const size_t first = first_bracket(i);
    if (first == partner_[i]) return operators == 0 && !starts_in_brackets(i);
    size_t last = partner_[i] - 1;
    while (!closes(marks_[last]) || is_empty(last)) --last;
    if (operators == 1 && !hugs(i, first, last)) return false;
    const size_t start = position(i), room = room_in(column_);
    const bool reaches = columns_here() + columns_between(start, position(first)) <= room;
    if (!reaches) return !starts_in_brackets(i);
    if (i < first_open_ || !is_assigned(i)) return true;
    const size_t tail = partner_[last];
    return columns_here() + 1 > room || std::any_of(at(i), at(tail), closes) ||
           columns_here() + columns_between(start, position(tail)) <= room;
  }

  // Returns true if an operation starts or ends with a bracket that is worth breaking. `first` and
  // `last`: the first bracket in it that opens, and the last one that closes.
  bool hugs(size_t i, size_t first, size_t last) const {
    const size_t start = position(i), end = position(partner_[i]), room = room_in(next_column());
    if (position(first) == start + 1) {
      const auto next = std::find_if(at(partner_[first]), at(partner_[i]), opens);
      const size_t rest = next->at - start_;
      if (columns_between(position(partner_[first]), rest) <= room) return true;
    }
    const size_t tail = partner_[last];
    const bool is_index = marks_[tail].what == Mark::OpenCall && line_[position(last)] == ']';
    if (position(last) + 1 != end || is_index) return false;
    return std::any_of(at(i), at(tail), opens) || columns_between(start, position(tail)) <= room;
  }

  std::vector<Mark>::const_iterator at(size_t i) const {
    return marks_.begin() + static_cast<std::ptrdiff_t>(i);
  }

  bool is_empty(size_t bracket) const { return position(bracket) == position(partner_[bracket]); }
  bool is_assigned(size_t i) const {
    return std::string_view(line_).substr(0, position(i)).ends_with(" = ");
  }
  size_t next_column() const { return indent_ + kIndent * (levels_ + 1); }

  // Returns the first bracket in a value that has content, or the end of the value.
  size_t first_bracket(size_t i) const {
    size_t first = i + 1;
    while (first < partner_[i] && (!opens(marks_[first]) || is_empty(first))) ++first;
    return first;
  }

  // Returns true if a value that is put in brackets fits there, up to its own first bracket.
  bool starts_in_brackets(size_t i) const {
    const size_t room = room_in(next_column());
    const size_t start = position(i), end = position(first_bracket(i));
    return end - start <= 4 * room && columns_between(start, end) <= room;
  }

  // Returns true if all up to the next chance to break the line, from the mark `next` on, fits.
  bool fits_on_line(size_t i, size_t next) const {
    while (next < marks_.size() && marks_[next].what >= Mark::Choice && !is_chance(next)) ++next;
    size_t end = next < marks_.size() ? position(next) : line_.size(), added = 0;
    if (next < marks_.size()) {
      const Mark::What what = marks_[next].what;
      const bool has_comma =
          what == Mark::CloseWithComma && !open_.empty() && open_.back() == Layout::Items;
      if (what == Mark::Group || has_comma) added = 1;
      if ((what == Mark::Separator || what == Mark::Operator) && line_[end - 1] == ' ') --end;
    }
    const size_t room = room_in(column_), start = position(i);
    auto text = std::string_view(line_).substr(start, std::min(end - start, 4 * room + 1));
    const size_t lines = has_lines_ ? text.find('\n') : text.npos;
    if (lines != text.npos) {
      text = text.substr(0, lines);
      added = 0;
    }
    return text.size() <= 4 * room && columns_here() + columns_of(text) + added <= room;
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
    const auto text = std::string_view(line_).substr(done_, position(i) - done_);
    out_ += text;
    done_ = position(i);
    const size_t end = has_lines_ ? text.rfind('\n') : text.npos;
    if (end == text.npos) return;
    text_ = out_.size() - (text.size() - end - 1);
    column_ = 0;
  }

  // Returns true if the content of a broken bracket is put on one line. The items of a display and
  // imported names are not.
  bool content_fits(size_t i) const {
    const size_t close = partner_[i];
    if (breaks_[close] != breaks_[i + 1]) return false;
    const auto text = std::string_view(line_).substr(position(i), position(close) - position(i));
    const bool is_short = fits_here(position(i), position(close)) && text.find('\n') == text.npos;
    return is_short && (marks_[close].what == Mark::Close || marks_[i].what == Mark::OpenCall);
  }

  // Returns true if this text fits on a line that is to be begun.
  bool fits_here(size_t from, size_t to) const {
    const size_t room = room_in(indent_ + kIndent * levels_);
    return to - from <= 4 * room && columns_between(from, to) <= room;
  }

  // Returns true if all up to the next possible break after the bracket fits on the current line.
  bool fits(size_t i) const {
    // An empty pair of brackets cannot be broken.
    return is_empty(i) || fits_on_line(i, partner_[i] + 1);
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
  bool has_lines_;  // a literal spans lines
  size_t indent_;
  size_t length_;
  const std::vector<Mark>& marks_;
  size_t start_;
  std::vector<size_t> partner_;
  size_t first_open_ = SIZE_MAX;     // the first bracket of the line
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

// Marks the brackets that hold several items, one of which spans lines, as always broken. The marks
// count from `start` on.
void break_around_lines(std::string_view text, size_t start, std::vector<Mark>& marks) {
  struct Bracket {
    size_t mark;
    size_t lines;  // before it
    bool has_items;
  };
  std::vector<Bracket> open;
  size_t lines = 0, done = 0;
  for (size_t i = 0; i < marks.size(); ++i) {
    const size_t at = marks[i].at - start;
    lines += static_cast<size_t>(std::count(&text[done], &text[at], '\n'));
    done = at;
    if (opens(marks[i])) open.push_back({i, lines, false});
    if (open.empty()) continue;
    if (marks[i].what == Mark::Separator) open.back().has_items = true;
    if (!closes(marks[i])) continue;
    Mark& first = marks[open.back().mark];
    if (open.back().has_items && open.back().lines < lines && first.what != Mark::OpenBare) {
      first.what = Mark::OpenLine;
    }
    open.pop_back();
  }
}

}  // namespace

void wrap_line(std::string& out, size_t start, size_t indent, size_t length,
               std::vector<Mark>& marks, bool must) {
  const std::string_view line = std::string_view(out).substr(start);
  const size_t most = most_columns(indent, length);
  if (marks.empty() || (line.size() <= most && !must)) return;
  // Lines in deep nests are mostly indentation, which is not counted.
  const std::string_view text = line.substr(std::min(indent, line.size()));
  if (indent + columns(text) <= most && !must) return;
  const size_t text_start = out.size() - text.size();
  if (text.find('\n') != text.npos) break_around_lines(text, text_start, marks);
  const std::string wrapped = Wrapper(std::string(text), indent, length, marks, text_start).run();
  out.resize(text_start);
  out += wrapped;
}

}  // namespace pellucid::print
