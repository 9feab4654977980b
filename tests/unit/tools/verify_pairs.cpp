// SPDX-License-Identifier: Apache-2.0
// pellucid_verify_pairs: verify::compare for scripts.
//
// Reads JSON lines {"version": "3.11", "a": HEX, "b": HEX, "options": "extra_locals,..."}, where a
// and b are marshalled code objects in hexadecimal; answers each with a JSON line {"verdict",
// "codes"}. With the option "relowered" b is decompiled, and its tree compared with a. With two
// paths of .pyc files as arguments it compares those instead, and prints a line a code object.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "driver/pipeline.h"
#include "object/pyc.h"
#include "verify/compare.h"

namespace {

using namespace pellucid;

const char* name_of(verify::Status status) {
  switch (status) {
    case verify::Status::Identical:
      return "identical";
    case verify::Status::Equivalent:
      return "equivalent";
    case verify::Status::Unproven:
      return "unproven";
  }
  return "";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + '"';
}

// The text of `"key": "..."` in a line that our own scripts made.
std::string field(const std::string& line, const std::string& key) {
  const size_t at = line.find("\"" + key + "\": \"");
  if (at == std::string::npos) return "";
  const size_t begin = at + key.size() + 5;
  return line.substr(begin, line.find('"', begin) - begin);
}

std::vector<uint8_t> bytes_of(const std::string& hex) {
  std::vector<uint8_t> out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

verify::Options options_of(const std::string& names) {
  const auto has = [&](const char* name) { return names.find(name) != std::string::npos; };
  verify::Options options;
  options.ignore_nested_flag = has("ignore_nested_flag");
  options.ignore_qualname = has("ignore_qualname");
  options.ignore_future_flags = has("ignore_future_flags");
  options.ignore_name = has("ignore_name");
  options.extra_locals = has("extra_locals");
  options.bound_globals = has("bound_globals");
  options.thorough = has("thorough");
  return options;
}

std::string answer(const std::string& line) {
  const std::string version = field(line, "version");
  const object::Version number{3, static_cast<uint8_t>(std::stoi(version.substr(2)))};
  Result<object::Module> a = object::read_marshal(bytes_of(field(line, "a")), number);
  Result<object::Module> b = object::read_marshal(bytes_of(field(line, "b")), number);
  for (const auto* side : {&a, &b}) {
    if (!side->ok()) {
      return "{\"verdict\": \"error\", \"reason\": " + quoted(side->error().message) + "}";
    }
  }
  const verify::Options options = options_of(field(line, "options"));
  const bool relowered = field(line, "options").find("relowered") != std::string::npos;
  const verify::Verdict verdict = relowered ? driver::compare_with_tree(*a, *b, options)
                                            : verify::compare(*a, a->root, *b, b->root, options);
  std::string out = "{\"verdict\": " + quoted(name_of(verdict.status)) + ", \"codes\": [";
  for (size_t i = 0; i < verdict.codes.size(); ++i) {
    const verify::CodeVerdict& code = verdict.codes[i];
    if (i > 0) out += ", ";
    out += "{\"path\": " + quoted(code.path) + ", \"verdict\": " + quoted(name_of(code.status)) +
           ", \"reason\": " + quoted(code.reason) + ", \"a\": " + std::to_string(code.offset_a) +
           ", \"b\": " + std::to_string(code.offset_b) + "}";
  }
  return out + "]}";
}

int compare_files(const char* path_a, const char* path_b) {
  const auto read = [](const char* path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    return object::read_pyc(bytes);
  };
  const auto a = read(path_a);
  const auto b = read(path_b);
  for (const auto* side : {&a, &b}) {
    if (!side->ok()) {
      std::printf("error: %s\n", side->error().message.c_str());
      return 2;
    }
  }
  const verify::Verdict verdict = verify::compare(*a, a->root, *b, b->root);
  for (const verify::CodeVerdict& code : verdict.codes) {
    std::printf("%-10s %s%s%s", name_of(code.status), code.path.c_str(),
                code.reason.empty() ? "" : ": ", code.reason.c_str());
    if (code.status == verify::Status::Unproven) {
      std::printf(" (bytes %u / %u)", code.offset_a, code.offset_b);
    }
    std::printf("\n");
  }
  return verdict.status == verify::Status::Unproven ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) return compare_files(argv[1], argv[2]);
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line.empty()) continue;
    std::cout << answer(line) << std::endl;
  }
  return 0;
}
