// SPDX-License-Identifier: Apache-2.0
// library: converts results of the lower layers to the public header's types.
#pragma once

#include <vector>

#include "driver/input.h"
#include "driver/pipeline.h"
#include "object/code.h"
#include "pellucid/pellucid.h"
#include "verify/compare.h"

namespace pellucid {

inline Version public_version(object::Version version) { return {version.major, version.minor}; }
inline object::Version own_version(Version version) { return {version.major, version.minor}; }

Verdict public_verdict(const verify::Verdict& verdict);

std::vector<Diagnostic> public_diagnostics(const std::vector<driver::Diagnostic>& diagnostics);

driver::Options own_options(const DecompileOptions& options);

// Returns the parts of a decompilation that a driver::Output has; `module` is the decompiled
// module.
Decompilation public_decompilation(const object::Module& module, driver::Output output);

// Implements decompile() with the driver's options.
Result<Decompilation> decompiled(const driver::Input& input, const driver::Options& options,
                                 bool with_remarks);

}  // namespace pellucid
