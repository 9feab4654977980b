// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/strings.h"

#include "verify/lower/displays.h"
#include "verify/lower/expressions.h"

namespace pellucid::verify::lower {

uint32_t conversion_of(uint32_t letter) {
  return letter == 's' ? 1 : letter == 'r' ? 2 : letter == 'a' ? 3 : 0;
}

void formatted_value(Unit& unit, const ast::FormattedValue& node) {
  const uint32_t conversion = conversion_of(node.conversion);
  expression(unit, node.value);
  if (unit.features.converts_apart && conversion != 0) unit.emit.op(Op::Convert, conversion);
  if (node.format_spec.valid()) format_specification(unit, node.format_spec);
  unit.emit.op(Op::Format, unit.features.converts_apart ? 0 : conversion,
               node.format_spec.valid() ? 1 : 0);
}

void format_specification(Unit& unit, NodeId node) {
  const auto values = unit.tree.items(unit.tree.as<ast::JoinedStr>(node).values);
  // 3.12 adds an empty text after a nested field at the end.
  if (!unit.features.text_after_nested_field || values.empty() ||
      !unit.tree.is(values.back(), Kind::FormattedValue)) {
    return expression(unit, node);
  }
  expressions(unit, values);
  load_text(unit, "");
  unit.emit.op(Op::BuildString, static_cast<uint32_t>(values.size()) + 1);
}

void joined_string(Unit& unit, const ast::JoinedStr& node) {
  const auto values = unit.tree.items(node.values);
  join_pieces(unit, values.size(), [&](size_t i) { expression(unit, values[i]); });
}

void join_pieces(Unit& unit, size_t count, const std::function<void(size_t)>& write) {
  const bool is_large = unit.features.joins_long_strings && count > kMostOnStack;
  if (is_large) {
    load_text(unit, "");
    unit.emit.op(Op::LoadMethod, unit.symbol("join").value);
    unit.emit.op(Op::BuildList, 0);
  }
  for (size_t i = 0; i < count; ++i) {
    write(i);
    if (is_large) unit.emit.op(Op::ListAppend, 1);
  }
  if (is_large) return unit.emit.op(Op::Call, 1, 2);
  // 3.13+ load the empty string as a constant, and optimise uses of a constant.
  if (count == 0 && unit.features.loads_empty_string) return load_text(unit, "");
  if (count != 1) unit.emit.op(Op::BuildString, static_cast<uint32_t>(count));
}

}  // namespace pellucid::verify::lower
