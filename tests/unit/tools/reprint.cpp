// SPDX-License-Identifier: Apache-2.0
// reprint VERSION [--keep-lines]: prints programs whose syntax trees come on standard input.
//
// tests/python/reprint.py writes the trees and compares what CPython parses from our text with what
// it was made of. After the instructions that polish/tree_reader.h lists comes
//
//   p              print the node on top         q          print the constant on top
//
// Each program's answer is a line with the length of the text and the number of problems, then the
// text.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "polish/tree_reader.h"
#include "print/print.h"

namespace {

using namespace pellucid;

void answer(const std::string& text, size_t problems) {
  std::cout << text.size() << ' ' << problems << '\n' << text;
}

void finish(const std::string& line, polish::TreeReader& reader, const print::Style& style) {
  if (line == "p") {
    const ast::NodeId root(reader.pop());
    ast::check(reader.tree(), root);
    const print::Source source = print::to_source(reader.tree(), root, style);
    answer(source.text, source.problems.size());
  } else if (line == "q") {
    answer(print::to_literal(reader.module(), object::ConstId(reader.pop()), style), 0);
  }
  reader.clear();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: pellucid_reprint VERSION [--keep-lines]\n");
    return 2;
  }
  print::Style style;
  style.version.minor = static_cast<uint8_t>(std::atoi(argv[1] + 2));
  style.keep_lines = argc > 2 && std::string(argv[2]) == "--keep-lines";
  std::ios::sync_with_stdio(false);
  polish::TreeReader reader;
  for (std::string line; std::getline(std::cin, line);) {
    if (!reader.execute(line)) finish(line, reader, style);
  }
  return 0;
}
