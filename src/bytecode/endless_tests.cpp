// SPDX-License-Identifier: Apache-2.0
#include "bytecode/endless_tests.h"

namespace pellucid::bytecode {

bool has_endless_ones(const object::Module& module, const object::Code& code) {
  if (code.version < object::Version{3, 10} || code.version >= object::Version{3, 12}) return false;
  bool has_one = false;
  for (const object::ConstId id : code.consts) {
    const object::Const& value = module[id];
    if (value.kind == object::ConstKind::True) return false;
    has_one = has_one || (value.kind == object::ConstKind::Int && value.integer == 1);
  }
  return has_one;
}

}  // namespace pellucid::bytecode
