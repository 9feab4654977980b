// f-strings and t-strings.
//
// From 3.12 on (PEP 701) a replacement field holds any expression, quotes and backslashes included;
// other quotes inside than outside are only a courtesy. Before, the whole f-string is one token:
// its expressions may hold neither its own quotes nor a backslash, nor a line end unless its quotes
// are triple. There the text is built for one choice of quotes after the other until one fits. An
// f-string inside has fewer quotes to choose from than the one around it, so that this ends after
// four levels.
#include <algorithm>

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

// A colon ends the expression unless brackets hide it, so no lambda may stand bare in it.
Place Expressions::place_in_format(NodeId id) const {
  if (!tree_->is(id, Kind::IfExp)) return at(Level::Or);
  NodeId last = id;
  while (tree_->is(last, Kind::IfExp)) last = tree_->as<ast::IfExp>(last).orelse;
  return tree_->is(last, Kind::Lambda) ? at(Level::Or) : kTest;
}

void Expressions::format_string(NodeId id) {
  const bool is_template = tree_->is(id, Kind::TemplateStr) || tree_->is(id, Kind::Interpolation);
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
  for (const NodeId value : values) {
    if (const object::Const* part = text_part(value)) {
      Task& task = push(Task::FormatText, part->text.value);
      task.quote = quote;
      task.braces = braces;
    } else {
      push(Task::FormatField, value.value).quote = quote;
    }
  }
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

// A replacement field, whichever kind of node it is.
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

}  // namespace

void Expressions::format_value(NodeId id, Quote quote) {
  const Field field = field_of(*tree_, id);
  push(field.source.valid() ? Task::InterpolationBrace : Task::Brace);
  expr(field.value, place_in_format(field.value));
  if (field.source.valid()) {
    push(Task::InterpolationText, module_[field.source].text.value);
  }
  text(conversion_text(field.conversion));
  if (field.format_spec.valid()) {
    text(":");
    format_parts(parts_of(field.format_spec), quote, Braces::Escaped);
  }
  text("}");
}

// An interpolation remembers how its expression was written, and so it is printed again. That our
// own text mentions the same names tells that it is of this expression; constants, parentheses and
// spaces can be written in many ways.
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

// --- before 3.12
// ------------------------------------------------------------------------------------

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
  for (const NodeId value : values) {
    const object::Const* part = text_part(value);
    if (part == nullptr) {
      if (!append_confined_value(whole, value, quote, braces)) return false;
    } else if (!is_confined_) {
      append_escaped(whole, module_.text(part->text), TextKind::Str, quote, braces);
    } else if (!append_verbatim(whole, module_.text(part->text), TextKind::Str, quote, braces,
                                confined_.newlines)) {
      return false;
    }
  }
  return true;
}

bool Expressions::append_confined_value(std::string& whole, NodeId id, Quote quote, Braces braces) {
  const Field field = field_of(*tree_, id);
  const Quotes allowed = is_confined_ ? confined_.quotes : kAllQuotes;
  const bool newlines = (!is_confined_ || confined_.newlines) && is_triple(quote);
  std::string inner;
  Expressions inside(*this, inner, {without(allowed, quote), newlines});
  inside.expression(field.value, place_in_format(field.value));
  const bool fits = !inside.failed_ && inner.find('\\') == std::string::npos &&
                    inner.find(text_of(quote)) == std::string::npos &&
                    (newlines || inner.find('\n') == std::string::npos);
  if (!fits) return false;
  whole += inner.starts_with('{') ? "{ " : "{";
  whole += inner;
  whole += conversion_text(field.conversion);
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
  for (std::string& each : inside.problems_) problem(std::move(each));
  return true;
}

}  // namespace pellucid::print
