// From the left, each bracket whose content fits is left alone; any other gets its items on lines
// of their own, and then the items are looked at in the same way. What has to begin on the line of
// the choice around it keeps the brackets in front of it from that.
#include "print/wrap.h"

#include <algorithm>

namespace pellucid::print {

namespace {

constexpr size_t kIndent = 4;
// Where indentation takes most of a line, this much text still fits behind it.
constexpr size_t kLeastText = 40;

size_t most_columns(size_t indent) { return std::max(kMaxColumns, indent + kLeastText); }

size_t columns(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

bool opens(const Mark& mark) { return mark.what == Mark::Open || mark.what == Mark::OpenLine; }

// `text` is the line without its indentation; it starts at `start` of what the marks count.
class Wrapper {
 public:
  Wrapper(std::string text, size_t indent, const std::vector<Mark>& marks, size_t start)
      : line_(std::move(text)), indent_(indent), marks_(marks), start_(start), column_(indent) {
    match();
  }

  std::string run() {
    size_t i = 0;
    while (i < marks_.size()) {
      const Mark& mark = marks_[i];
      switch (mark.what) {
        case Mark::Open:
        case Mark::OpenLine:
          copy_to(i);
          // Nothing in it needs to be looked at.
          if (!open(i) && breaks_[partner_[i]] == breaks_[i]) {
            i = partner_[i];
            copy_to(i);
            open_.pop_back();
          }
          break;
        case Mark::Separator:
          copy_to(i);
          if (!open_.empty() && open_.back()) new_line();
          break;
        case Mark::Close:
        case Mark::CloseWithComma:
          copy_to(i);
          if (!open_.empty()) close(mark.what);
          break;
        case Mark::Choice:
          held_until_ = std::max(held_until_, last_joined_[i]);
          break;
        case Mark::Joined:
        case Mark::ChoiceEnd:
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
    last_joined_.resize(marks_.size(), 0);
    std::vector<size_t> open, choices;
    for (size_t i = 0; i < marks_.size(); ++i) {
      const Mark::What what = marks_[i].what;
      if (what == Mark::Choice) choices.push_back(i);
      if (what == Mark::Joined && !choices.empty()) last_joined_[choices.back()] = i;
      if (what == Mark::ChoiceEnd && !choices.empty()) choices.pop_back();
      breaks_[i + 1] = breaks_[i] + (marks_[i].what == Mark::OpenLine ? 1 : 0);
      if (opens(marks_[i])) open.push_back(i);
      const bool closes = what == Mark::Close || what == Mark::CloseWithComma;
      if (!closes || open.empty()) continue;
      partner_[open.back()] = i;
      open.pop_back();
    }
  }

  // Whether something in the bracket is to be broken.
  bool open(size_t i) {
    const bool must = marks_[i].what == Mark::OpenLine;
    const bool is_full = must || !fits(i);
    const bool is_broken = must || (is_full && i >= held_until_);
    open_.push_back(is_broken);
    if (!is_broken) return is_full;
    ++levels_;
    new_line();
    return true;
  }

  void close(Mark::What what) {
    const bool is_broken = open_.back();
    open_.pop_back();
    if (!is_broken) return;
    --levels_;
    if (what == Mark::CloseWithComma) out_ += ',';
    new_line();
  }

  void copy_to(size_t i) {
    out_ += std::string_view(line_).substr(done_, position(i) - done_);
    done_ = position(i);
  }

  // Whether all up to the next chance of a break behind the bracket fits on the current line.
  bool fits(size_t i) const {
    const size_t close = partner_[i];
    // An empty pair of brackets cannot be broken.
    if (position(close) == position(i)) return true;
    size_t next = close + 1;
    while (next < marks_.size() && marks_[next].what >= Mark::Choice) ++next;
    const size_t end = next < marks_.size() ? position(next) : line_.size();
    const size_t room = most_columns(column_) - column_;
    if (end - position(i) > 4 * room) return false;
    const std::string_view rest = std::string_view(line_).substr(position(i), end - position(i));
    return columns(std::string_view(out_).substr(text_)) + columns(rest) <= room;
  }

  void new_line() {
    while (out_.ends_with(' ')) out_.pop_back();
    out_ += '\n';
    column_ = indent_ + kIndent * levels_;
    out_.append(column_, ' ');
    text_ = out_.size();
  }

  std::string line_;
  size_t indent_;
  const std::vector<Mark>& marks_;
  size_t start_;
  std::vector<size_t> partner_;
  std::vector<uint32_t> breaks_;     // how many brackets before the mark have to be broken
  std::vector<size_t> last_joined_;  // of a choice: the last mark that is to be on its line
  size_t held_until_ = 0;            // no bracket is broken in front of this mark
  std::vector<bool> open_;           // the brackets around: whether their items stand on lines
  size_t levels_ = 0;                // how many of them do
  std::string out_;
  size_t done_ = 0;
  size_t column_;    // where the text of the last line of `out_` starts
  size_t text_ = 0;  // the same, as a place in `out_`
};

}  // namespace

void wrap_line(std::string& out, size_t start, size_t indent, const std::vector<Mark>& marks) {
  const std::string_view line = std::string_view(out).substr(start);
  const bool must = std::any_of(marks.begin(), marks.end(),
                                [](const Mark& mark) { return mark.what == Mark::OpenLine; });
  const size_t most = most_columns(indent);
  if (marks.empty() || (line.size() <= most && !must)) return;
  // Of lines in deep nests most is indentation: nobody need look at it.
  const std::string_view text = line.substr(std::min(indent, line.size()));
  if (indent + columns(text) <= most && !must) return;
  // A literal that spans lines keeps them.
  if (text.find('\n') != std::string_view::npos) return;
  const size_t text_start = out.size() - text.size();
  const std::string wrapped = Wrapper(std::string(text), indent, marks, text_start).run();
  out.resize(text_start);
  out += wrapped;
}

}  // namespace pellucid::print
