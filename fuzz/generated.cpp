// SPDX-License-Identifier: Apache-2.0
// Code as a bytecode generator writes it, with its facts: calls of functions in constants, values
// packed into lists and taken out again, slices, pops, cells. The input bytes select a version, the
// facts and the statements; the last ones change single bytes. Decompiling the code and proving it
// against itself may fail, but not crash, hang or leak.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/raw_table.h"
#include "driver/pipeline.h"
#include "object/admit.h"
#include "object/known.h"
#include "verify/compare.h"

namespace {

using namespace pellucid;
using object::ConstKind;

// Reads the bytes of the input; returns zeros at the end.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  bool empty() const { return at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  uint32_t byte() { return empty() ? 0 : *at_++; }
  uint32_t below(uint32_t end) { return byte() % end; }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

constexpr uint32_t kLocals = 6;  // two arguments, one of them a cell; the rest is the generator's
constexpr uint32_t kNames = 5;
constexpr uint32_t kConsts = 12;
constexpr size_t kLargest = 4000;  // bytes of bytecode
constexpr size_t kMostChanges = 6;
constexpr int kDeepest = 4;

class Generator {
 public:
  Generator(object::Version version, Choices& choices)
      : version_(version), choices_(choices), module_(object::new_module(version)) {}

  object::Module run() {
    object::Code code = header();
    constants(code);
    prologue();
    while (choices_.left() > kMostChanges && bytes_.size() < kLargest) statement(0);
    load(choices_.below(kConsts) % 2 == 0);
    op({"RETURN_VALUE"});
    for (size_t i = 0; i < kMostChanges && !choices_.empty(); ++i) change();
    code.bytecode = std::move(bytes_);
    module_.codes.push_back(std::move(code));
    module_.root = object::CodeId(module_.codes.size() - 1);
    return std::move(module_);
  }

 private:
  bool since(uint8_t minor) const { return version_.minor >= minor; }

  object::Code header() {
    object::Code code;
    code.version = version_;
    code.name = code.qualname = code.filename = module_.strings.intern("f");
    code.flags = object::kOptimized | object::kNewLocals;
    code.argcount = 2;
    for (const char* name : {"x", "y", "tmp_0", "tmp_1", "graph_out_0", "stack0"}) {
      code.varnames.push_back(module_.strings.intern(name));
    }
    code.nlocals = kLocals;
    code.cellvars = {code.varnames[1], module_.strings.intern("cell")};
    code.freevars = {module_.strings.intern("free")};
    for (const char* name : {"__compiled_fn_1", "torch", "__import_torch", "call", "attribute"}) {
      code.names.push_back(module_.strings.intern(name));
    }
    object::derive_localsplus(code);
    return code;
  }

  object::ConstId opaque(const char* name, object::Known known, int64_t more = 0) {
    object::Const value{.kind = ConstKind::Opaque};
    value.text = module_.strings.intern(name);
    value.integer = static_cast<int64_t>(known) + more;
    return module_.add(std::move(value));
  }

  void constants(object::Code& code) {
    const auto integer = [&](int64_t number) {
      return module_.add({.kind = ConstKind::Int, .integer = number});
    };
    const object::ConstId none = module_.add({.kind = ConstKind::None});
    const object::ConstId two = integer(2);
    code.consts = {none,
                   integer(0),
                   integer(1),
                   two,
                   opaque("_const_iter", object::Known::Iter),
                   opaque("_const_lambda", object::Known::ReturnsNone),
                   opaque("_const_rotate", object::Known::Rotates, 1 + choices_.below(4)),
                   opaque("_const_tensor", object::Known::Nothing),
                   module_.add({.kind = ConstKind::Tuple, .items = {none, two}}),
                   module_.add({.kind = ConstKind::FrozenSet, .items = {two}}),
                   module_.add({.kind = ConstKind::Slice, .items = {none, two, none}}),
                   integer(-1)};
  }

