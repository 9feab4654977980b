// SPDX-License-Identifier: Apache-2.0
// The rewrites of polish, each alone: tests/unit/polish/<rewrite>/<case>.txt.
//
// A case has a body as Python, and the body after the rewrite, or `# unchanged`. `# line 5` after a
// statement says which line it comes from, where that is not the line that it is on, `# column 4`
// in which column that line was written, `# no column` that nothing says so: only what looks at
// columns gets any. The bodies are parsed by Python: body_trees.py writes the trees of all of them,
// once.
#include "polish/rewrites.h"

#include <cstdio>
#include <stdexcept>
#include <unordered_map>

#include "golden.h"
#include "polish/tree_reader.h"
#include "print/print.h"

namespace pellucid::polish {
namespace {

// A rewrite of the body of a function.
using object::Places;
const Places kNoPlaces;
using Rewrite = void (*)(ast::Tree& tree, Statements& body, const Places& places);

template <void rewrite(ast::Tree&, Statements&, Outline&)>
void without_columns(ast::Tree& tree, Statements& body, const Places&) {
  Outline outline(tree, body);
  rewrite(tree, body, outline);
}

const std::unordered_map<std::string, Rewrite> kRewrites = {
    {"join_try",
     [](ast::Tree& tree, Statements& body, const Places&) {
       Outline outline(tree, body);
       join_try(tree, body, outline, Starts(tree, body, {kNoPlaces}));
     }},
    {"join_with",
     [](ast::Tree& tree, Statements& body, const Places& places) {
       Outline outline(tree, body);
       join_with(tree, body, outline, Starts(tree, body, {places, -1}));
     }},
    {"join_conditions",
     [](ast::Tree& tree, Statements& body, const Places& places) {
       Outline outline(tree, body);
       join_conditions(tree, body, outline, Starts(tree, body, {places, -1}));
     }},
    {"join_lines", without_columns<join_lines>},
    {"chain_elif", without_columns<chain_elif>},
    {"drop_repeated_ends",
     [](ast::Tree& tree, Statements& body, const Places&) {
       Outline outline(tree, body);
       drop_repeated_ends(tree, body, outline, Starts(tree, body, {kNoPlaces}));
     }},
    {"end_if", without_columns<end_if>},
    {"end_try", [](ast::Tree& tree, Statements& body,
                   const Places&) { end_try(tree, body, Starts(tree, body, {kNoPlaces})); }},
    {"flatten_rows",
     [](ast::Tree& tree, Statements& body, const Places&) { flatten_rows(tree, body, true); }},
    {"lay_out",
     [](ast::Tree& tree, Statements& body, const Places& places) {
       lay_out(tree, body, true, Starts(tree, body, {places, -1}));
     }},
    {"take_inside",
     [](ast::Tree& tree, Statements& body, const Places& places) {
       Outline outline(tree, body);
       take_inside(tree, body, outline, true, Starts(tree, body, {places, -1}));
     }},
    {"split_asserts",
     [](ast::Tree& tree, Statements& body, const Places& places) {
       split_asserts(tree, body, true, Starts(tree, body, {places, -1}));
     }},
    {"split_tests",
     [](ast::Tree& tree, Statements& body, const Places& places) {
       Outline outline(tree, body);
       split_tests(tree, body, outline, true, Starts(tree, body, {places, -1}));
     }},
    {"split_returns",
     [](ast::Tree& tree, Statements& body, const Places& places) {
       Outline outline(tree, body);
       split_returns(tree, body, outline, Starts(tree, body, {places, -1}));
     }},
    {"place_names",
     [](ast::Tree& tree, Statements& body, const Places&) {
       place_names(tree, body, Starts(tree, body, {kNoPlaces, 1}));
     }},
    {"lay_out_by_lines",
     [](ast::Tree& tree, Statements& body, const Places&) {
       lay_out_by_lines(tree, body, true, Starts(tree, body, {kNoPlaces}));
     }},
    {"join_negations",
     [](ast::Tree& tree, Statements& body, const Places& places) {
       const Starts starts(tree, body, {places, -1});
       join_negations(tree, own_nodes(tree, body), starts);
     }},
    {"keep_dropped_constants",
     [](ast::Tree& tree, Statements& body, const Places&) { keep_dropped_constants(tree, body); }},
    {"negate_comparisons",
     [](ast::Tree& tree, Statements& body, const Places&) {
       negate_comparisons(tree, own_nodes(tree, body), true);
     }},
    {"negate_comparisons_before_3_10",
     [](ast::Tree& tree, Statements& body, const Places&) {
       negate_comparisons(tree, own_nodes(tree, body), false);
     }},
    {"percent_formats", [](ast::Tree& tree, Statements& body,
                           const Places&) { percent_formats(tree, own_nodes(tree, body)); }},
    {"drop_tail_jumps",
     [](ast::Tree& tree, Statements& body, const Places&) {
       const Starts starts(tree, body, {kNoPlaces});
       Outline outline(tree, body);
       drop_tail_jumps(tree, body, outline, Body::Function, true, starts);
     }},
    {"drop_tail_jumps_before_3_10",
     [](ast::Tree& tree, Statements& body, const Places&) {
       const Starts starts(tree, body, {kNoPlaces});
       Outline outline(tree, body);
       drop_tail_jumps(tree, body, outline, Body::Function, false, starts);
     }},
};

// The instructions for a TreeReader of each body, by its text.
using Trees = std::unordered_map<std::string, std::string>;

Trees read_trees() {
  const std::string command =
      "\"" PELLUCID_PYTHON "\" \"" PELLUCID_SOURCE_DIR "/tests/python/body_trees.py\"";
  std::FILE* const pipe = popen(command.c_str(), "r");
  std::string text;
  if (pipe != nullptr) {
    char part[4096];
    for (size_t size; (size = std::fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, size);
  }
  if (pipe == nullptr || pclose(pipe) != 0) throw std::runtime_error("failed: " + command);

  Trees trees;
  std::string* tree = nullptr;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string mark = "body ";
    if (line.starts_with(mark)) {
      tree = &trees[bytes_of_hex(line.substr(mark.size()))];
    } else {
      *tree += line + '\n';
    }
  }
  return trees;
}

std::string printed(const ast::Tree& tree, ast::NodeId root) {
  const print::Source source = print::to_source(tree, root, {.version = {3, 12}});
  for (const print::Problem& problem : source.problems) throw std::runtime_error(problem.message);
  return source.text;
}

std::string run_rewrite(const std::string& name, const std::string& input) {
  static const Trees trees = read_trees();
  const auto found = trees.find(input);
  if (found == trees.end()) throw std::runtime_error(PELLUCID_PYTHON " cannot parse the body");
  TreeReader reader;
  std::istringstream lines(found->second);
  for (std::string line; std::getline(lines, line) && reader.execute(line);) {
  }
  ast::Tree& tree = reader.tree();
  const ast::NodeId root(reader.pop());
  ast::check(tree, root);
  const std::string before = printed(tree, root);
  const auto items = tree.items(tree.as<ast::Module>(root).body);
  Statements body(items.begin(), items.end());
  kRewrites.at(name)(tree, body, reader.places());
  tree.set(root, ast::Module{tree.list(body)});
  ast::check(tree, root);
  const std::string after = printed(tree, root);
  return after == before ? "# unchanged\n" : after;
}

const bool rewrites_are_registered = testing::register_goldens("polish", run_rewrite);

TEST("every rewrite has tests of its own") {
  EXPECT(rewrites_are_registered);
  EXPECT_EQ(kRewrites.size(), 23u);
  for (const auto& rewrite : kRewrites) {
    const std::string start = "polish/" + rewrite.first + '/';
    const auto is_its = [&](const testing::Test& test) { return test.name.starts_with(start); };
    if (std::none_of(testing::registry().begin(), testing::registry().end(), is_its)) {
      testing::report_failure(__FILE__, __LINE__, "no tests of " + rewrite.first);
    }
  }
}

}  // namespace
}  // namespace pellucid::polish
