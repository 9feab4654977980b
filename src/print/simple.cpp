// SPDX-License-Identifier: Apache-2.0
#include "print/simple.h"

#include <algorithm>
#include <string>

#include "ast/lines.h"
#include "object/repr.h"
#include "print/expressions.h"
#include "print/lines.h"

namespace pellucid::print {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

// The limit of dots in a relative import: no path is as long.
constexpr uint32_t kMostDots = 1000;

void lazily(Page& page, uint32_t is_lazy) {
  if (is_lazy == 0) return;
  if (page.before(15)) page.needs(15, "a lazy import");
  page.out += "lazy ";
}

void aliases(Page& page, ListId list, bool breakable) {
  bool first = true;
  for (const NodeId each : page.tree.items(list)) {
    const auto node = page.tree.as<ast::alias>(each);
    if (!first) page.writer.comma(breakable);
    first = false;
    page.word(node.name);
    if (!node.asname.valid()) continue;
    page.out += " as ";
    page.word(node.asname);
  }
}

void names(Page& page, ListId list) {
  bool first = true;
  for (const NodeId each : page.tree.items(list)) {
    if (!first) page.out += ", ";
    first = false;
    page.word(page.tree.as<ast::Name>(each).id);
  }
}

void assign(Page& page, NodeId id) {
  const auto node = page.tree.as<ast::Assign>(id);
  Place target_place = {Level::Test, Place::kTuple | Place::kTarget};
  if (!page.before(11) && ast::keeps_order(page.tree, node)) target_place.flags |= Place::kApart;
  for (const NodeId target : page.tree.items(node.targets)) {
    page.expression(target, target_place);
    page.out += " = ";
  }
  Place value_place = whole(kTopLevel);
  if (!page.before(12) && ast::starts_after_prefix(page.tree, node))
    value_place.flags |= Place::kApart;
  page.expression(node.value, value_place);
}

void type_alias(Page& page, NodeId id) {
  const auto node = page.tree.as<ast::TypeAlias>(id);
  if (page.before(12)) page.needs(12, "a type alias");
  page.out += "type ";
  page.expression(node.name, at(Level::Primary));
  type_parameters(page.writer, node.type_params);
  page.out += " = ";
  page.expression(node.value, whole(kTest));
}

void augmented_assign(Page& page, NodeId id) {
  const auto node = page.tree.as<ast::AugAssign>(id);
  page.expression(node.target, at(Level::Primary));
  page.out += kAugmented[node.op];
  Place place = kTopLevel;
  if (page.before(9)) place.flags |= Place::kNoStar;
  page.expression(node.value, whole(place));
}

void annotated_assign(Page& page, NodeId id) {
  const auto node = page.tree.as<ast::AnnAssign>(id);
  // `(x): int` declares nothing in the scope, unlike `x: int`.
  const bool parens = node.simple == 0 && page.tree.is(node.target, Kind::Name);
  if (parens) page.out += '(';
  page.expression(node.target, at(Level::Primary));
  if (parens) page.out += ')';
  page.out += ": ";
  page.expression(node.annotation, kTest);
  if (!node.value.valid()) return;
  page.out += " = ";
  page.expression(node.value, whole(kTopLevel));
}

void delete_targets(Page& page, NodeId id) {
  page.out += "del ";
  bool first = true;
  for (const NodeId target : page.tree.items(page.tree.as<ast::Delete>(id).targets)) {
    if (!first) page.out += ", ";
    first = false;
    page.expression(target, at(Level::Primary));
  }
}

void raise(Page& page, NodeId id) {
  const auto node = page.tree.as<ast::Raise>(id);
  page.out += "raise";
  if (!node.exc.valid()) return;
  page.out += ' ';
  page.expression(node.exc, kTest);
  if (!node.cause.valid()) return;
  page.out += " from ";
  page.expression(node.cause, kTest);
}

void assertion(Page& page, NodeId id) {
  const auto node = page.tree.as<ast::Assert>(id);
  page.out += "assert ";
  constexpr Place kAsserted = {Level::Test, Place::kBranch};
  constexpr ast::Kinds kUnbreakable = {Kind::Constant, Kind::JoinedStr};
  const bool is_wrapped = !node.msg.valid() || kUnbreakable.has(page.tree.kind(node.msg));
  page.expression(node.test, is_wrapped ? whole(kAsserted) : kAsserted);
  if (!node.msg.valid()) return;
  page.out += ", ";
  page.expression(node.msg, kTest);
}

void import_from(Page& page, NodeId id) {
  const auto node = page.tree.as<ast::ImportFrom>(id);
  lazily(page, node.is_lazy);
  page.out += "from ";
  if (node.level <= kMostDots) {
    page.out.append(node.level, '.');
  } else {
    page.writer.problem("an import from so many packages further out that nobody can write it");
  }
  if (node.module.valid()) page.word(node.module);
  page.out += " import ";
  // No brackets may stand around a star.
  const bool breakable = page.tree.items(node.names).size() > 1;
  if (breakable) page.writer.write_opening("", Mark::OpenBare);
  aliases(page, node.names, breakable);
  if (breakable) page.writer.write_closing("", Mark::CloseWithComma);
}

// --- docstrings ---

size_t line_end(std::string_view text, size_t at) {
  const size_t end = text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end + 1;
}

// Returns a docstring without tabs as the compiler cleans it since 3.13 (_PyCompile_CleanDoc).
std::string cleaned(std::string_view text) {
  size_t margin = std::string_view::npos;
  for (size_t at = line_end(text, 0); at < text.size(); at = line_end(text, at)) {
    const size_t first = std::min(text.find_first_not_of(' ', at), text.size());
    if (first < text.size() && text[first] != '\n') margin = std::min(margin, first - at);
  }
  if (margin == std::string_view::npos) margin = 0;
  const size_t lead = std::min(text.find_first_not_of(' '), text.size());
  std::string out(text.substr(lead, line_end(text, lead) - lead));
  for (size_t at = line_end(text, lead); at < text.size(); at = line_end(text, at)) {
    size_t start = at;
    while (start < std::min(at + margin, text.size()) && text[start] == ' ') ++start;
    out += text.substr(start, line_end(text, start) - start);
  }
  return out;
}

std::string indented(std::string_view text, size_t columns) {
  std::string out(text.substr(0, line_end(text, 0)));
  for (size_t at = out.size(); at < text.size(); at = line_end(text, at)) {
    if (text[at] != '\n') out.append(columns, ' ');
    out += text.substr(at, line_end(text, at) - at);
  }
  // The closing quotes go below the opening ones.
  if (out.ends_with('\n')) out.append(columns, ' ');
  return out;
}

// Prints a docstring; as one line with escapes, if its lines would push the next statement past its
// original line.
void put_docstring(Page& page, const std::string& literal, NodeId id, NodeId next) {
  const int32_t limit = next.valid() && page.style.keep_lines ? line_of(page.tree, next) : -1;
  const auto lines = static_cast<int64_t>(std::count(literal.begin(), literal.end(), '\n'));
  if (limit > 0 && page.writer.line + lines >= limit) {
    page.expression(page.tree.as<ast::Expr>(id).value, kTopLevel);
  } else {
    page.out += literal;
  }
  page.end_line();
}

}  // namespace

