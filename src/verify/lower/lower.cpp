// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/lower.h"

#include "verify/lower/annotations.h"
#include "verify/lower/statements.h"
#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

namespace {

// Returns a module with the same ids of strings and constants, but without code objects.
object::Module without_code(const object::Module& from) {
  object::Module made;
  made.version = from.version;
  for (size_t i = 0; i < from.strings.size(); ++i) made.strings.intern(from.text(Symbol(i)));
  made.consts = from.consts;
  made.make_room();
  return made;
}

// Compiles the module at `root`, and with it all code in it.
void compile_program(Program& program, NodeId root) {
  const auto body = [&](Unit& unit) {
    // The function of the annotations is emitted first.
    const Label annotations = unit.emit.reserve();
    make_conditional_set(unit);
    body_with_docstring(unit, unit.tree.as<ast::Module>(root).body, false);
    unit.emit.write_at(annotations, [&] { lazy_annotations(unit); });
  };
  program.lowered.module.root = compile_module(program, program.symbols.scope_of(root), body);
}

}  // namespace

}  // namespace pellucid::verify::lower

namespace pellucid::verify {

Lowered relower(const ast::Tree& tree, ast::NodeId root) {
  Lowered out;
  out.module = lower::without_code(tree.module());
  const lower::Symbols symbols(tree, out.module, root);
  lower::Program program(tree, out, symbols, root);
  lower::compile_program(program, root);
  return out;
}

}  // namespace pellucid::verify
