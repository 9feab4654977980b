// SPDX-License-Identifier: Apache-2.0
// object: the fields of a marshalled code object, in the order in which each version writes them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "object/code.h"

namespace pellucid::object {

enum class Field : uint8_t {
  ArgCount,
  PosOnlyArgCount,
  KwOnlyArgCount,
  NLocals,
  StackSize,
  Flags,
  Bytecode,
  Consts,
  Names,
  VarNames,
  FreeVars,
  CellVars,
  LocalsPlusNames,
  LocalsPlusKinds,
  FileName,
  Name,
  QualName,
  FirstLineNo,
  LineTable,
  ExceptionTable,
};
inline constexpr size_t kFieldCount = 20;

std::span<const Field> code_layout(Version version);

// Returns true if the field is a plain 32-bit number; the others are objects.
constexpr bool is_number(Field field) {
  return field <= Field::Flags || field == Field::FirstLineNo;
}

// The values read, indexed by Field.
struct CodeFields {
  std::array<int32_t, kFieldCount> numbers{};
  std::array<ConstId, kFieldCount> objects{};
  std::array<std::string_view, kFieldCount> bytes{};  // of objects that are Bytes
};

// Fills `code`, deriving the fields that the version does not write. Returns an error message, or
// "".
std::string assemble_code(Module& module, const CodeFields& fields, Code& code);

}  // namespace pellucid::object