void simple(Page& page, NodeId id, uint32_t depth) {
  switch (page.tree.kind(id)) {
    case Kind::Return: {
      const NodeId value = page.tree.as<ast::Return>(id).value;
      page.out += value.valid() ? "return " : "return";
      if (value.valid()) page.expression(value, whole(kBareTuple));
      break;
    }
    case Kind::Delete:
      delete_targets(page, id);
      break;
    case Kind::Assign:
      assign(page, id);
      break;
    case Kind::TypeAlias:
      type_alias(page, id);
      break;
    case Kind::AugAssign:
      augmented_assign(page, id);
      break;
    case Kind::AnnAssign:
      annotated_assign(page, id);
      break;
    case Kind::Raise:
      raise(page, id);
      break;
    case Kind::Assert:
      assertion(page, id);
      break;
    case Kind::Import:
      lazily(page, page.tree.as<ast::Import>(id).is_lazy);
      page.out += "import ";
      aliases(page, page.tree.as<ast::Import>(id).names, false);
      break;
    case Kind::ImportFrom:
      import_from(page, id);
      break;
    case Kind::Global:
      page.out += "global ";
      names(page, page.tree.as<ast::Global>(id).names);
      break;
    case Kind::Nonlocal:
      page.out += "nonlocal ";
      names(page, page.tree.as<ast::Nonlocal>(id).names);
      break;
    case Kind::Expr:
      page.expression(page.tree.as<ast::Expr>(id).value, whole(kTopLevel));
      break;
    case Kind::Pass:
      page.out += "pass";
      break;
    case Kind::Break:
      page.out += "break";
      break;
    case Kind::Continue:
      page.out += "continue";
      break;
    case Kind::Comment:
      comment(page, page.tree.text(page.tree.as<ast::Comment>(id).text), depth);
      break;
    default:
      PELLUCID_CHECK(ast::category_of(page.tree.kind(id)) == ast::Category::Stmt);
      break;
  }
}

void comment(Page& page, std::string_view text, uint32_t depth) {
  page.out += '#';
  if (!text.empty()) page.out += ' ';
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = object::on_one_line(text.substr(at, end - at));
    for (size_t said = 0; (said = line.find("coding", said)) != std::string::npos;) {
      said += std::string_view("coding").size();
      if (said < line.size() && (line[said] == ':' || line[said] == '=')) line.insert(said, 1, ' ');
    }
    page.out += line;
    at = end + 1;
    if (end == text.size()) break;
    page.end_line();
    page.begin_line(depth);
    page.out += "# ";
  }
}

bool is_docstring(const Page& page, NodeId id) {
  if (!page.tree.is(id, Kind::Expr)) return false;
  const NodeId value = page.tree.as<ast::Expr>(id).value;
  return page.tree.is(value, Kind::Constant) && page.constant(value).kind == object::ConstKind::Str;
}

void docstring(Page& page, NodeId id, uint32_t depth, NodeId next) {
  const std::string_view text =
      page.tree.text(page.constant(page.tree.as<ast::Expr>(id).value).text);
  // The compiler removes the indentation again, so the text may be written as its author saw it.
  // (If the text is for two versions, both have to.)
  const bool is_trimmed = !page.before(13) && page.tree.module().version.minor >= 13;
  if (is_trimmed && depth > 0 && text.find('\t') == std::string_view::npos) {
    const std::string natural = indented(text, size_t{4} * depth);
    if (cleaned(natural) == text) {
      put_docstring(page, print::docstring(natural), id, next);
      return;
    }
  }
  put_docstring(page, print::docstring(text), id, next);
}

}  // namespace pellucid::print
