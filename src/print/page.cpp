// SPDX-License-Identifier: Apache-2.0
#include "print/page.h"

#include <algorithm>

#include "ast/nodes.h"
#include "object/identifiers.h"
#include "print/expressions.h"
#include "print/lines.h"
#include "print/wrap.h"

namespace pellucid::print {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

// The levels of indentation at which CPython's tokenizer stops (MAXINDENT).
constexpr uint32_t kMaxIndents = 100;

// Returns true if a statement may follow another one after a semicolon.
bool can_share_a_line(const ast::Tree& tree, NodeId id) {
  switch (tree.kind(id)) {
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
      return ast::category_of(tree.kind(id)) == ast::Category::Stmt;
  }
}

bool is_stub(const ast::Tree& tree, NodeId statement) {
  return tree.is(statement, Kind::Expr) &&
         ast::is_constant(tree, tree.as<ast::Expr>(statement).value, object::ConstKind::Ellipsis);
}

// Returns true if a body has to follow its header on the same line to be on its original line. A
// body without instructions takes no separate line.
bool stands_on_this_line(const Page& page, ListId list) {
  const auto items = page.tree.items(list);
  if (items.empty()) return true;
  const bool is_simple = std::all_of(
      items.begin(), items.end(), [&](NodeId item) { return can_share_a_line(page.tree, item); });
  const int32_t line = line_of(page.tree, items[0]);
  if (!is_simple) return false;
  return line > 0 ? line <= static_cast<int64_t>(page.writer.line)
                  : page.tree.is(items[0], Kind::Pass);
}

// Returns how many blank lines black has between two statements of a body.
uint32_t blank_lines_between(const ast::Tree& tree, NodeId previous, NodeId id, uint32_t depth) {
  if (!previous.valid()) return 0;
  constexpr ast::Kinds kImports = {Kind::Import, Kind::ImportFrom};
  const Kind before = tree.kind(previous), after = tree.kind(id);
  if (is_definition(tree, previous) || (is_definition(tree, id) && before != Kind::Comment))
    return depth == 0 ? 2 : 1;
  return kImports.has(before) && !kImports.has(after) ? 1 : 0;
}

bool is_before(const ast::Loss& a, const ast::Loss& b) { return a.statement < b.statement; }

std::string words_of(const Page& page, const ast::Loss& loss) {
  if (loss.lost == ast::Lost::Annotation) return "an annotation was here";
  constexpr size_t kLongest = 40;
  const std::string value = to_literal(page.tree.module(), loss.value, page.style);
  const bool is_short = value.size() <= kLongest && value.find('\n') == std::string::npos;
  return (is_short ? value : "a constant") + " was written as an expression";
}

}  // namespace

Page::Page(const ast::Tree& from, const Style& wanted)
    : tree(from),
      style(wanted),
      out(source.text),
      writer(from.module(), &from, wanted.version, source.text),
      losses(from.losses().begin(), from.losses().end()) {
  std::stable_sort(losses.begin(), losses.end(), is_before);
}

void Page::needs(int minor, const char* what) {
  writer.problem(std::string(what) + " needs Python 3." + std::to_string(minor));
}

void Page::word(Symbol symbol) {
  const std::string_view name = tree.text(symbol);
  if (writer.is_plain_word(symbol, name)) {
    out += name;
    return;
  }
  // An import may have dots, and `from . import a` no module.
  const bool is_written_so = name.empty() || name == "*" || object::is_dotted(name);
  if (is_written_so) {
    out += name;
  } else {
    out += object::as_identifier(name);
  }
}

void Page::expression(NodeId id, Place at) { print::expression(writer, id, at); }

void Page::place(NodeId id, uint32_t depth, NodeId previous, uint32_t blank_lines) {
  where = tree.where(id);
  if (style.keep_lines) {
    const int32_t to = line_of(tree, id);
    const bool continues_line = to > 0 && to < static_cast<int64_t>(line);
    if (continues_line && previous.valid() && can_share_a_line(tree, previous) &&
        can_share_a_line(tree, id)) {
      append_to_line("; ");
      map_line(id);
      return;
    }
    if (to > static_cast<int64_t>(line)) settle_pass();
    if (to > static_cast<int64_t>(line) && to <= kLastKeptLine) {
      out.append(static_cast<size_t>(to) - line, '\n');
      line = static_cast<uint32_t>(to);
    }
  } else {
    uint32_t count = std::max(blank_lines, blank_lines_between(tree, previous, id, depth));
    if (ended_definition) count = std::max(count, depth == 0 && previous.valid() ? 2u : 1u);
    skip_lines(count);
  }
  begin_line(depth);
  map_line(id);
}

