// SPDX-License-Identifier: Apache-2.0
#include "library/convert.h"

#include <utility>

#include "driver/inspect.h"
#include "driver/marks.h"

namespace pellucid {
namespace {

Status public_status(verify::Status status) {
  switch (status) {
    case verify::Status::Identical:
      return Status::Identical;
    case verify::Status::Equivalent:
      return Status::Equivalent;
    case verify::Status::Unproven:
      return Status::Unproven;
  }
  return Status::Unproven;
}

LineMapping public_line(const driver::LineMapEntry& entry) {
  LineMapping line;
  line.line = entry.line;
  if (entry.original_line >= 0) line.original_line = entry.original_line;
  if (entry.offset != driver::LineMapEntry{}.offset) line.offset = entry.offset;
  line.code = entry.code.value;
  return line;
}

}  // namespace

Verdict public_verdict(const verify::Verdict& verdict) {
  Verdict out{public_status(verdict.status), {}};
  for (const verify::CodeVerdict& code : verdict.codes) {
    std::vector<Meeting> meetings;
    for (const auto& [original, candidate] : code.meetings) {
      meetings.push_back({original, candidate});
    }
    out.codes.push_back({public_status(code.status), code.code.value, code.path, code.reason,
                         code.offset_a, code.offset_b, std::move(meetings)});
  }
  return out;
}

std::vector<Diagnostic> public_diagnostics(const std::vector<driver::Diagnostic>& diagnostics) {
  std::vector<Diagnostic> out;
  for (const driver::Diagnostic& said : diagnostics) {
    const Severity severity = said.refused ? Severity::Refused : Severity::Unstructured;
    out.push_back({severity, said.code.value, said.qualname, said.offset, said.message});
  }
  return out;
}

driver::Options own_options(const DecompileOptions& options) {
  driver::Options own;
  own.verify = options.verify;
  own.strict = options.strict;
  own.search = options.verify && options.search;
  own.keep_lines = options.keep_lines;
  own.line_length = options.line_length;
  own.say_lost = options.say_lost;
  own.force_unstructured = !options.structured;
  if (options.syntax) own.syntax = {options.syntax->major, options.syntax->minor};
  return own;
}

Decompilation public_decompilation(const object::Module& module, driver::Output output) {
  Decompilation out;
  const std::vector<uint32_t> lines = driver::first_lines(module, module.root, output.line_map);
  out.codes.reserve(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    out.codes.push_back({std::move(output.paths[i]), lines[i]});
  }
  out.lines.reserve(output.line_map.size());
  for (const driver::LineMapEntry& entry : output.line_map) {
    out.lines.push_back(public_line(entry));
  }
  out.diagnostics = public_diagnostics(output.diagnostics);
  out.remarks = driver::lines_on_names(output);
  for (auto& [given, original] : output.renamed) {
    out.renamed.push_back({std::move(given), std::move(original)});
  }
  if (output.verdict) out.verdict = public_verdict(*output.verdict);
  out.source = std::move(output.source);
  return out;
}

Result<Decompilation> decompiled(const driver::Input& input, const driver::Options& options,
                                 bool with_remarks) {
  const object::Module& module = input.module;
  const driver::Remarks remarks = with_remarks ? driver::remarks_on(input) : driver::Remarks();
  PELLUCID_TRY(driver::Output output, driver::decompile(module, module.root, options));
  Decompilation out = public_decompilation(module, std::move(output));
  out.remarks.insert(out.remarks.begin(), remarks.before.begin(), remarks.before.end());
  out.hidden = remarks.after;
  return out;
}

}  // namespace pellucid
