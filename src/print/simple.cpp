// SPDX-License-Identifier: Apache-2.0
// Simple statements, and docstrings.
#include <algorithm>

#include "ast/lines.h"
#include "object/repr.h"
#include "print/lines.h"
#include "print/statements.h"

namespace pellucid::print {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

// The limit of dots in a relative import: no path is as long.
constexpr uint32_t kMostDots = 1000;

}  // namespace

void Statements::simple(NodeId id, uint32_t depth) {
  switch (tree_.kind(id)) {
    case Kind::Return: {
      const NodeId value = tree_.as<ast::Return>(id).value;
      out_ += value.valid() ? "return " : "return";
      if (value.valid()) expression(value, whole(kBareTuple));
      break;
    }
    case Kind::Delete:
      delete_targets(id);
      break;
    case Kind::Assign:
      assign(id);
      break;
    case Kind::TypeAlias:
      type_alias(id);
      break;
    case Kind::AugAssign:
      augmented_assign(id);
      break;
    case Kind::AnnAssign:
      annotated_assign(id);
      break;
    case Kind::Raise:
      raise(id);
      break;
    case Kind::Assert:
      assertion(id);
      break;
    case Kind::Import:
      lazily(tree_.as<ast::Import>(id).is_lazy);
      out_ += "import ";
      aliases(tree_.as<ast::Import>(id).names);
      break;
    case Kind::ImportFrom:
      import_from(id);
      break;
    case Kind::Global:
      out_ += "global ";
      names(tree_.as<ast::Global>(id).names);
      break;
    case Kind::Nonlocal:
      out_ += "nonlocal ";
      names(tree_.as<ast::Nonlocal>(id).names);
      break;
    case Kind::Expr:
      expression(tree_.as<ast::Expr>(id).value, whole(kTopLevel));
      break;
    case Kind::Pass:
      out_ += "pass";
      break;
    case Kind::Break:
      out_ += "break";
      break;
    case Kind::Continue:
      out_ += "continue";
      break;
    case Kind::Comment:
      comment(tree_.text(tree_.as<ast::Comment>(id).text), depth);
      break;
    default:
      PELLUCID_CHECK(ast::category_of(tree_.kind(id)) == ast::Category::Stmt);
      break;
  }
}

void Statements::assign(NodeId id) {
  const auto node = tree_.as<ast::Assign>(id);
  Place target_place = {Level::Test, Place::kTuple | Place::kTarget};
  if (!before(11) && ast::keeps_order(tree_, node)) target_place.flags |= Place::kApart;
  for (const NodeId target : tree_.items(node.targets)) {
    expression(target, target_place);
    out_ += " = ";
  }
  Place value_place = whole(kTopLevel);
  if (!before(12) && ast::starts_behind(tree_, node)) value_place.flags |= Place::kApart;
  expression(node.value, value_place);
}

void Statements::type_alias(NodeId id) {
  const auto node = tree_.as<ast::TypeAlias>(id);
  if (before(12)) needs(12, "a type alias");
  out_ += "type ";
  expression(node.name, at(Level::Primary));
  expressions_.type_parameters(node.type_params);
  out_ += " = ";
  expression(node.value, kTest);
}

void Statements::augmented_assign(NodeId id) {
  const auto node = tree_.as<ast::AugAssign>(id);
  expression(node.target, at(Level::Primary));
  out_ += kAugmented[node.op];
  Place place = kTopLevel;
  if (before(9)) place.flags |= Place::kNoStar;
  expression(node.value, whole(place));
}

void Statements::annotated_assign(NodeId id) {
  const auto node = tree_.as<ast::AnnAssign>(id);
  // `(x): int` declares nothing in the scope, unlike `x: int`.
  const bool parens = node.simple == 0 && tree_.is(node.target, Kind::Name);
  if (parens) out_ += '(';
  expression(node.target, at(Level::Primary));
  if (parens) out_ += ')';
  out_ += ": ";
  expression(node.annotation, kTest);
  if (!node.value.valid()) return;
  out_ += " = ";
  expression(node.value, whole(kTopLevel));
}

void Statements::delete_targets(NodeId id) {
  out_ += "del ";
  bool first = true;
  for (const NodeId target : tree_.items(tree_.as<ast::Delete>(id).targets)) {
    if (!first) out_ += ", ";
    first = false;
    expression(target, at(Level::Primary));
  }
}

