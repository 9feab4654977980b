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
#include <string>

#include "print/expand.h"
#include "print/expressions.h"
#include "print/interpolation_names.h"

namespace pellucid::print {

using ast::Kind;
using ast::NodeId;

namespace {

// The end of a text in an f-string that the field after it shows by itself: `x=` of `{x=}`.
struct Shown {
  size_t size = 0;          // in bytes
  const char* equals = "";  // after the expression; empty: nothing is shown
};

// Returns the text that a value of an f-string is; null for a field.
const object::Const* text_part(const Writer& writer, NodeId id) {
  if (!writer.tree->is(id, Kind::Constant)) return nullptr;
  const object::Const& value = writer.module[writer.tree->as<ast::Constant>(id).value];
  return value.kind == object::ConstKind::Str ? &value : nullptr;
}

// Returns the values of an f-string or a format specification; `id` itself for a single value.
std::span<const NodeId> parts_of(const Writer& writer, const NodeId& id) {
  const ast::Tree& tree = *writer.tree;
  if (tree.is(id, Kind::JoinedStr)) return tree.items(tree.as<ast::JoinedStr>(id).values);
  if (tree.is(id, Kind::TemplateStr)) return tree.items(tree.as<ast::TemplateStr>(id).values);
  return {&id, 1};
}

// Returns the text between the replacement fields.
std::string literal_text(const Writer& writer, std::span<const NodeId> values) {
  std::string out;
  for (const NodeId value : values) {
    if (const object::Const* part = text_part(writer, value)) out += writer.module.text(part->text);
  }
  return out;
}

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

// A colon ends the expression unless brackets enclose it, so it may not have a bare lambda.
Place place_in_format(const Writer& writer, NodeId id) {
  if (!writer.tree->is(id, Kind::IfExp)) return at(Level::Or);
  NodeId last = id;
  while (writer.tree->is(last, Kind::IfExp)) last = writer.tree->as<ast::IfExp>(last).orelse;
  return writer.tree->is(last, Kind::Lambda) ? at(Level::Or) : kTest;
}

// Returns the end of the text before a field that the field shows by itself, in the quotes that are
// free.
Shown shown_in(Writer& writer, std::string_view before, NodeId id) {
  if (text_part(writer, id) != nullptr || !may_be_shown(before)) return {};
  std::string written;
  Writer trial(writer.module, writer.tree, writer.version, written);
  trial.quotes = writer.quotes;
  trial.inside = trial.is_trial = true;
  const Field field = field_of(*writer.tree, id);
  expression(trial, field.value, place_in_format(writer, field.value));
  return trial.failed ? Shown() : shown_by(before, field, written);
}

void format_parts(Writer& writer, std::span<const NodeId> values, Quote quote, Braces braces) {
  Shown shown;
  for (size_t i = 0; i < values.size(); ++i) {
    if (const object::Const* part = text_part(writer, values[i])) {
      const bool may_show = braces == Braces::Doubled && i + 1 < values.size();
      if (may_show) shown = shown_in(writer, writer.module.text(part->text), values[i + 1]);
      writer.put(Task{Task::FormatText,
                      writer.quotes,
                      writer.inside,
                      quote,
                      braces,
                      Place(),
                      part->text.value,
                      static_cast<uint32_t>(shown.size),
                      {}});
      continue;
    }
    writer.put(Task{Task::FormatField, writer.quotes, writer.inside, quote, Braces::Plain, Place(),
                    values[i].value, 0, shown.equals});
    shown = {};
  }
}

// --- before 3.12 ---

bool append_confined(Writer& writer, std::string& whole, std::span<const NodeId> values,
                     Quote quote, Braces braces);

// Appends the text of an expression in a field; returns false if it does not fit in there.
bool confined_expression(Writer& writer, std::string& inner, NodeId value, Quote quote) {
  const Quotes allowed = writer.is_confined ? writer.confined.quotes : kAllQuotes;
  const bool newlines = (!writer.is_confined || writer.confined.newlines) && is_triple(quote);
  Writer inside(writer, inner, {without(allowed, quote), newlines});
  expression(inside, value, place_in_format(writer, value));
  const bool fits = !inside.failed && inner.find('\\') == std::string::npos &&
                    inner.find(text_of(quote)) == std::string::npos &&
                    (newlines || inner.find('\n') == std::string::npos);
  if (!fits) return false;
  for (std::string& each : inside.problems) writer.problem(std::move(each));
  return true;
}

bool append_confined_value(Writer& writer, std::string& whole, NodeId id, Quote quote,
                           Braces braces, const char* equals) {
  const Field field = field_of(*writer.tree, id);
  std::string inner;
  if (!confined_expression(writer, inner, field.value, quote)) return false;
  whole += inner.starts_with('{') ? "{ " : "{";
  whole += inner;
  whole += equals;
  whole += conversion_of(field, equals);
  if (field.format_spec.valid()) {
    const auto parts = parts_of(writer, field.format_spec);
    // CPython: "expressions nested too deeply".
    const auto is_text = [&](NodeId part) { return text_part(writer, part) != nullptr; };
    const bool is_nested = braces == Braces::Escaped;
    if (is_nested && !std::all_of(parts.begin(), parts.end(), is_text)) return false;
    whole += ':';
    if (!append_confined(writer, whole, parts, quote, Braces::Escaped)) return false;
  }
  whole += '}';
  return true;
}

bool append_confined(Writer& writer, std::string& whole, std::span<const NodeId> values,
                     Quote quote, Braces braces) {
  Shown shown;
  for (size_t i = 0; i < values.size(); ++i) {
    const object::Const* part = text_part(writer, values[i]);
    if (part == nullptr) {
      if (!append_confined_value(writer, whole, values[i], quote, braces, shown.equals)) {
        return false;
      }
      shown = {};
      continue;
    }
    std::string_view text = writer.module.text(part->text);
    const bool has_field = i + 1 < values.size() && text_part(writer, values[i + 1]) == nullptr;
    if (braces == Braces::Doubled && has_field && may_be_shown(text)) {
      std::string inner;
      const Field field = field_of(*writer.tree, values[i + 1]);
      if (!confined_expression(writer, inner, field.value, quote)) return false;
      shown = shown_by(text, field, inner);
      text.remove_suffix(shown.size);
    }
    if (!writer.is_confined) {
      append_escaped(whole, text, TextKind::Str, quote, braces);
    } else if (!append_verbatim(whole, text, TextKind::Str, quote, braces,
                                writer.confined.newlines)) {
      return false;
    }
  }
  return true;
}

bool confined_format_string(Writer& writer, NodeId id, std::string& whole) {
  const auto values = parts_of(writer, id);
  const Quotes allowed = writer.is_confined ? writer.confined.quotes : kAllQuotes;
  if (allowed == 0) return false;
  const Quote best = best_quote(literal_text(writer, values), allowed);
  for (const Quote quote : {best, kSingle, kDouble, kTripleSingle, kTripleDouble}) {
    if (!(allowed & quote)) continue;
    std::string attempt = std::string("f") + text_of(quote);
    if (!append_confined(writer, attempt, values, quote, Braces::Doubled)) continue;
    whole = attempt + text_of(quote);
    return true;
  }
  return false;
}

}  // namespace

void format_string(Writer& writer, NodeId id) {
  const bool is_template =
      writer.tree->is(id, Kind::TemplateStr) || writer.tree->is(id, Kind::Interpolation);
  // The fields of one may be written differently in the end.
  writer.failed = writer.failed || writer.is_trial;
  if (is_template && writer.before(14)) writer.problem("template strings need Python 3.14");
  if (writer.before(12)) {
    std::string whole;
    if (confined_format_string(writer, id, whole)) {
      writer.write(whole);
      return;
    }
    if (writer.is_confined) {
      writer.failed = true;
      return;
    }
    writer.problem(
        "an f-string that needs Python 3.12: no choice of quotes can hold its expressions");
  }
  const auto values = parts_of(writer, id);
  const Quote quote = best_quote(literal_text(writer, values), writer.quotes);
  writer.text(is_template ? "t" : "f");
  writer.text(text_of(quote));
  const Quotes outer = writer.quotes;
  const bool was_inside = writer.inside;
  writer.quotes = without(writer.quotes, quote);
  writer.inside = true;
  format_parts(writer, values, quote, Braces::Doubled);
  writer.quotes = outer;
  writer.inside = was_inside;
  writer.text(text_of(quote));
}

void format_value(Writer& writer, NodeId id, Quote quote, std::string_view equals) {
  const Field field = field_of(*writer.tree, id);
  writer.put(field.source.valid() ? Task::InterpolationBrace : Task::Brace);
  writer.expr(field.value, place_in_format(writer, field.value));
  if (field.source.valid()) {
    writer.put(Task::InterpolationText, writer.module[field.source].text.value);
  }
  writer.text(equals);
  writer.text(conversion_of(field, equals));
  if (field.format_spec.valid()) {
    writer.text(":");
    format_parts(writer, parts_of(writer, field.format_spec), quote, Braces::Escaped);
  }
  writer.text("}");
}

// Replaces the expression of an interpolation by its original text. If our own text mentions the
// same names, it is the same expression; constants, parentheses and spaces can be written in many
// ways.
void finish_interpolation(Writer& writer, std::string_view source) {
  const size_t start = writer.interpolations.back();
  writer.interpolations.pop_back();
  if (names_in(std::string_view(writer.out).substr(start)) != names_in(source)) {
    return writer.problem("the expression of a template string was written differently");
  }
  writer.out.resize(start);
  if (source.starts_with('{')) writer.out += ' ';
  writer.out += source;
}

}  // namespace pellucid::print
