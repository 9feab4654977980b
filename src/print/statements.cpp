// SPDX-License-Identifier: Apache-2.0
#include "print/statements.h"

#include <algorithm>

#include "print/lines.h"
#include "print/wrap.h"

namespace pellucid::print {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

// The levels of indentation at which CPython's tokenizer stops (MAXINDENT).
constexpr uint32_t kMaxIndents = 100;

bool is_definition(const ast::Tree& tree, NodeId id) {
  return tree.is(id, Kind::FunctionDef) || tree.is(id, Kind::ClassDef);
}

}  // namespace

Statements::Statements(const ast::Tree& tree, const Style& style)
    : tree_(tree),
      style_(style),
      out_(source_.text),
      expressions_(tree.module(), &tree, style.version, source_.text) {}

Source Statements::run(NodeId root) {
  try {
    print(root);
  } catch (const InternalError& bug) {
    source_.failure = Problem{where_, bug.what()};
  }
  return std::move(source_);
}

void Statements::print(NodeId root) {
  const auto category = ast::category_of(tree_.kind(root));
  if (category == ast::Category::Mod) {
    const ListId list = tree_.as<ast::Module>(root).body;
    if (!tree_.items(list).empty()) body(list, style_.indent, true);
  } else {
    where_ = tree_.where(root);
    place(root, style_.indent, NodeId());
    if (category == ast::Category::Stmt) {
      statement(root, style_.indent);
    } else {
      PELLUCID_CHECK(category == ast::Category::Expr);
      expression(root, kTopLevel);
      end_line();
    }
    std::reverse(work_.begin(), work_.end());
  }
  run_steps();
  settle_pass();
}

void Statements::run_steps() {
  while (!work_.empty()) {
    const Step next = work_.back();
    work_.pop_back();
    const auto mark = static_cast<std::ptrdiff_t>(work_.size());
    step(next);
    // A step pushes its pieces in reading order; the first has to be on top.
    std::reverse(work_.begin() + mark, work_.end());
  }
}

void Statements::step(const Step& step) {
  if (step.what == Step::Body) {
    next_in_body(step);
    return;
  }
  if (step.what == Step::Line) {
    begin_line(step.depth);
    out_ += step.text;
    end_header(ListId(step.id), step.depth + 1);
    return;
  }
  const NodeId id(step.id);
  place(id, step.depth, NodeId());
  if (step.what == Step::Handler) {
    handler(id, step.depth, step.text);
  } else if (step.what == Step::Case) {
    match_case(id, step.depth);
  } else {
    conditional(id, step.depth, "elif ");
  }
}

void Statements::next_in_body(Step step) {
  const auto items = tree_.items(ListId(step.id));
  if (step.index == items.size()) {
    if (!step.is_empty) return;
    if (!step.is_inline) {
      begin_line(step.depth);
      out_ += "pass";
      end_line();
    } else if (step.is_empty) {
      pass_at_ = out_.size();
      pass_depth_ = step.depth;
      out_ += " pass";
      end_line();
    }
    return;
  }
  const NodeId id = items[step.index];
  if (step.is_inline) {
    where_ = tree_.where(id);
    if (items.size() == 1 && tree_.is(id, Kind::Pass) && where_.line <= 0) {
      pass_at_ = out_.size();
      pass_depth_ = step.depth;
    }
    behind(step.index > 0 ? "; " : " ");
    map_line(id);
  } else {
    place(id, step.depth, step.index > 0 ? items[step.index - 1] : NodeId());
  }
  if (step.may_have_docstring && is_docstring(id)) {
    docstring(id, step.depth, step.index + 1 < items.size() ? items[step.index + 1] : NodeId());
  } else {
    statement(id, step.depth);
  }
  const bool is_comment = tree_.is(id, Kind::Comment);
  step.is_empty = step.is_empty && is_comment;
  step.may_have_docstring = step.may_have_docstring && is_comment;
  ++step.index;
  work_.push_back(step);
}

void Statements::statement(NodeId id, uint32_t depth) {
  switch (tree_.kind(id)) {
    case Kind::FunctionDef:
      function(id, depth);
      break;
    case Kind::ClassDef:
      class_definition(id, depth);
      break;
    case Kind::For:
      for_loop(id, depth);
      break;
    case Kind::While:
      while_loop(id, depth);
      break;
    case Kind::If:
      conditional(id, depth, "if ");
      break;
    case Kind::With:
      with(id, depth);
      break;
    case Kind::Try:
      try_statement(id, depth);
      break;
    case Kind::Match:
      match(id, depth);
      break;
    case Kind::Unstructured:
      unstructured(id, depth);
      break;
    default:
      simple(id, depth);
      end_line();
      break;
  }
}