void Statements::raise(NodeId id) {
  const auto node = tree_.as<ast::Raise>(id);
  out_ += "raise";
  if (!node.exc.valid()) return;
  out_ += ' ';
  expression(node.exc, kTest);
  if (!node.cause.valid()) return;
  out_ += " from ";
  expression(node.cause, kTest);
}

void Statements::assertion(NodeId id) {
  const auto node = tree_.as<ast::Assert>(id);
  out_ += "assert ";
  constexpr Place kAsserted = {Level::Test, Place::kBranch};
  expression(node.test, node.msg.valid() ? kAsserted : whole(kAsserted));
  if (!node.msg.valid()) return;
  out_ += ", ";
  expression(node.msg, kTest);
}

void Statements::import_from(NodeId id) {
  const auto node = tree_.as<ast::ImportFrom>(id);
  lazily(node.is_lazy);
  out_ += "from ";
  if (node.level <= kMostDots) {
    out_.append(node.level, '.');
  } else {
    expressions_.problem("an import from so many packages further out that nobody can write it");
  }
  if (node.module.valid()) word(node.module);
  out_ += " import ";
  aliases(node.names);
}

void Statements::lazily(uint32_t is_lazy) {
  if (is_lazy == 0) return;
  if (before(15)) needs(15, "a lazy import");
  out_ += "lazy ";
}

void Statements::aliases(ListId list) {
  bool first = true;
  for (const NodeId each : tree_.items(list)) {
    const auto node = tree_.as<ast::alias>(each);
    if (!first) out_ += ", ";
    first = false;
    word(node.name);
    if (!node.asname.valid()) continue;
    out_ += " as ";
    word(node.asname);
  }
}

void Statements::names(ListId list) {
  bool first = true;
  for (const NodeId each : tree_.items(list)) {
    if (!first) out_ += ", ";
    first = false;
    word(tree_.as<ast::Name>(each).id);
  }
}

// Prints one comment per line. Invisible characters are escaped, and so is "coding:", which in the
// first two lines would declare the encoding of the whole text.
void Statements::comment(std::string_view text, uint32_t depth) {
  out_ += '#';
  if (!text.empty()) out_ += ' ';
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = object::on_one_line(text.substr(at, end - at));
    for (size_t said = 0; (said = line.find("coding", said)) != std::string::npos;) {
      said += std::string_view("coding").size();
      if (said < line.size() && (line[said] == ':' || line[said] == '=')) line.insert(said, 1, ' ');
    }
    out_ += line;
    at = end + 1;
    if (end == text.size()) break;
    end_line();
    begin_line(depth);
    out_ += "# ";
  }
}

// --- docstrings ---

bool Statements::is_docstring(NodeId id) const {
  if (!tree_.is(id, Kind::Expr)) return false;
  const NodeId value = tree_.as<ast::Expr>(id).value;
  return tree_.is(value, Kind::Constant) && constant(value).kind == object::ConstKind::Str;
}

namespace {

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

}  // namespace

void Statements::docstring(NodeId id, uint32_t depth, NodeId next) {
  const std::string_view text = tree_.text(constant(tree_.as<ast::Expr>(id).value).text);
  // The compiler removes the indentation again, so the text may be written as its author saw it.
  if (!before(13) && depth > 0 && text.find('\t') == std::string_view::npos) {
    const std::string natural = indented(text, size_t{4} * depth);
    if (cleaned(natural) == text) {
      put_docstring(print::docstring(natural), id, next);
      return;
    }
  }
  put_docstring(print::docstring(text), id, next);
}

// Prints a docstring; as one line with escapes, if its lines would push the next statement past its
// original line.
void Statements::put_docstring(const std::string& literal, NodeId id, NodeId next) {
  const int32_t limit = next.valid() && style_.keep_lines ? line_of(tree_, next) : -1;
  const auto lines = std::count(literal.begin(), literal.end(), '\n');
  if (limit > 0 && expressions_.line() + lines >= limit) {
    expression(tree_.as<ast::Expr>(id).value, kTopLevel);
  } else {
    out_ += literal;
  }
  end_line();
}

}  // namespace pellucid::print
