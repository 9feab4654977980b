// SPDX-License-Identifier: Apache-2.0
// The program's `operator new`: blocks of every size keep what is written into them, on any thread.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "testing.h"

namespace pellucid::cli {
namespace {

class Filled {
 public:
  Filled(size_t size, uint8_t with)
      : size_(size), with_(with), bytes_(static_cast<uint8_t*>(::operator new(size))) {
    std::memset(bytes_, with, size);
  }
  Filled(const Filled&) = delete;
  Filled& operator=(const Filled&) = delete;
  ~Filled() { ::operator delete(bytes_); }

  bool holds() const {
    for (size_t i = 0; i < size_; ++i) {
      if (bytes_[i] != with_) return false;
    }
    return reinterpret_cast<uintptr_t>(bytes_) % __STDCPP_DEFAULT_NEW_ALIGNMENT__ == 0;
  }

 private:
  size_t size_;
  uint8_t with_;
  uint8_t* bytes_;
};

using Blocks = std::vector<std::unique_ptr<Filled>>;

// Several of each size around every border between two sizes of blocks.
Blocks blocks_of_every_size() {
  Blocks made;
  for (size_t size = 0; size <= 70000; size += size < 2100 ? 1 : 509) {
    for (size_t i = 0; i < 3; ++i) {
      made.push_back(std::make_unique<Filled>(size, static_cast<uint8_t>(size + i)));
    }
  }
  return made;
}

bool all_hold(const Blocks& blocks) {
  for (const auto& block : blocks) {
    if (block && !block->holds()) return false;
  }
  return true;
}

TEST("cli: memory of every size is whole, also after some of it was given back") {
  Blocks blocks = blocks_of_every_size();
  EXPECT(all_hold(blocks));
  for (size_t i = 0; i < blocks.size(); i += 2) blocks[i].reset();
  const Blocks more = blocks_of_every_size();
  EXPECT(all_hold(blocks));
  EXPECT(all_hold(more));
}

TEST("cli: memory may be given back by another thread than the one that took it") {
  std::vector<Blocks> made(4);
  std::vector<std::thread> threads;
  for (Blocks& mine : made) threads.emplace_back([&mine] { mine = blocks_of_every_size(); });
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  for (size_t i = 0; i < made.size(); ++i) {
    threads.emplace_back([&made, i] {
      made[i].clear();
      made[i] = blocks_of_every_size();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Blocks& blocks : made) EXPECT(all_hold(blocks));
}

#ifndef __SANITIZE_ADDRESS__  // which stops the program instead
TEST("cli: more memory than there is is refused") {
  bool refused = false;
  try {
    ::operator delete(::operator new(SIZE_MAX / 2));
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  EXPECT(refused);
}
#endif

}  // namespace
}  // namespace pellucid::cli
