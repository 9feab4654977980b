// SPDX-License-Identifier: Apache-2.0
// The program's allocator: `operator new` and `operator delete` for a process that allocates and
// frees millions of small lists and little else.
//
// A block of up to 1 KiB is taken from a free list for its size, one for each thread, and returned
// to the list of the thread that frees it, so nothing is ever locked, split or merged. Lists are
// filled from spans of 32 KiB, each for blocks of one size, in one reserved range of addresses: the
// address of a block determines its size. Larger blocks, and all blocks if the range is full or
// could not be reserved, come from malloc, which reuses the memory of one size for another: lists
// of larger blocks would save 1 % of the instructions and take 4 MiB.
//
// Replaces functions of the standard library ([new.delete.single]), so nothing calls it by name.
// Only the binary has it: the extension must not change the allocator of its host process.
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr size_t kRange = size_t{1} << 32;  // of addresses; unused pages cost nothing
constexpr size_t kSpan = size_t{1} << 15;   // the unused rest of one for each size is lost
constexpr size_t kStep = 16;
constexpr size_t kLargest = 1024;  // up to here one size for each kStep bytes
static_assert(kLargest <= kSpan);
constexpr size_t kSizes = kLargest / kStep + 1;
// Every page from the kernel has a cost, and consecutive steps need lists of the same size: malloc
// keeps freed memory up to this, however large the blocks.
constexpr int kKept = 1 << 28;
// Pages cost one by one: a process that needs this much gets huge pages, the last of which may stay
// nearly empty.
constexpr size_t kHugePage = size_t{1} << 21;
constexpr size_t kMuch = 4 * kHugePage;

struct Block {
  Block* next;
};

struct Lists {
  std::array<Block*, kSizes> free;
  std::array<std::byte*, kSizes> fresh;  // the unused rest of the current span
  std::array<std::byte*, kSizes> end;
};

constinit thread_local Lists lists{};
// The start of the range; before it is reserved, a value that no address follows by less than
// kRange.
constinit std::atomic<uintptr_t> range{uintptr_t{0} - kRange};
constinit std::atomic<size_t> used{0};  // of the range, in spans
constinit std::array<uint8_t, kRange / kSpan> size_of_span{};

// Asks for pages of kHugePage for the whole ones in a range, if the system has them.
void ask_for_huge_pages([[maybe_unused]] std::byte* begin, [[maybe_unused]] std::byte* end) {
#ifdef MADV_HUGEPAGE
  const uintptr_t first = (reinterpret_cast<uintptr_t>(begin) + kHugePage - 1) & ~(kHugePage - 1);
  const uintptr_t last = reinterpret_cast<uintptr_t>(end) & ~(kHugePage - 1);
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

std::byte* reserve() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
  void* found = mmap(nullptr, kRange, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return nullptr;
  std::byte* const start = static_cast<std::byte*>(found);
  ask_for_huge_pages(start + kMuch, start + kRange);
  range.store(reinterpret_cast<uintptr_t>(found), std::memory_order_relaxed);
  return start;
}

// Reserves a span for blocks of one size; nullptr if the range is full.
std::byte* span_for(size_t index) {
  static std::byte* const start = reserve();
  if (start == nullptr || used.load(std::memory_order_relaxed) >= kRange / kSpan) return nullptr;
  const size_t span = used.fetch_add(1, std::memory_order_relaxed);
  if (span >= kRange / kSpan) return nullptr;
  size_of_span[span] = static_cast<uint8_t>(index);
  return start + span * kSpan;
}

void* from_malloc(size_t size) {
  for (;;) {
    if (void* block = std::malloc(size == 0 ? 1 : size)) {
      std::byte* const start = static_cast<std::byte*>(block);
      if (size >= kMuch) ask_for_huge_pages(start, start + size);
      return block;
    }
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

// Takes a new block from a span if the list is empty.
[[gnu::noinline]] void* cut(size_t index) {
  const size_t size = std::max<size_t>(index, 1) * kStep;
  std::byte*& fresh = lists.fresh[index];
  if (fresh == nullptr || static_cast<size_t>(lists.end[index] - fresh) < size) {
    fresh = span_for(index);
    if (fresh == nullptr) return from_malloc(size);
    lists.end[index] = fresh + kSpan;
  }
  void* block = fresh;
  fresh += size;
  return block;
}

}  // namespace

void* operator new(size_t size) {
  if (size > kLargest) return from_malloc(size);
  const size_t index = (size + kStep - 1) / kStep;
  Block* block = lists.free[index];
  if (block == nullptr) return cut(index);
  lists.free[index] = block->next;
  return block;
}

void operator delete(void* block) noexcept {
  const uintptr_t at = reinterpret_cast<uintptr_t>(block) - range.load(std::memory_order_relaxed);
  if (at >= kRange) return std::free(block);
  Block* freed = static_cast<Block*>(block);
  const size_t index = size_of_span[at / kSpan];
  freed->next = lists.free[index];
  lists.free[index] = freed;
}

void* operator new[](size_t size) { return operator new(size); }
void operator delete[](void* block) noexcept { operator delete(block); }
void operator delete(void* block, size_t) noexcept { operator delete(block); }
void operator delete[](void* block, size_t) noexcept { operator delete(block); }
