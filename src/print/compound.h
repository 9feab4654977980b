// SPDX-License-Identifier: Apache-2.0
// print: compound statements. Each writes the header, and pushes the steps of the rest.
#pragma once

#include "print/page.h"

namespace pellucid::print {

void function_definition(Page& page, ast::NodeId id, uint32_t depth);
void class_definition(Page& page, ast::NodeId id, uint32_t depth);
void for_loop(Page& page, ast::NodeId id, uint32_t depth);
void while_loop(Page& page, ast::NodeId id, uint32_t depth);
void conditional(Page& page, ast::NodeId id, uint32_t depth, const char* keyword);
void with(Page& page, ast::NodeId id, uint32_t depth);
void try_statement(Page& page, ast::NodeId id, uint32_t depth);
void handler(Page& page, ast::NodeId id, uint32_t depth, const char* keyword);
void match(Page& page, ast::NodeId id, uint32_t depth);
void match_case(Page& page, ast::NodeId id, uint32_t depth);
// Prints the statements in place of the region, under a comment with the reason for their form.
void unstructured(Page& page, ast::NodeId id, uint32_t depth);

}  // namespace pellucid::print
