// SPDX-License-Identifier: Apache-2.0
// f-strings and t-strings.
//
// From 3.12 on (PEP 701) a replacement field holds any expression, quotes and backslashes included;
// different quotes inside are only for the reader. Before, the whole f-string is one token: its
// expressions may hold neither its own quotes nor a backslash, nor a line end unless its quotes are
// triple. There the text is built for one choice of quotes after the other until one fits. A nested
// f-string has fewer quotes to choose from, so that this ends after four levels.
#include <algorithm>
#include <cctype>

#include "print/expressions.h"
#include "print/interpolation_names.h"

namespace pellucid::print {

using ast::Kind;
using ast::NodeId;

const object::Const* Expressions::text_part(NodeId id) const {
  if (!tree_->is(id, Kind::Constant)) return nullptr;
  const object::Const& value = module_[tree_->as<ast::Constant>(id).value];
  return value.kind == object::ConstKind::Str ? &value : nullptr;
}

std::span<const NodeId> Expressions::parts_of(const NodeId& id) const {
  if (tree_->is(id, Kind::JoinedStr)) return tree_->items(tree_->as<ast::JoinedStr>(id).values);
  if (tree_->is(id, Kind::TemplateStr)) return tree_->items(tree_->as<ast::TemplateStr>(id).values);
  return {&id, 1};
}

std::string Expressions::literal_text(std::span<const NodeId> values) const {
  std::string out;
  for (const NodeId value : values) {
    if (const object::Const* part = text_part(value)) out += module_.text(part->text);
  }
  return out;
}

namespace {

const char* conversion_text(uint32_t conversion) {
  switch (conversion) {
    case 's':
      return "!s";
    case 'r':
      return "!r";
    case 'a':
      return "!a";
    default:
      return "";
  }
}

bool is_part_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0;
}

// A replacement field, of any kind of node.
struct Field {
  NodeId value;
  uint32_t conversion = 0;
  NodeId format_spec;
  object::ConstId source;  // of an interpolation
};

Field field_of(const ast::Tree& tree, NodeId id) {
  if (tree.is(id, Kind::FormattedValue)) {
    const auto node = tree.as<ast::FormattedValue>(id);
    return {node.value, node.conversion, node.format_spec, {}};
  }
  if (tree.is(id, Kind::Interpolation)) {
    const auto node = tree.as<ast::Interpolation>(id);
    return {node.value, node.conversion, node.format_spec, node.str};
  }
  return {id, 0, {}, {}};
}

// Returns the text of a field's conversion. With an `=`, a field without a format has the
// conversion `!r` by default.
const char* conversion_of(const Field& field, std::string_view equals) {
  const bool is_usual = !equals.empty() && !field.format_spec.valid() && field.conversion == 'r';
  return is_usual ? "" : conversion_text(field.conversion);
}

bool may_be_shown(std::string_view before) {
  const size_t last = before.find_last_not_of(' ');
  return last != std::string_view::npos && before[last] == '=';
}

// Returns the end of the text before a field that the field shows by itself, if its expression is
// written this way.
Shown shown_by(std::string_view before, const Field& field, std::string_view written) {
  const bool is_bare = !field.format_spec.valid();
  if (field.source.valid() || written.empty() || (is_bare && field.conversion == 0)) return {};
  if (written[0] == '{' || written.find_first_of("\\\n") != std::string_view::npos) return {};
  for (const char* equals : {"=", " = ", " =", "= "}) {
    const std::string end = std::string(written) + equals;
    if (!before.ends_with(end)) continue;
    const size_t start = before.size() - end.size();
    const bool is_part = start > 0 && is_part_of_name(before[start - 1]);
    if (is_part || (start > 0 && before[start - 1] == '.')) continue;
    return {end.size(), equals};
  }
  return {};
}

}  // namespace

// A colon ends the expression unless brackets enclose it, so it may not have a bare lambda.
Place Expressions::place_in_format(NodeId id) const {
  if (!tree_->is(id, Kind::IfExp)) return at(Level::Or);
  NodeId last = id;
  while (tree_->is(last, Kind::IfExp)) last = tree_->as<ast::IfExp>(last).orelse;
  return tree_->is(last, Kind::Lambda) ? at(Level::Or) : kTest;
}

void Expressions::format_string(NodeId id) {
  const bool is_template = tree_->is(id, Kind::TemplateStr) || tree_->is(id, Kind::Interpolation);
  failed_ = failed_ || is_trial_;  // its fields may be written differently in the end
  if (is_template && before(14)) problem("template strings need Python 3.14");
  if (before(12)) {
    std::string whole;
    if (confined_format_string(id, whole)) {
      write(whole);
      return;
    }
    if (is_confined_) {
      failed_ = true;
      return;
    }
    problem("an f-string that needs Python 3.12: no choice of quotes can hold its expressions");
  }
  const auto values = parts_of(id);
  const Quote quote = best_quote(literal_text(values), quotes_);
  text(is_template ? "t" : "f");
  text(text_of(quote));
  const Quotes outer = quotes_;
  const bool was_inside = inside_;
  quotes_ = without(quotes_, quote);
  inside_ = true;
  format_parts(values, quote, Braces::Doubled);
  quotes_ = outer;
  inside_ = was_inside;
  text(text_of(quote));
}

