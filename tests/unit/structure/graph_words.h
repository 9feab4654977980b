// SPDX-License-Identifier: Apache-2.0
// The words that graph_text.h is written in.
#pragma once

namespace pellucid::structure {

inline constexpr const char* kKinds[] = {"instr", "element",   "item", "sent",
                                         "null",  "exception", "phi",  "region"};
inline constexpr const char* kRegions[] = {"And",           "Or",     "Conditional", "Chain",
                                           "Comprehension", "Pattern"};
inline constexpr const char* kHandlers[] = {"unknown", "except", "except*",
                                            "finally", "with",   "dissolved"};

}  // namespace pellucid::structure
