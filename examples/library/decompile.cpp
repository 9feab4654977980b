// SPDX-License-Identifier: Apache-2.0
// Prints the source of a .pyc file, and on standard error what is proven of it.
//
//   decompile FILE
#include <pellucid/pellucid.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

int complain(const std::string& what) {
  std::cerr << "decompile: " << pellucid::on_one_line(what) << '\n';
  return 1;
}

const char* name_of(pellucid::Status status) {
  switch (status) {
    case pellucid::Status::Identical:
      return "identical";
    case pellucid::Status::Equivalent:
      return "equivalent";
    case pellucid::Status::Unproven:
      return "unproven";
  }
  return "unproven";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return complain("usage: decompile FILE");
  std::ifstream file(argv[1], std::ios::binary);
  if (!file) return complain(std::string(argv[1]) + ": cannot be read");
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto program = pellucid::read_pyc(bytes);
  if (!program.ok()) return complain(program.error().message);
  const auto text = pellucid::decompile(*program, {.verify = true});
  if (!text.ok()) return complain(text.error().message);

  std::cout << text->source;
  std::cerr << "CPython " << int{program->version().major} << '.' << int{program->version().minor}
            << '\n';
  for (const pellucid::Diagnostic& said : text->diagnostics) {
    std::cerr << said.name << ": " << said.message << '\n';
  }
  for (const pellucid::CodeVerdict& code : text->verdict->codes) {
    std::cerr << code.path << ": " << name_of(code.status) << '\n';
  }
  return 0;
}
