// SPDX-License-Identifier: Apache-2.0
// The locals of one side: a persistent vector of values, copied at every branch and changed at
// every store.
//
// A function of a thousand locals and a thousand branches has a thousand states, which differ in a
// few slots each. So the vector is a shallow tree with copy-on-write pages and chunks. Each has a
// summary that bounds which values can be in it, so that searches and joins skip the parts that
// cannot matter.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "verify/domain/values.h"

namespace pellucid::verify {

class Locals {
 public:
  void assign(const Values& values, size_t count, Value value);
  bool empty() const { return size_ == 0; }
  Value operator[](size_t slot) const {
    return pages_[slot / kPerPage]->chunks[slot / kFanOut % kFanOut]->items[slot % kFanOut];
  }
  void set(const Values& values, size_t slot, Value value);
  // Returns true if a slot holds this symbol itself; values made of it do not count.
  bool contains(Value value) const;
  friend bool operator==(const Locals& x, const Locals& y);

  template <typename F>
  void for_each(F visit) const {
    for_each_if([](const Summary&) { return true; }, visit);
  }
  // Visits at least the containers and the values made of other values.
  template <typename F>
  void for_each_compound(F visit) const {
    for_each_if([](const Summary& summary) { return summary.compounds; }, visit);
  }
  // Replaces at least `from` and the values made of it by the results of `change`.
  template <typename F>
  void rewrite(const Values& values, Value from, F change);
  // Assigns `other`, of the same size; visits the old and the new value of each slot that differs.
  template <typename F>
  void become(const Locals& other, F visit);
  // Visits the values of two states slot by slot, except chunks that both share and that hold no
  // compound values.
  template <typename F>
  static void zip(const Locals& x, const Locals& y, F visit);
  // Returns true if `zip` skips a slot whose symbol is `wanted`; wanted symbols have numbers from
  // `from` to `to`.
  template <typename P>
  static bool shares(const Locals& x, const Locals& y, uint32_t from, uint32_t to, P wanted);
  // Returns the join of two states: `join` of each pair that `zip` visits; shared chunks are kept.
  template <typename F>
  static Locals joined(const Values& values, const Locals& x, const Locals& y, F join);

 private:
  static constexpr size_t kFanOut = 32;
  static constexpr size_t kPerPage = kFanOut * kFanOut;

  // Bounds, which only widen until the part is rewritten.
  struct Summary {
    uint32_t oldest = UINT32_MAX;  // of the symbols, by number: values are numbered
    uint32_t newest = 0;           // in the order in which they are made
    uint32_t compound = 0;         // the newest value made of older ones
    bool compounds = false;        // containers among them

    void add(const Values& values, Value value);
    void add(const Summary& other);
    bool can_hold(Value value) const { return oldest <= value.value && value.value <= newest; }
    bool can_mention(Value value) const { return can_hold(value) || value.value < compound; }
  };
  struct Chunk {
    std::array<Value, kFanOut> items;
    Summary summary;
  };
  struct Page {
    std::array<std::shared_ptr<Chunk>, kFanOut> chunks;
    Summary summary;
  };

  template <typename P, typename F>
  void for_each_if(P wanted, F visit) const {
    for (const auto& page : pages_) {
      if (!wanted(page->summary)) continue;
      for (const auto& chunk : page->chunks) {
        if (!wanted(chunk->summary)) continue;
        for (Value value : chunk->items) visit(value);
      }
    }
  }

  Page& own_page(size_t page);
  static Chunk& own_chunk(Page& page, size_t chunk);
  static void summarise(const Values& values, Chunk& chunk);
  static void summarise(Page& page);