// --- lines ---

bool Statements::can_share_a_line(NodeId id) const {
  switch (tree_.kind(id)) {
    case Kind::FunctionDef:
    case Kind::ClassDef:
    case Kind::For:
    case Kind::While:
    case Kind::If:
    case Kind::With:
    case Kind::Try:
    case Kind::Match:
    case Kind::Unstructured:
    case Kind::Comment:
      return false;
    default:
      return ast::category_of(tree_.kind(id)) == ast::Category::Stmt;
  }
}

// Goes to the line where a statement, or a clause with a node, starts.
void Statements::place(NodeId id, uint32_t depth, NodeId previous) {
  where_ = tree_.where(id);
  if (style_.keep_lines) {
    const int32_t line = line_of(tree_, id);
    const bool is_behind = line > 0 && line < static_cast<int64_t>(line_);
    if (is_behind && previous.valid() && can_share_a_line(previous) && can_share_a_line(id)) {
      behind("; ");
      map_line(id);
      return;
    }
    if (line > static_cast<int64_t>(line_)) settle_pass();
    if (line > static_cast<int64_t>(line_) && line <= kLastKeptLine) {
      out_.append(static_cast<size_t>(line) - line_, '\n');
      line_ = static_cast<uint32_t>(line);
    }
  } else if (previous.valid() &&
             (is_definition(tree_, previous) ||
              (is_definition(tree_, id) && !tree_.is(previous, Kind::Comment)))) {
    const uint32_t count = depth == 0 ? 2 : 1;
    out_.append(count, '\n');
    line_ += count;
  }
  begin_line(depth);
  map_line(id);
}

// Moves a `pass` to its usual place, a separate line, if the text after it leaves room. A `pass`
// has no instruction, and so no line: at first it is written after its header.
void Statements::settle_pass() {
  constexpr std::string_view kPass = " pass\n";
  if (pass_at_ == 0 || pass_at_ + kPass.size() != out_.size()) return;
  out_.resize(pass_at_);
  out_ += '\n';
  out_.append(size_t{kIndent} * pass_depth_, ' ');
  out_ += kPass.substr(1);
  ++line_;
}

// Continues after the text that was written last.
void Statements::behind(const char* separator) {
  if (out_.ends_with('\n')) {
    out_.pop_back();
    --line_;
  } else {
    line_ = expressions_.line();
  }
  out_ += separator;
  line_start_ = out_.size();
  expressions_.keep_lines_from(line_, kIndent * (line_depth_ + 1), false);
}

void Statements::begin_line(uint32_t depth) {
  if (depth == kMaxIndents) expressions_.problem("more than 100 levels of indentation");
  line_start_ = out_.size();
  line_depth_ = depth;
  out_.append(size_t{kIndent} * depth, ' ');
  if (style_.keep_lines) expressions_.keep_lines_from(line_, kIndent * (depth + 1), true);
}

void Statements::end_line() {
  const size_t indent = size_t{kIndent} * line_depth_;
  if (!style_.keep_lines) wrap_line(out_, line_start_, indent, expressions_.marks());
  out_ += '\n';
  const size_t text = style_.keep_lines ? line_start_ : line_start_ + indent;
  const auto start = out_.begin() + static_cast<std::ptrdiff_t>(text);
  line_ += static_cast<uint32_t>(std::count(start, out_.end(), '\n'));
  expressions_.marks().clear();
  for (std::string& message : expressions_.problems()) {
    source_.problems.push_back({where_, std::move(message)});
  }
  expressions_.problems().clear();
}

void Statements::map_line(NodeId id) { source_.map.push_back({line_, tree_.where(id)}); }

void Statements::needs(int minor, const char* what) {
  expressions_.problem(std::string(what) + " needs Python 3." + std::to_string(minor));
}

// --- the layer's interface ---

Source to_source(const ast::Tree& tree, NodeId root, const Style& style) {
  return Statements(tree, style).run(root);
}

std::string to_literal(const object::Module& module, object::ConstId id, const Style& style) {
  std::string out;
  Expressions(module, nullptr, style.version, out).constant(id, kTest);
  return out;
}

}  // namespace pellucid::print
