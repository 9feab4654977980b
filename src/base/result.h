// SPDX-License-Identifier: Apache-2.0
// Result<T> and PELLUCID_TRY, which are the library's own (pellucid/result.h).
//
// Errors are for bad input only. A bug of ours is a failed PELLUCID_CHECK (check.h).
#pragma once

#include "pellucid/result.h"  // IWYU pragma: export
