// SPDX-License-Identifier: Apache-2.0
// A small fuzzer for machines without libFuzzer: mutates seed files for a given time and runs the
// target.
//
//   fuzz_<name> -max_total_time=SECONDS SEED...
//
// It does not use coverage. The current input is in `<program>.input`, for inspection after a
// crash; `<program> FILE` without a time runs the file once.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

Bytes read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  Bytes mutate(const std::vector<Bytes>& seeds) {
    Bytes bytes = seeds[below(seeds.size())];
    for (size_t n = 1 + below(8); n > 0 && !bytes.empty(); --n) change(bytes, seeds);
    return bytes;
  }

 private:
  size_t below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random_); }

  void change(Bytes& bytes, const std::vector<Bytes>& seeds) {
    const size_t at = below(bytes.size());
    static constexpr uint8_t kEdges[] = {0, 1, 2, 0x7f, 0x80, 0xfe, 0xff};
    switch (below(6)) {
      case 0:
        bytes[at] ^= static_cast<uint8_t>(1u << below(8));
        break;
      case 1:
        bytes[at] = static_cast<uint8_t>(below(256));
        break;
      case 2:
        bytes[at] = kEdges[below(std::size(kEdges))];
        break;
      case 3:
        bytes.resize(at);
        break;
      case 4:
        bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      default: {  // a piece of another seed
        const Bytes& other = seeds[below(seeds.size())];
        const size_t from = below(other.size());
        const size_t count = std::min({other.size() - from, bytes.size() - at, 1 + below(32)});
        std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(from), count,
                    bytes.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
  }

  std::mt19937_64 random_;
};

}  // namespace

int main(int argc, char** argv) {
  long seconds = 0;
  uint64_t seed = 1;
  std::vector<Bytes> seeds;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("-max_total_time=")) {
      seconds = std::atol(argument.c_str() + std::strlen("-max_total_time="));
    } else if (argument.starts_with("-seed=")) {
      seed = std::strtoull(argument.c_str() + std::strlen("-seed="), nullptr, 10);
    } else if (argument[0] != '-') {
      for (const auto& path : std::filesystem::is_directory(argument)
                                  ? std::vector<std::filesystem::path>(
                                        std::filesystem::directory_iterator(argument), {})
                                  : std::vector<std::filesystem::path>{argument}) {
        Bytes bytes = read(path);
        if (!bytes.empty()) seeds.push_back(std::move(bytes));
      }
    }
  }
  if (seeds.empty()) {
    std::fprintf(stderr, "usage: %s [-max_total_time=SECONDS] [-seed=N] SEED...\n", argv[0]);
    return 2;
  }
  for (const Bytes& bytes : seeds) LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  Mutator mutator(seed);
  const std::string trace = std::string(argv[0]) + ".input";
  size_t runs = seeds.size();
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    const Bytes bytes = mutator.mutate(seeds);
    std::ofstream(trace, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::filesystem::remove(trace);
  std::printf("%s: %zu runs, nothing found\n", argv[0], runs);
  return 0;
}
