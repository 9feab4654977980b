// SPDX-License-Identifier: Apache-2.0
#include "pellucid/pellucid.h"

#include "driver/marks.h"
#include "driver/verdicts.h"
#include "library/access.h"
#include "library/convert.h"

namespace pellucid {

std::vector<Version> supported_versions() {
  std::vector<Version> versions;
  for (object::Version v = object::kOldestVersion; v <= object::kNewestVersion; ++v.minor) {
    versions.push_back(public_version(v));
  }
  return versions;
}

std::optional<Version> version_named(std::string_view text) {
  const auto version = driver::version_named(text);
  return version ? std::optional(public_version(*version)) : std::nullopt;
}

Version Program::version() const { return public_version(impl_->input.module.version); }
const std::vector<std::string>& Program::notes() const { return impl_->input.notes; }
const std::string& Program::doubt() const { return impl_->input.doubt; }
const std::string& Program::subject() const { return impl_->input.subject; }

Result<Program> read_pyc(std::span<const uint8_t> bytes, std::optional<Version> version) {
  return guarded([&]() -> Result<Program> {
    const auto wanted = version ? std::optional(own_version(*version)) : std::nullopt;
    PELLUCID_TRY(driver::Input input, driver::read_input(bytes, wanted));
    return Access::program(std::move(input));
  });
}

Result<Program> read_marshal(std::span<const uint8_t> bytes, Version version) {
  return guarded([&]() -> Result<Program> {
    driver::Input input;
    PELLUCID_TRY(input.module, object::read_marshal(bytes, own_version(version), 0, &input.end));
    return Access::program(std::move(input));
  });
}

Result<Verdict> compare(const Program& original, const Program& candidate,
                        const CompareOptions& options) {
  return guarded([&]() -> Result<Verdict> {
    return public_verdict(driver::compare_recompiled(Access::input(original).module,
                                                     Access::input(candidate).module,
                                                     options.meetings, options.strict));
  });
}

Result<Decompilation> decompile(const Program& program, const DecompileOptions& options) {
  return guarded([&] {
    const driver::Input& input = Access::input(program);
    driver::Options own = own_options(options);
    own.doubt = input.doubt;
    return decompiled(input, own, options.remarks);
  });
}

std::string with_comments(std::string_view source, std::vector<Comment> comments, bool keep_lines) {
  std::vector<driver::Comment> own;
  for (Comment& comment : comments) own.push_back({comment.line, std::move(comment.text)});
  return driver::with_comments(source, std::move(own), keep_lines);
}

}  // namespace pellucid
