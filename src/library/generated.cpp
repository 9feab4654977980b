// SPDX-License-Identifier: Apache-2.0
#include "pellucid/generated.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "bytecode/decode.h"
#include "bytecode/holder.h"
#include "bytecode/twin_constants.h"
#include "driver/code_paths.h"
#include "driver/pipeline.h"
#include "driver/verdicts.h"
#include "flow/graphs.h"
#include "library/access.h"
#include "library/convert.h"

namespace pellucid {
namespace {

driver::Form own_form(Form form) {
  switch (form) {
    case Form::Usual:
      return driver::Form::Usual;
    case Form::InOrder:
      return driver::Form::InOrder;
    case Form::Plain:
      return driver::Form::Plain;
    case Form::Unstructured:
      return driver::Form::Unstructured;
  }
  return driver::Form::Usual;
}

driver::Forms own_forms(const object::Module& module, const FormsByPath& given) {
  driver::Forms forms;
  if (given.empty()) return forms;
  for (const std::string& path : paths_of(module)) {
    const auto found = given.find(path);
    forms.push_back(own_form(found == given.end() ? Form::Usual : found->second));
  }
  return forms;
}

}  // namespace

Result<std::vector<object::ConstId>> twin_constants(const object::Module& module) {
  return guarded([&]() -> Result<std::vector<object::ConstId>> {
    std::vector<object::ConstId> twins;
    for (size_t i = 0; i < module.codes.size(); ++i) {
      const Result<bytecode::Stream> stream = bytecode::decode(module, object::CodeId(i));
      if (!stream.ok()) continue;
      for (const object::ConstId id : bytecode::twin_constants(module, *stream)) {
        twins.push_back(id);
      }
    }
    return twins;
  });
}

Result<LiveDecompilation> decompile_live(const object::Module& module,
                                         const DecompileOptions& options, const FormsByPath& forms,
                                         const object::Facts& facts) {
  return guarded([&]() -> Result<LiveDecompilation> {
    driver::Options own = own_options(options);
    own.forms = own_forms(module, forms);
    own.facts = facts;
    PELLUCID_TRY(driver::Output output, driver::decompile(module, module.root, own));
    LiveDecompilation out;
    for (driver::Opaque& opaque : output.opaques) {
      out.opaques.push_back({std::move(opaque.name), opaque.known, opaque.code});
    }
    static_cast<Decompilation&>(out) = public_decompilation(module, std::move(output));
    return out;
  });
}

Result<Decompilation> decompile_in_forms(const Program& program, const DecompileOptions& options,
                                         const FormsByPath& forms, const object::Facts& facts) {
  return guarded([&] {
    const driver::Input& input = Access::input(program);
    driver::Options own = own_options(options);
    own.search = false;
    own.forms = own_forms(input.module, forms);
    own.facts = facts;
    return decompiled(input, own, options.remarks);
  });
}

Result<Verdict> compare_live(const object::Module& original, const object::Module& candidate,
                             const Allowance& allowance) {
  return guarded([&]() -> Result<Verdict> {
    verify::Options own;
    own.ignore_name = allowance.ignore_name;
    own.extra_locals = allowance.extra_locals;
    own.facts = allowance.facts;
    own.strict = allowance.strict;
    return public_verdict(verify::compare(original, original.root, candidate, candidate.root, own));
  });
}

Program with_objects(const Program& program, std::span<const std::string> stand_ins) {
  driver::Input input = Access::input(program);
  for (object::Const& value : input.module.consts) {
    if (value.kind != object::ConstKind::Str) continue;
    const std::string_view text = input.module.text(value.text);
    if (std::find(stand_ins.begin(), stand_ins.end(), text) == stand_ins.end()) continue;
    value.kind = object::ConstKind::Opaque;
  }
  return Access::program(std::move(input));
}

const object::Module& module_of(const Program& program) { return Access::input(program).module; }

std::vector<std::string> subject_path(const Program& program) {
  const std::vector<std::string_view> path = bytecode::path_of_held(module_of(program));
  return {path.begin(), path.end()};
}

std::vector<std::string> paths_of(const object::Module& module) { return driver::paths_of(module); }

Result<Verdict> compare_with_source(const Program& original, ast::Tree& tree, ast::NodeId top,
                                    const object::Facts& facts) {
  return guarded([&]() -> Result<Verdict> {
    flow::Graphs graphs(Access::input(original).module);
    return public_verdict(driver::relowered(graphs, tree, top, false, facts));
  });
}

}  // namespace pellucid