void Expressions::format_parts(std::span<const NodeId> values, Quote quote, Braces braces) {
  Shown shown;
  for (size_t i = 0; i < values.size(); ++i) {
    if (const object::Const* part = text_part(values[i])) {
      const bool may_show = braces == Braces::Doubled && i + 1 < values.size();
      if (may_show) shown = shown_in(module_.text(part->text), values[i + 1]);
      Task& task = push(Task::FormatText, part->text.value);
      task.quote = quote;
      task.braces = braces;
      task.cut = static_cast<uint32_t>(shown.size);
      continue;
    }
    Task& task = push(Task::FormatField, values[i].value, {}, shown.equals);
    task.quote = quote;
    shown = {};
  }
}

// Returns the end of the text before a field that the field shows by itself, in the quotes that are
// free.
Shown Expressions::shown_in(std::string_view before, NodeId id) {
  if (text_part(id) != nullptr || !may_be_shown(before)) return {};
  std::string written;
  Expressions trial(module_, tree_, version_, written);
  trial.quotes_ = quotes_;
  trial.inside_ = trial.is_trial_ = true;
  const Field field = field_of(*tree_, id);
  trial.expression(field.value, place_in_format(field.value));
  return trial.failed_ ? Shown() : shown_by(before, field, written);
}

void Expressions::format_value(NodeId id, Quote quote, const char* equals) {
  const Field field = field_of(*tree_, id);
  push(field.source.valid() ? Task::InterpolationBrace : Task::Brace);
  expr(field.value, place_in_format(field.value));
  if (field.source.valid()) {
    push(Task::InterpolationText, module_[field.source].text.value);
  }
  text(equals);
  text(conversion_of(field, equals));
  if (field.format_spec.valid()) {
    text(":");
    format_parts(parts_of(field.format_spec), quote, Braces::Escaped);
  }
  text("}");
}

// Replaces the expression of an interpolation by its original text. If our own text mentions the
// same names, it is the same expression; constants, parentheses and spaces can be written in many
// ways.
void Expressions::finish_interpolation(std::string_view source) {
  const size_t start = interpolations_.back();
  interpolations_.pop_back();
  if (names_in(std::string_view(out_).substr(start)) != names_in(source)) {
    return problem("the expression of a template string was written differently");
  }
  out_.resize(start);
  if (source.starts_with('{')) out_ += ' ';
  out_ += source;
}

// --- before 3.12 ---

bool Expressions::confined_format_string(NodeId id, std::string& whole) {
  const auto values = parts_of(id);
  const Quotes allowed = is_confined_ ? confined_.quotes : kAllQuotes;
  if (allowed == 0) return false;
  const Quote best = best_quote(literal_text(values), allowed);
  for (const Quote quote : {best, kSingle, kDouble, kTripleSingle, kTripleDouble}) {
    if (!(allowed & quote)) continue;
    std::string attempt = std::string("f") + text_of(quote);
    if (!append_confined(attempt, values, quote, Braces::Doubled)) continue;
    whole = attempt + text_of(quote);
    return true;
  }
  return false;
}

bool Expressions::append_confined(std::string& whole, std::span<const NodeId> values, Quote quote,
                                  Braces braces) {
  Shown shown;
  for (size_t i = 0; i < values.size(); ++i) {
    const object::Const* part = text_part(values[i]);
    if (part == nullptr) {
      if (!append_confined_value(whole, values[i], quote, braces, shown.equals)) return false;
      shown = {};
      continue;
    }
    std::string_view text = module_.text(part->text);
    const bool has_field = i + 1 < values.size() && text_part(values[i + 1]) == nullptr;
    if (braces == Braces::Doubled && has_field && may_be_shown(text)) {
      std::string inner;
      const Field field = field_of(*tree_, values[i + 1]);
      if (!confined_expression(inner, field.value, quote)) return false;
      shown = shown_by(text, field, inner);
      text.remove_suffix(shown.size);
    }
    if (!is_confined_) {
      append_escaped(whole, text, TextKind::Str, quote, braces);
    } else if (!append_verbatim(whole, text, TextKind::Str, quote, braces, confined_.newlines)) {
      return false;
    }
  }
  return true;
}

// Appends the text of an expression in a field; returns false if it does not fit in there.
bool Expressions::confined_expression(std::string& inner, NodeId value, Quote quote) {
  const Quotes allowed = is_confined_ ? confined_.quotes : kAllQuotes;
  const bool newlines = (!is_confined_ || confined_.newlines) && is_triple(quote);
  Expressions inside(*this, inner, {without(allowed, quote), newlines});
  inside.expression(value, place_in_format(value));
  const bool fits = !inside.failed_ && inner.find('\\') == std::string::npos &&
                    inner.find(text_of(quote)) == std::string::npos &&
                    (newlines || inner.find('\n') == std::string::npos);
  if (!fits) return false;
  for (std::string& each : inside.problems_) problem(std::move(each));
  return true;
}

bool Expressions::append_confined_value(std::string& whole, NodeId id, Quote quote, Braces braces,
                                        const char* equals) {
  const Field field = field_of(*tree_, id);
  std::string inner;
  if (!confined_expression(inner, field.value, quote)) return false;
  whole += inner.starts_with('{') ? "{ " : "{";
  whole += inner;
  whole += equals;
  whole += conversion_of(field, equals);
  if (field.format_spec.valid()) {
    const auto parts = parts_of(field.format_spec);
    // CPython: "expressions nested too deeply".
    const auto is_text = [&](NodeId part) { return text_part(part) != nullptr; };
    const bool is_nested = braces == Braces::Escaped;
    if (is_nested && !std::all_of(parts.begin(), parts.end(), is_text)) return false;
    whole += ':';
    if (!append_confined(whole, parts, quote, Braces::Escaped)) return false;
  }
  whole += '}';
  return true;
}

}  // namespace pellucid::print
