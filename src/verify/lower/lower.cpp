// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/lower.h"

#include "verify/lower/annotations.h"
#include "verify/lower/statements.h"
#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

namespace {

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

Lowered relower(ast::Tree& tree, ast::NodeId root) {
  Lowered out{tree.module()};
  const lower::Symbols symbols(tree, out.module, root);
  // Most code objects add a constant for themselves, and few add more than another one.
  const size_t codes = out.module.codes.size();
  out.module.consts.reserve(out.module.consts.size() + 2 * codes);
  out.graphs.reserve(codes);
  out.module.codes = {};
  out.module.held = {};
  lower::Program program(tree, out, symbols, root);
  lower::compile_program(program, root);
  return out;
}

}  // namespace pellucid::verify
