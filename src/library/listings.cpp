// SPDX-License-Identifier: Apache-2.0
#include "driver/inspect.h"
#include "driver/pipeline.h"
#include "library/access.h"
#include "library/convert.h"
#include "object/repr.h"
#include "pellucid/generated.h"

namespace pellucid {
namespace {

std::vector<Finding> public_findings(const std::vector<driver::Finding>& findings) {
  std::vector<Finding> out;
  for (const driver::Finding& found : findings) {
    out.push_back({found.kind, found.text, found.offset, found.is_common});
  }
  return out;
}

CodeReport public_report(const object::Module& module, const driver::CodeReport& report) {
  const object::Code& code = module[report.code];
  CodeReport out;
  out.path = report.path;
  out.code = report.code.value;
  out.filename = module.text(code.filename);
  out.first_line = code.firstlineno;
  out.flags = code.flags;
  out.bytecode_size = code.bytecode.size();
  out.constant_count = code.consts.size();
  out.name_count = code.names.size();
  out.findings = public_findings(report.findings);
  return out;
}

}  // namespace

std::vector<std::string> stages() { return driver::stages(); }

Result<Dump> dump_live(const object::Module& module, std::string_view stage) {
  return guarded([&]() -> Result<Dump> {
    if (stage == "module") return Dump{object::dump(module), {}};
    std::vector<driver::Diagnostic> told;
    PELLUCID_TRY(std::string text,
                 driver::dump_stage(module, module.root, std::string(stage), &told));
    return Dump{std::move(text), public_diagnostics(told)};
  });
}

Result<Dump> dump(const Program& program, std::string_view stage) {
  return dump_live(Access::input(program).module, stage);
}

Result<Inspection> inspect(const Program& program) {
  return guarded([&]() -> Result<Inspection> {
    const driver::Input& input = Access::input(program);
    const driver::Inspection found = driver::inspect(input);
    Inspection out;
    out.magic = input.header.magic;
    out.magic_words = object::words_of_magic(input.header.magic);
    out.flags = input.header.flags;
    out.date = input.header.date;
    out.size = input.header.size;
    out.start = input.start;
    out.end = input.end;
    out.findings = public_findings(found.file);
    for (const driver::CodeReport& report : found.codes) {
      out.codes.push_back(public_report(input.module, report));
    }
    return out;
  });
}

std::string repr(std::string_view text) { return object::repr_of_text(text); }

std::string on_one_line(std::string_view text) { return object::on_one_line(text); }

}  // namespace pellucid