void Page::skip_lines(uint32_t count) {
  out.append(count, '\n');
  line += count;
}

void Page::append_to_line(const char* separator) {
  if (out.ends_with('\n')) {
    out.pop_back();
    --line;
  } else {
    line = writer.line;
  }
  out += separator;
  line_start = out.size();
  writer.keep_lines_from(line, kIndent * (line_depth + 1), false);
}

void Page::settle_pass() {
  constexpr std::string_view kPass = " pass\n";
  if (pass_at == 0 || pass_at + kPass.size() != out.size()) return;
  out.resize(pass_at);
  out += '\n';
  out.append(size_t{kIndent} * pass_depth, ' ');
  out += kPass.substr(1);
  ++line;
}

void Page::settle_losses() {
  if (lost.empty()) return;
  out.insert(out.find_last_not_of('\n') + 1, "  # " + lost);
  lost.clear();
}

void Page::begin_line(uint32_t depth) {
  settle_losses();
  ended_definition = false;
  if (depth == kMaxIndents) writer.problem("more than 100 levels of indentation");
  // Further in, the text is refused, and all indentation would add up to the square of the lines.
  line_depth = std::min(depth, kMaxIndents);
  line_start = out.size();
  out.append(size_t{kIndent} * line_depth, ' ');
  if (style.keep_lines) writer.keep_lines_from(line, kIndent * (line_depth + 1), true);
}

void Page::end_line() {
  const size_t indent = size_t{kIndent} * line_depth;
  // A column takes at least one byte: most lines need no look.
  const bool may_be_long = out.size() - line_start > style.line_length || writer.has_broken_line;
  if (!style.keep_lines && may_be_long) {
    wrap_line(out, line_start, indent, style.line_length, writer.marks, writer.has_broken_line);
  }
  out += '\n';
  const size_t text = style.keep_lines ? line_start : line_start + indent;
  for (size_t at = out.find('\n', text); at != out.npos; at = out.find('\n', at + 1)) ++line;
  writer.marks.clear();
  writer.has_broken_line = false;
  for (std::string& message : writer.problems) {
    source.problems.push_back({where, std::move(message)});
  }
  writer.problems.clear();
}

void Page::map_line(NodeId id) {
  source.map.push_back({line, tree.where(id)});
  const auto [first, last] =
      std::equal_range(losses.begin(), losses.end(), ast::Loss{id, {}}, is_before);
  constexpr size_t kMost = 120;  // characters: after these, the rest is not told apart
  for (auto loss = first; loss != last; ++loss) {
    if (lost.size() > kMost) {
      lost += "; and more";
      break;
    }
    const std::string words = words_of(*this, *loss);
    if (lost.find(words) != std::string::npos) continue;
    if (!lost.empty()) lost += "; ";
    lost += words;
  }
}

void Page::push(Step::What what, uint32_t id, uint32_t depth, const char* text) {
  Step step{what};
  step.id = id;
  step.depth = depth;
  step.text = text;
  work.push_back(step);
}

void Page::body(ListId list, uint32_t depth, Owner owner) {
  push(Step::Body, list.value, depth);
  work.back().owner = owner;
  work.back().may_have_docstring = owner != Owner::Block;
}

void Page::clause(const char* text, ListId list, uint32_t depth) {
  if (tree.items(list).empty()) return;
  push(Step::Line, list.value, depth, text);
}

void Page::end_header(ListId list, uint32_t depth, Owner owner) {
  out += ':';
  const auto items = tree.items(list);
  const bool may_be_stub = owner != Owner::Block && !style.keep_lines && items.size() == 1;
  if (may_be_stub && is_stub(tree, items[0])) {
    map_line(items[0]);
    out += " ...";
    return end_line();
  }
  body(list, depth, owner);
  if (style.keep_lines && stands_on_this_line(*this, list)) {
    work.back().is_inline = true;
  } else {
    end_line();
  }
}

}  // namespace pellucid::print
