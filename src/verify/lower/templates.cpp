// SPDX-License-Identifier: Apache-2.0
// Template strings (3.14): a tuple of texts, one more than there are interpolations, and a tuple of
// interpolations, each with its value and the text of its expression.
#include "verify/lower/compiler.h"
#include "verify/lower/remembered.h"

namespace pellucid::verify::lower {

void Compiler::template_string(const ast::TemplateStr& node) {
  const auto values = tree_.items(node.values);
  uint32_t texts = 0;
  uint32_t interpolations = 0;
  bool needs_text = true;
  for (NodeId value : values) {
    const bool is_interpolation = tree_.is(value, Kind::Interpolation);
    if (!is_interpolation || needs_text) {
      is_interpolation ? load_text("") : expression(value);
      ++texts;
    }
    needs_text = is_interpolation;
  }
  if (needs_text) {
    load_text("");
    ++texts;
  }
  emit().op(Op::BuildTuple, texts);
  for (NodeId value : values) {
    if (!tree_.is(value, Kind::Interpolation)) continue;
    interpolation(tree_.as<ast::Interpolation>(value));
    ++interpolations;
  }
  emit().op(Op::BuildTuple, interpolations);
  emit().op(Op::BuildTemplate);
}

void Compiler::interpolation(const ast::Interpolation& node) {
  const Mangle mangle = [&](std::string_view name) {
    return std::string(out_.module.text(mangled(text(name))));
  };
  // The remembered text is printed.
  const std::string_view source = out_.module.text(out_.module[node.str].text);
  const auto meaning = meaning_of_text(source, mangle);
  if (!meaning || meaning != meaning_of_tree(tree_, node.value, mangle)) {
    give_up("the text of an expression in a template string is not known to mean it");
  }
  expression(node.value);
  load(node.str);
  if (node.format_spec.valid()) format_specification(node.format_spec);
  emit().op(Op::BuildInterpolation, conversion_of(node.conversion),
            node.format_spec.valid() ? 1 : 0);
}

}  // namespace pellucid::verify::lower
