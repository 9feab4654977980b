// SPDX-License-Identifier: Apache-2.0
// Interned strings: one Symbol for equal bytes, in a pool and in its copies.
#include "base/string_pool.h"

#include <cstdint>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include "testing.h"

namespace pellucid {
namespace {

// Texts of many lengths: none at all, some with NUL, some longer than a chunk of the pool.
std::string text_of(size_t n) {
  std::string text = std::to_string(n);
  if (n % 7 == 0) text += std::string(1, '\0') + "behind";
  if (n % 50 == 0) text.append(3000 + 100 * n, 'x');
  return n == 3 ? std::string() : text;
}

bool has_first(const StringPool& pool, size_t count) {
  bool right = pool.size() == count;
  for (size_t n = 0; n < count; ++n) {
    right = right && pool.find(text_of(n)) == Symbol(n) && pool.view(Symbol(n)) == text_of(n);
  }
  return right;
}

void fill_to(StringPool& pool, size_t count) {
  for (size_t n = 0; n < count; ++n) pool.intern(text_of(n));
}

TEST("string_pool: equal bytes have one symbol, and keep it as the pool grows") {
  StringPool pool;
  fill_to(pool, 500);
  fill_to(pool, 500);
  EXPECT(has_first(pool, 500));
  EXPECT(!pool.find("not there").valid());
  EXPECT(!StringPool().find("").valid());
}

TEST("string_pool: what a copy gains the original does not have") {
  for (const size_t size : {299u, 201u, 200u, 51u, 4u, 3u, 1u, 0u}) {
    StringPool pool;
    fill_to(pool, size);
    StringPool copy = pool;
    fill_to(copy, 300);
    EXPECT(has_first(pool, size));
    EXPECT(!pool.find(text_of(size)).valid());
    EXPECT(has_first(copy, 300));
    // Both write on where the last string ended.
    pool.intern("the original's");
    EXPECT(has_first(copy, 300));
    EXPECT(!copy.find("the original's").valid());
    copy.intern("the copy's");
    EXPECT(pool.view(pool.find("the original's")) == "the original's");
  }
}

TEST("string_pool: a copy outlives the original") {
  StringPool copy = [] {
    StringPool pool;
    fill_to(pool, 120);
    return StringPool(pool);
  }();
  EXPECT(has_first(copy, 120));
  fill_to(copy, 300);
  EXPECT(has_first(copy, 300));
}

TEST("string_pool: a pool that was moved is whole, and so is the next one in its place") {
  StringPool pool;
  fill_to(pool, 100);
  const StringPool taken = std::move(pool);
  pool = StringPool();
  fill_to(pool, 60);
  EXPECT(has_first(taken, 100));
  EXPECT(has_first(pool, 60));
}

// Sixteen bytes. The second half cancels what the pool's hash makes of the first one, so that all
// of these have one hash, as a hostile file may have them.
std::string colliding(uint64_t n) {
  const uint64_t first = n * 0x10001 + 7;
  uint64_t second = (sizeof first + sizeof second) ^ first;
  second *= 0x9e3779b97f4a7c15u;
  second ^= second >> 32;
  std::string text(sizeof first + sizeof second, '\0');
  std::memcpy(text.data(), &first, sizeof first);
  std::memcpy(text.data() + sizeof first, &second, sizeof second);
  return text;
}

TEST("string_pool: strings of one hash take no time of their own") {
  constexpr uint64_t kMany = 60000;
  const auto begun = std::clock();
  StringPool pool;
  for (uint64_t n = 0; n < kMany; ++n) pool.intern(std::to_string(n));
  const auto met = std::clock();
  StringPool crowded;
  for (uint64_t n = 0; n < kMany; ++n) crowded.intern(colliding(n));
  const auto ended = std::clock();
  // (With each one compared to all before it, it is a thousand times.)
  EXPECT(ended - met < 50 * (met - begun) + CLOCKS_PER_SEC / 10);
  fill_to(crowded, 1);
  const StringPool copy = crowded;
  crowded.intern("the original's");
  bool right = copy.size() == kMany + 1 && !copy.find("the original's").valid();
  for (uint64_t n = 0; n < kMany; ++n) {
    right = right && copy.find(colliding(n)) == Symbol(n) && copy.view(Symbol(n)) == colliding(n);
  }
  EXPECT(right);
}

}  // namespace
}  // namespace pellucid
