// SPDX-License-Identifier: Apache-2.0
// Template strings (3.14): a tuple of texts, one more than there are interpolations, and a tuple of
// interpolations, each with its value and the text of its expression.
#include <string>
#include <string_view>

#include "verify/lower/expressions.h"
#include "verify/lower/interpolation.h"
#include "verify/lower/strings.h"

namespace pellucid::verify::lower {

namespace {

void interpolation(Unit& unit, const ast::Interpolation& node) {
  const Mangle mangle = [&](std::string_view name) {
    return std::string(unit.module.text(unit.mangled(unit.symbol(name))));
  };
  // The remembered text is printed.
  const std::string_view source = unit.module.text(unit.module[node.str].text);
  const auto meaning = meaning_of_text(source, mangle);
  if (!meaning || meaning != meaning_of_tree(unit.tree, node.value, mangle)) {
    give_up("the text of an expression in a template string is not known to mean it");
  }
  expression(unit, node.value);
  load(unit, node.str);
  if (node.format_spec.valid()) format_specification(unit, node.format_spec);
  unit.emit.op(Op::BuildInterpolation, conversion_of(node.conversion),
               node.format_spec.valid() ? 1 : 0);
}

}  // namespace

void template_string(Unit& unit, const ast::TemplateStr& node) {
  const auto values = unit.tree.items(node.values);
  uint32_t texts = 0;
  uint32_t interpolations = 0;
  bool needs_text = true;
  for (NodeId value : values) {
    const bool is_interpolation = unit.tree.is(value, Kind::Interpolation);
    if (!is_interpolation || needs_text) {
      is_interpolation ? load_text(unit, "") : expression(unit, value);
      ++texts;
    }
    needs_text = is_interpolation;
  }
  if (needs_text) {
    load_text(unit, "");
    ++texts;
  }
  build_tuple(unit, texts);
  for (NodeId value : values) {
    if (!unit.tree.is(value, Kind::Interpolation)) continue;
    interpolation(unit, unit.tree.as<ast::Interpolation>(value));
    ++interpolations;
  }
  build_tuple(unit, interpolations);
  unit.emit.op(Op::BuildTemplate);
}

}  // namespace pellucid::verify::lower
