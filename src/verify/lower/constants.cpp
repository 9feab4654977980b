// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/constants.h"

#include <utility>

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

namespace {

object::Const of_kind(object::ConstKind kind) {
  object::Const made;
  made.kind = kind;
  return made;
}

}  // namespace

Constants::Constants(object::Module& module)
    : module_(module), none_(module.add(of_kind(object::ConstKind::None))) {}

ConstId Constants::text(std::string_view text) {
  const auto [it, is_new] = texts_.try_emplace(std::string(text), ConstId());
  if (is_new) {
    object::Const made = of_kind(object::ConstKind::Str);
    made.text = module_.strings.intern(text);
    it->second = module_.add(std::move(made));
  }
  return it->second;
}

ConstId Constants::number(int64_t value) {
  const auto [it, is_new] = numbers_.try_emplace(value, ConstId());
  if (is_new) {
    object::Const made = of_kind(object::ConstKind::Int);
    made.integer = value;
    it->second = module_.add(std::move(made));
  }
  return it->second;
}

ConstId Constants::tuple(const std::vector<ConstId>& items) {
  object::Const made = of_kind(object::ConstKind::Tuple);
  made.items = items;
  return module_.add(std::move(made));
}

ConstId Constants::code(object::CodeId id) {
  object::Const made = of_kind(object::ConstKind::Code);
  made.code = id;
  return module_.add(std::move(made));
}

void load(Unit& unit, ConstId id) {
  if (unit.first_is_docstring && unit.module[unit.code].consts.empty()) {
    unit.module.codes.edit(unit.code).consts = {id};
  }
  unit.emit.op(Op::LoadConst, id.value);
}

void load_none(Unit& unit) { load(unit, unit.constants.none()); }
void load_text(Unit& unit, std::string_view text) { load(unit, unit.constants.text(text)); }
void load_number(Unit& unit, int64_t value) { load(unit, unit.constants.number(value)); }

}  // namespace pellucid::verify::lower