  // Emits the first of these opcodes that the version has.
  void op(std::initializer_list<std::string_view> names, uint32_t arg = 0) {
    const bytecode::RawTable& table = bytecode::raw_table(version_);
    for (const std::string_view name : names) {
      const auto it = std::find_if(table.begin(), table.end(), [&](const bytecode::RawOpcode& row) {
        return row.name == name;
      });
      if (it == table.end()) continue;
      bytes_.push_back(static_cast<uint8_t>(it - table.begin()));
      bytes_.push_back(static_cast<uint8_t>(arg));
      bytes_.insert(bytes_.end(), 2 * size_t{it->caches}, 0);
      return;
    }
  }

  // Returns the index of a cell. In 3.11+ cells follow the locals; the second argument is itself a
  // cell.
  uint32_t cell(uint32_t which) const {
    if (!since(11)) return which;
    return which == 0 ? 1 : kLocals + which - 1;
  }

  void prologue() {
    if (!since(11)) return;
    op({"COPY_FREE_VARS"}, 1);
    op({"MAKE_CELL"}, cell(0));
    op({"MAKE_CELL"}, cell(1));
    op({"RESUME"});
  }

  uint32_t plain_local() {
    const uint32_t local = choices_.below(kLocals);
    return local == 1 && since(11) ? 0 : local;
  }

  void global() {
    const uint32_t name = choices_.below(kNames);
    op({"LOAD_GLOBAL"}, since(11) ? name << 1 : name);
  }

  void swap() { since(11) ? op({"SWAP"}, 2) : op({"ROT_TWO"}); }

  // Pushes a value by one instruction.
  void load(bool is_local) {
    if (is_local) return op({"LOAD_FAST"}, plain_local());
    switch (choices_.below(3)) {
      case 0:
        return op({"LOAD_CONST"}, choices_.below(kConsts));
      case 1:
        return op({"LOAD_DEREF"}, cell(choices_.below(3)));
      default:
        return global();
    }
  }

  void call(int depth) {
    const uint32_t count = choices_.below(4);
    if (since(11) && !since(13)) op({"PUSH_NULL"});
    choices_.below(2) == 0 ? global() : op({"LOAD_CONST"}, 4 + choices_.below(4));
    if (since(13)) op({"PUSH_NULL"});
    for (uint32_t i = 0; i < count; ++i) expression(depth + 1);
    if (version_.minor == 11) op({"PRECALL"}, count);
    op({"CALL", "CALL_FUNCTION"}, count);
  }

  // Pushes the value of an expression.
  void expression(int depth) {
    if (depth > kDeepest || bytes_.size() > kLargest) return load(true);
    switch (choices_.below(10)) {
      case 0:
      case 1:
      case 2:
        return load(choices_.below(2) == 0);
      case 3:
        return call(depth);
      case 4: {
        const uint32_t count = choices_.below(4);
        for (uint32_t i = 0; i < count; ++i) expression(depth + 1);
        return choices_.below(2) == 0 ? op({"BUILD_LIST"}, count) : op({"BUILD_TUPLE"}, count);
      }
      case 5:
        expression(depth + 1);
        load(false);
        return since(14) ? op({"BINARY_OP"}, 26) : op({"BINARY_SUBSCR"});
      case 6:
        for (int i = 0; i < 3; ++i) expression(depth + 1);
        if (since(12)) return op({"BINARY_SLICE"});
        op({"BUILD_SLICE"}, 2);
        return op({"BINARY_SUBSCR"});
      case 7:
        expression(depth + 1);
        return op({"LOAD_ATTR"}, choices_.below(kNames) << (since(12) ? 1 : 0));
      case 8:
        // A list that is filled afterwards.
        op({"BUILD_LIST"}, 0);
        expression(depth + 1);
        return choices_.below(2) == 0 ? op({"LIST_APPEND"}, 1) : op({"LIST_EXTEND"}, 1);
      default:
        expression(depth + 1);
        expression(depth + 1);
        swap();
        since(11) ? op({"COPY"}, 2) : op({"DUP_TOP"});
        return op({"BUILD_TUPLE"}, 3);
    }
  }

  void store() {
    switch (choices_.below(4)) {
      case 0:
        return op({"STORE_DEREF"}, cell(choices_.below(3)));
      case 1:
        return op({"POP_TOP"});
      default:
        return op({"STORE_FAST"}, plain_local());
    }
  }