  size_t size_ = 0;
  std::vector<std::shared_ptr<Page>> pages_;
};

// Returns true if a path can learn more about the value: its truth, whether it is bound, or that it
// is the same object as another.
bool is_symbol(const Values& values, Value value);

template <typename F>
void Locals::rewrite(const Values& values, Value from, F change) {
  const bool anywhere = !is_symbol(values, from);
  for (size_t i = 0; i < pages_.size(); ++i) {
    if (!anywhere && !pages_[i]->summary.can_mention(from)) continue;
    for (size_t j = 0; j < kFanOut; ++j) {
      const Chunk& chunk = *pages_[i]->chunks[j];
      if (!anywhere && !chunk.summary.can_mention(from)) continue;
      std::array<Value, kFanOut> items = chunk.items;
      for (Value& value : items) value = change(value);
      if (items == chunk.items) continue;
      Page& page = own_page(i);
      Chunk& own = own_chunk(page, j);
      own.items = items;
      summarise(values, own);
      page.summary.add(own.summary);
    }
  }
}

template <typename F>
void Locals::become(const Locals& other, F visit) {
  for (size_t i = 0; i < pages_.size(); ++i) {
    if (pages_[i] == other.pages_[i]) continue;
    for (size_t j = 0; j < kFanOut; ++j) {
      const Chunk& was = *pages_[i]->chunks[j];
      const Chunk& is = *other.pages_[i]->chunks[j];
      if (&was == &is) continue;
      for (size_t k = 0; k < kFanOut; ++k) {
        if (was.items[k] != is.items[k]) visit(was.items[k], is.items[k]);
      }
    }
    pages_[i] = other.pages_[i];
  }
}

template <typename F>
void Locals::zip(const Locals& x, const Locals& y, F visit) {
  for (size_t i = 0; i < x.pages_.size(); ++i) {
    const Page& in_x = *x.pages_[i];
    const Page& in_y = *y.pages_[i];
    if (&in_x == &in_y && !in_x.summary.compounds) continue;
    for (size_t j = 0; j < kFanOut; ++j) {
      const Chunk& of_x = *in_x.chunks[j];
      const Chunk& of_y = *in_y.chunks[j];
      if (&of_x == &of_y && !of_x.summary.compounds) continue;
      for (size_t k = 0; k < kFanOut; ++k) visit(of_x.items[k], of_y.items[k]);
    }
  }
}

template <typename P>
bool Locals::shares(const Locals& x, const Locals& y, uint32_t from, uint32_t to, P wanted) {
  const auto is_out = [&](const Summary& held) { return to < held.oldest || held.newest < from; };
  for (size_t i = 0; i < x.pages_.size(); ++i) {
    const Page& in_x = *x.pages_[i];
    const Page& in_y = *y.pages_[i];
    if (is_out(in_x.summary)) continue;
    for (size_t j = 0; j < kFanOut; ++j) {
      const Chunk& chunk = *in_x.chunks[j];
      if (&chunk != in_y.chunks[j].get() || chunk.summary.compounds) continue;
      if (is_out(chunk.summary)) continue;
      if (std::any_of(chunk.items.begin(), chunk.items.end(), wanted)) return true;
    }
  }
  return false;
}

template <typename F>
Locals Locals::joined(const Values& values, const Locals& x, const Locals& y, F join) {
  Locals out = x;
  for (size_t i = 0; i < x.pages_.size(); ++i) {
    const Page& in_x = *x.pages_[i];
    const Page& in_y = *y.pages_[i];
    if (&in_x == &in_y && !in_x.summary.compounds) continue;
    Page& page = out.own_page(i);
    for (size_t j = 0; j < kFanOut; ++j) {
      const Chunk& of_x = *in_x.chunks[j];
      const Chunk& of_y = *in_y.chunks[j];
      if (&of_x == &of_y && !of_x.summary.compounds) continue;
      Chunk& chunk = own_chunk(page, j);
      for (size_t k = 0; k < kFanOut; ++k) chunk.items[k] = join(of_x.items[k], of_y.items[k]);
      summarise(values, chunk);
    }
    summarise(page);
  }
  return out;
}

}  // namespace pellucid::verify
