// match.
#include "verify/lower/compiler.h"

namespace pellucid::verify::lower {

void Compiler::match_statement(NodeId node) {
  (void)node;
  give_up("match not supported");
}

}  // namespace pellucid::verify::lower