  // Emits a statement, which leaves the stack unchanged.
  void statement(int depth) {
    switch (choices_.below(8)) {
      case 0: {
        const uint32_t count = 1 + choices_.below(4);
        expression(0);
        op({"UNPACK_SEQUENCE"}, count);
        for (uint32_t i = 0; i < count; ++i) store();
        return;
      }
      case 1:
        return op({"DELETE_FAST"}, plain_local());
      case 2:
        if (depth < 3) return branch(depth);
        [[fallthrough]];
      case 3: {
        // Values that stay on the stack while others are computed.
        const uint32_t count = 1 + choices_.below(3);
        for (uint32_t i = 0; i < count; ++i) expression(1);
        if (count > 1) swap();
        for (uint32_t i = 0; i < count; ++i) store();
        return;
      }
      case 4:
        expression(1);
        load(true);
        load(false);
        return op({"STORE_SUBSCR"});
      case 5:
        expression(1);
        load(true);
        return op({"STORE_ATTR"}, choices_.below(kNames));
      default:
        expression(0);
        return store();
    }
  }

  void branch(int depth) {
    expression(1);
    if (since(13)) op({"TO_BOOL"});
    const size_t jump = bytes_.size();
    op({"POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_FALSE"});
    const size_t behind = bytes_.size();
    for (uint32_t count = choices_.below(3); count > 0; --count) statement(depth + 1);
    const size_t end = bytes_.size();
    const size_t target = since(11) ? (end - behind) / 2 : since(10) ? end / 2 : end;
    if (target > 255) {
      // A branch that would need an EXTENDED_ARG becomes a pop.
      bytes_.resize(jump);
      op({"POP_TOP"});
      return;
    }
    bytes_[jump + 1] = static_cast<uint8_t>(target);
  }

  void change() {
    const uint32_t where = choices_.byte() << 8 | choices_.byte();
    if (where == 0) return;
    bytes_[where % bytes_.size()] = static_cast<uint8_t>(choices_.byte());
  }

  object::Version version_;
  Choices& choices_;
  object::Module module_;
  std::vector<uint8_t> bytes_;
};

object::Facts facts_of(Choices& choices) {
  const auto some = [&](std::initializer_list<const char*> all) {
    std::vector<std::string> chosen;
    const uint32_t bits = choices.byte();
    size_t i = 0;
    for (const char* name : all) {
      if ((bits >> i++ & 1) != 0) chosen.emplace_back(name);
    }
    return chosen;
  };
  object::Facts facts;
  facts.temporaries = some({"tmp_0", "tmp_1", "graph_out_0", "stack0", "cell", "x"});
  facts.steady = some({"__compiled_fn_1", "torch", "__import_torch", "torch.call", "call"});
  facts.apart = some({"call", "torch.call"});
  facts.reads = some({"torch.attribute", "__import_torch"});
  facts.graphs = some({"__compiled_fn_1", "call"});
  facts.objects = some({"torch", "__import_torch"});
  facts.makers = some({"call", "torch.attribute"});
  facts.owned = some({"attribute", "attribute[]"});
  return facts;
}

[[noreturn]] void report(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Choices choices(data, size);
  const uint8_t versions = object::kNewestVersion.minor - object::kOldestVersion.minor + 1;
  const auto minor = static_cast<uint8_t>(object::kOldestVersion.minor + choices.below(versions));
  verify::Options proof;
  proof.facts = facts_of(choices);
  proof.extra_locals = true;
  driver::Options options;
  options.facts = proof.facts;
  options.force_unstructured = choices.below(8) == 0;
  object::Module module = Generator({3, minor}, choices).run();
  if (object::admit(module)) __builtin_trap();

  const verify::Verdict same = verify::compare(module, module.root, module, module.root, proof);
  for (const verify::CodeVerdict& code : same.codes) {
    if (code.reason.find("check failed") != std::string::npos) report(code.reason);
  }
  const Result<driver::Output> output = driver::decompile(module, module.root, options);
  if (!output.ok()) report(output.error().message);
  for (const driver::Diagnostic& diagnostic : output->diagnostics) {
    if (diagnostic.message.starts_with("check failed")) report(diagnostic.message);
  }
  return 0;
}
