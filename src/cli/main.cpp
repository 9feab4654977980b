// The native pellucid binary: `decompile`, `dis` and `dump`, with no Python on the machine.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/pipeline.h"
#include "object/pyc.h"

namespace pellucid::cli {

namespace {

constexpr const char* kUsage =
    "usage: pellucid decompile [--unstructured] FILE.pyc... [-o FILE]\n"
    "       pellucid dis FILE.pyc...\n"
    "       pellucid dump --stage=STAGE FILE.pyc...    STAGE: module raw stream flow ir ast\n"
    "       pellucid --version\n";

// No .pyc of a real module comes near this; what is larger is refused before it is read.
constexpr std::streamoff kLargestFile = std::streamoff{1} << 30;

struct Arguments {
  std::string command;
  std::string stage;
  std::string out;
  std::vector<std::string> files;
  driver::Options options;
};

std::optional<Arguments> parse(int argc, char** argv) {
  if (argc < 2) return std::nullopt;
  Arguments parsed;
  parsed.command = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "-o" && i + 1 < argc) {
      parsed.out = argv[++i];
    } else if (argument == "--unstructured") {
      parsed.options.force_unstructured = true;
    } else if (argument.starts_with("--stage=")) {
      parsed.stage = argument.substr(std::strlen("--stage="));
    } else if (argument.size() > 1 && argument[0] == '-') {
      return std::nullopt;
    } else {
      parsed.files.emplace_back(argument);
    }
  }
  if (parsed.command == "dis") parsed.stage = "flow";
  const bool known = parsed.command == "decompile" || parsed.command == "dis" ||
                     (parsed.command == "dump" && !parsed.stage.empty());
  if (!known || parsed.files.empty()) return std::nullopt;
  if (!parsed.out.empty() && parsed.files.size() != 1) return std::nullopt;
  return parsed;
}

Result<std::vector<uint8_t>> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = in ? static_cast<std::streamoff>(in.tellg()) : -1;
  if (size < 0) return Error{ErrorCode::Malformed, 0, "cannot be read"};
  if (size > kLargestFile) return Error{ErrorCode::Limit, 0, "larger than 1 GiB"};
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), size);
  if (!in) return Error{ErrorCode::Malformed, 0, "cannot be read"};
  return bytes;
}

// What one file gave: the text, and what is not as it should be in it.
struct Answer {
  std::string text;
  std::vector<Error> complaints;
  bool refused = false;  // some code object has no source
};

Answer plain(std::string text) { return {std::move(text), {}, false}; }

Result<Answer> answer_for(const Arguments& arguments, const std::string& path) {
  PELLUCID_TRY(const std::vector<uint8_t> bytes, read_file(path));
  PELLUCID_TRY(object::Module module, object::read_pyc(bytes));
  if (arguments.stage == "module") return plain(object::dump(module));
  if (arguments.command != "decompile") {
    PELLUCID_TRY(std::string text, driver::dump_stage(module, module.root, arguments.stage));
    return plain(std::move(text));
  }
  PELLUCID_TRY(driver::Output output, driver::decompile(module, module.root, arguments.options));
  Answer answer = plain(std::move(output.source));
  for (const driver::Diagnostic& diagnostic : output.diagnostics) {
    answer.refused |= diagnostic.refused;
    const std::string_view kind = diagnostic.refused ? ": " : ": without structure: ";
    const std::string_view name = module.text(module[diagnostic.code].qualname);
    answer.complaints.push_back({ErrorCode::Unsupported, diagnostic.offset,
                                 std::string(name) + std::string(kind) + diagnostic.message});
  }
  return answer;
}

void complain(const std::string& path, const Error& error) {
  std::fprintf(stderr, "pellucid: %s: %s", path.c_str(), error.message.c_str());
  if (error.message.find(" byte 0x") == std::string::npos) {
    std::fprintf(stderr, " at byte 0x%llx", static_cast<unsigned long long>(error.offset));
  }
  std::fputc('\n', stderr);
}

bool write(const Arguments& arguments, const std::string& text) {
  if (arguments.out.empty()) {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
           std::fflush(stdout) == 0;
  }
  // Written beside its place and moved there, so that the file appears whole or not at all.
  const std::string unfinished = arguments.out + ".unfinished";
  std::ofstream out(unfinished, std::ios::binary);
  out << text;
  out.close();
  return out && std::rename(unfinished.c_str(), arguments.out.c_str()) == 0;
}

// The one place where what should not happen is caught: a bug of ours is an error of one file.
Result<Answer> guarded_answer_for(const Arguments& arguments, const std::string& path) {
  try {
    return answer_for(arguments, path);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::Limit, 0, "not enough memory"};
  } catch (const std::exception& error) {
    return Error{ErrorCode::Internal, 0, std::string("internal error: ") + error.what()};
  }
}

int run(const Arguments& arguments) {
  int status = 0;
  for (const std::string& path : arguments.files) {
    const Result<Answer> answer = guarded_answer_for(arguments, path);
    if (!answer.ok()) {
      complain(path, answer.error());
      status = 1;
      continue;
    }
    if (!write(arguments, answer->text)) {
      std::fprintf(stderr, "pellucid: %s: cannot be written\n",
                   arguments.out.empty() ? "standard output" : arguments.out.c_str());
      return 1;
    }
    for (const Error& complaint : answer->complaints) {
      complain(path, complaint);
    }
    if (answer->refused) status = 1;
  }
  return status;
}

}  // namespace

}  // namespace pellucid::cli

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::puts("pellucid " PELLUCID_VERSION);
    return 0;
  }
  const auto arguments = pellucid::cli::parse(argc, argv);
  if (!arguments) {
    std::fputs(pellucid::cli::kUsage, stderr);
    return 2;
  }
  return pellucid::cli::run(*arguments);
}
