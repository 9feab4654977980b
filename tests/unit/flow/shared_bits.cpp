// SPDX-License-Identifier: Apache-2.0
// Sets that share what they have in common, against plain ones.
#include <set>
#include <utility>
#include <vector>

#include "flow/shared_bits.h"
#include "random.h"
#include "testing.h"

namespace pellucid::flow {
namespace {

// A set, and what it has to have.
struct Known {
  SharedBits::Set set = 0;
  std::set<uint32_t> numbers;
};

bool is_right(const SharedBits& bits, const Known& known, uint32_t limit) {
  for (uint32_t i = 0; i < limit; ++i) {
    if (bits.has(known.set, i) != known.numbers.contains(i)) return false;
  }
  return true;
}

TEST("changes of one set and unions leave all others as they are") {
  for (const uint32_t limit : {1u, 64u, 65u, 1024u, 1025u, 20000u}) {
    testing::Random random(limit);
    SharedBits bits(limit);
    std::vector<Known> kept{{bits.none(), {}}};
    for (int round = 0; round < 40; ++round) {
      Known now = kept[random.below(static_cast<uint32_t>(kept.size()))];
      bits.freeze();
      for (uint32_t i = random.below(12); i > 0; --i) {
        const uint32_t number = random.below(limit);
        const bool is = random.below(3) != 0;
        now.set = bits.with(now.set, number, is);
        if (is) {
          now.numbers.insert(number);
        } else {
          now.numbers.erase(number);
        }
      }
      bits.freeze();
      const Known other = kept[random.below(static_cast<uint32_t>(kept.size()))];
      kept.push_back(now);
      Known both{bits.either(now.set, other.set), now.numbers};
      both.numbers.insert(other.numbers.begin(), other.numbers.end());
      // Nothing new is no change, however equal sets were made.
      EXPECT((both.set == now.set) == (both.numbers == now.numbers));
      EXPECT(bits.either(both.set, other.set) == both.set);
      kept.push_back(std::move(both));
    }
    for (const Known& each : kept) EXPECT(is_right(bits, each, limit));
  }
}

}  // namespace
}  // namespace pellucid::flow
