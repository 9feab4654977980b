// SPDX-License-Identifier: Apache-2.0
// object::admit: what comes from outside is looked at once, whoever made a module of it.
#include "object/admit.h"

#include <functional>

#include "bytecode/decode.h"
#include "driver/pipeline.h"
#include "object/code.h"
#include "testing.h"

namespace pellucid::object {
namespace {

// `def f(a): return a` of 3.12, and a module whose constant it is.
Module whole() {
  Module module = new_module({3, 12});
  Code code;
  code.version = module.version;
  code.name = code.qualname = code.filename = module.strings.intern("f");
  code.flags = kOptimized | kNewLocals;
  code.argcount = code.nlocals = 1;
  code.varnames = {module.strings.intern("a")};
  derive_localsplus(code);
  code.bytecode = {151, 0, 124, 0, 83, 0};  // RESUME, LOAD_FAST, RETURN_VALUE
  module.codes.push_back(code);
  module.root = CodeId(size_t{0});
  return module;
}

std::string fault_after(const std::function<void(Module&, Code&)>& change) {
  Module module = whole();
  change(module, module.codes.edit(module.root));
  const std::optional<Error> error = admit(module);
  if (error) return error->message;
  return module.codes[0].fault;
}

TEST("a code object that agrees with itself is admitted as it is") {
  EXPECT_EQ(fault_after([](Module&, Code&) {}), "");
}

TEST("a code object whose parts disagree says so and loses them") {
  const std::pair<const char*, std::function<void(Module&, Code&)>> cases[] = {
      {"more arguments than locals", [](Module&, Code& code) { code.argcount = 2; }},
      {"more arguments than locals", [](Module&, Code& code) { code.kwonlyargcount = ~0u; }},
      {"more arguments than locals", [](Module&, Code& code) { code.flags |= kVarArgs; }},
      {"more positional-only arguments than arguments",
       [](Module&, Code& code) { code.posonlyargcount = 2; }},
      {"nlocals and varnames differ", [](Module&, Code& code) { code.nlocals = 0; }},
      {"a constant is none", [](Module&, Code& code) { code.consts = {ConstId(9u)}; }},
      {"a name is no string", [](Module&, Code& code) { code.names = {Symbol(99u)}; }},
      {"it has no name", [](Module&, Code& code) { code.qualname = Symbol(); }},
      {"localspluskinds and localsplusnames differ in length",
       [](Module&, Code& code) { code.localspluskinds.clear(); }},
      {"localsplusnames and varnames differ",
       [](Module&, Code& code) { code.localspluskinds[0] = LocalKind::Cell; }},
      {"it is of another version than its module",
       [](Module&, Code& code) { code.version = {3, 11}; }},
  };
  for (const auto& [fault, change] : cases) {
    EXPECT_EQ(fault_after(change), fault);
    Module module = whole();
    change(module, module.codes.edit(module.root));
    EXPECT(!admit(module));
    check(module);
    const auto decoded = bytecode::decode(module, module.root);
    EXPECT(!decoded.ok() && decoded.error().message == "code object: " + std::string(fault));
  }
}

TEST("a code object with a fault is a function without a body, and the others are whole") {
  Module module = whole();
  Code holder = module.codes[0];
  holder.name = holder.qualname = module.strings.intern("g");
  holder.consts = {module.add(Const{.kind = ConstKind::Code, .code = CodeId(size_t{0})})};
  module.codes.push_back(holder);
  module.root = CodeId(size_t{1});
  module.codes.edit(CodeId(size_t{0})).nlocals = 7;
  EXPECT(!admit(module));
  const auto outer = driver::decompile(module, module.root);
  EXPECT(outer.ok());
  EXPECT_EQ(outer->source, "def g(a):\n    return a\n");
  const auto inner = driver::decompile(module, CodeId(size_t{0}));
  EXPECT(inner.ok() && !inner->diagnostics.empty() && inner->diagnostics.back().refused);
  EXPECT_EQ(inner->diagnostics.back().message, "code object: nlocals and varnames differ");
}

TEST("what is wrong with a module as such is an error") {
  EXPECT_EQ(fault_after([](Module& module, Code&) { module.root = CodeId(5u); }),
            "module: the root is no code object");
  EXPECT_EQ(fault_after([](Module& module, Code&) {
              module.add(Const{.kind = ConstKind::Tuple, .items = {ConstId(0u)}});
            }),
            "module: constant 0 holds what comes later");
  EXPECT_EQ(fault_after([](Module& module, Code&) { module.add(Const{.kind = ConstKind::Str}); }),
            "module: constant 0 has no text");
  EXPECT_EQ(fault_after([](Module& module, Code&) { module.version = {3, 7}; }),
            "code object: CPython 3.7 is not supported (" + supported_versions() + " are)");
}

TEST("a module of 3.14 starts with its small ints, whoever made it") {
  Module module = whole();
  module.version = module.codes.edit(module.root).version = {3, 14};
  const std::optional<Error> error = admit(module);
  EXPECT(error && error->code == ErrorCode::Internal);
  EXPECT_EQ(error->message, "module: constant 0 is not what its version has there");
}

}  // namespace
}  // namespace pellucid::object
