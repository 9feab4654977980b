// SPDX-License-Identifier: Apache-2.0
#include "driver/pipeline.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "ast/tree.h"
#include "driver/bodies.h"
#include "driver/code_paths.h"
#include "driver/search.h"
#include "driver/shared_bodies.h"
#include "driver/stages.h"
#include "driver/verdicts.h"
#include "flow/graphs.h"
#include "object/fitting_names.h"
#include "verify/lower/lower.h"

namespace pellucid::driver {
namespace {

// Makes code with replaced names unproven: a source with other names is no proof, whatever the
// tree's code compares to.
void doubt_names(const object::Fitted& fitted, Output& out) {
  if (!out.verdict || fitted.codes.empty()) return;
  out.verdict->status = verify::Status::Unproven;
  for (verify::CodeVerdict& code : out.verdict->codes) {
    const auto& codes = fitted.codes;
    if (std::find(codes.begin(), codes.end(), code.code) == codes.end()) continue;
    code.status = verify::Status::Unproven;
    code.reason = "it has names that no source can write";
  }
}

void name_codes(const object::Module& module, std::vector<Diagnostic>& diagnostics) {
  for (Diagnostic& said : diagnostics) said.qualname = module.text(module[said.code].qualname);
}

}  // namespace

Result<Output> decompile(const object::Module& module, object::CodeId root, const Options& given) {
  Options options = given;
  // The same module with names that a source can write. Those of live objects fit already.
  std::optional<object::Module> renamed;
  object::Fitted fitted;
  if (!module.names_given.are_live && !object::has_fitting_names(module)) {
    std::unordered_map<std::string, std::string> none_before;
    fitted = object::fit_names(renamed.emplace(module), none_before);
  }
  const object::Module& named = renamed ? *renamed : module;
  // No form of these could be proven.
  std::vector<bool> as_is(named.codes.size());
  for (const auto* codes : {&fitted.codes, &fitted.holders}) {
    for (const object::CodeId code : *codes) {
      as_is[code.index()] = true;
      if (code.index() < options.forms.size()) options.forms[code.index()] = Form::Usual;
    }
  }
  // Each code object is decoded once, and its graph built once, for every text and its proof.
  flow::Graphs graphs(named);
  const Request request{graphs, root, options};
  const bool searches = options.verify && options.search && !options.force_unstructured;
  Output out = searches ? search(request, options.forms, as_is) : written(request, options.forms);
  doubt_names(fitted, out);
  if (!options.doubt.empty() && out.verdict) {
    out.verdict = of_a_guess(named, out.verdict->tier, options.doubt);
  }
  out.paths = paths_of(named);
  name_codes(named, out.diagnostics);
  return out;
}

verify::Verdict compare_with_tree(const object::Module& original, const object::Module& module,
                                  const verify::Options& options) {
  flow::Graphs graphs_of_original(original);
  flow::Graphs graphs(module);
  object::Module of_text = module;
  ast::Tree tree(of_text);
  std::vector<Diagnostic> diagnostics;
  const ast::NodeId top = recover_all({graphs, module.root, {}}, {}, {}, tree, diagnostics);
  verify::Lowered lowered = verify::relower(tree, top);
  return verify::compare(graphs_of_original, original.root, lowered, options);
}

Result<std::string> dump_stage(const object::Module& module, object::CodeId root,
                               const std::string& stage, std::vector<Diagnostic>* told,
                               object::CodeId only) {
  object::Module listed = module;
  object::escape_names(listed);
  flow::Graphs graphs(listed);
  std::vector<Diagnostic> diagnostics;
  if (stage == "ast" || stage.starts_with("structure")) {
    object::Module of_text = listed;
    ast::Tree tree(of_text);
    structure::Trace trace{stage.substr(std::min(stage.find(':'), stage.size() - 1) + 1), {}, only};
    structure::Trace* const told_of = stage == "ast" ? nullptr : &trace;
    // The tree of one code object is that of its text by itself.
    const object::CodeId top_code = stage == "ast" && only.valid() ? only : root;
    const ast::NodeId top = recover_all({graphs, top_code, {}}, {}, {}, tree, diagnostics, told_of);
    return stage == "ast" ? ast::dump(tree, top) : std::move(trace.text);
  }
  const std::vector<object::CodeId> codes =
      only.valid() ? std::vector{only} : innermost_first(listed, root);
  PELLUCID_TRY(std::string text, list_codes(graphs, codes, stage, diagnostics));
  name_codes(listed, diagnostics);
  if (told != nullptr) *told = std::move(diagnostics);
  return text;
}

}  // namespace pellucid::driver
