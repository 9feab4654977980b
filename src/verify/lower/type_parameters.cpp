// Type parameters (3.12+): hidden functions that bind them and return what they belong to.
#include "verify/lower/compiler.h"

namespace pellucid::verify::lower {

void Compiler::type_parameters(ListId parameters) {
  (void)parameters;
  give_up("type parameters not supported");
}

void Compiler::type_alias(NodeId node) {
  (void)node;
  give_up("type aliases not supported");
}

void Compiler::generic_function(NodeId node, uint32_t flags) {
  (void)node;
  (void)flags;
  give_up("type parameters not supported");
}

void Compiler::generic_class(NodeId node) {
  (void)node;
  give_up("type parameters not supported");
}

}  // namespace pellucid::verify::lower
