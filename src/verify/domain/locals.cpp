// SPDX-License-Identifier: Apache-2.0
#include "verify/domain/locals.h"

namespace pellucid::verify {

bool is_symbol(const Values& values, Value value) {
  switch (values[value].kind) {
    case Kind::Null:
    case Kind::Const:
    case Kind::Code:
    case Kind::Cell:
    case Kind::Special:
      return false;
    case Kind::Unknown:
    case Kind::Bool:
    case Kind::Maybe:
    case Kind::Not:
    case Kind::Is:
    case Kind::Fresh:
    case Kind::Method:
      return true;
  }
  return true;
}

void Locals::Summary::add(const Values& values, Value value) {
  if (!is_symbol(values, value)) return;
  oldest = std::min(oldest, value.value);
  newest = std::max(newest, value.value);
  const Kind kind = values[value].kind;
  const bool is_made_of_others = kind == Kind::Not || kind == Kind::Is || kind == Kind::Method;
  if (is_made_of_others) compound = std::max(compound, value.value);
  compounds = compounds || is_made_of_others || kind == Kind::Fresh;
}

void Locals::Summary::add(const Summary& other) {
  oldest = std::min(oldest, other.oldest);
  newest = std::max(newest, other.newest);
  compound = std::max(compound, other.compound);
  compounds = compounds || other.compounds;
}

void Locals::summarise(const Values& values, Chunk& chunk) {
  chunk.summary = Summary();
  for (Value value : chunk.items) chunk.summary.add(values, value);
}

void Locals::summarise(Page& page) {
  page.summary = Summary();
  for (const auto& chunk : page.chunks) page.summary.add(chunk->summary);
}

void Locals::assign(const Values& values, size_t count, Value value) {
  size_ = count;
  const auto chunk = std::make_shared<Chunk>();
  chunk->items.fill(value);
  summarise(values, *chunk);
  const auto page = std::make_shared<Page>();
  page->chunks.fill(chunk);
  summarise(*page);
  pages_.assign((count + kPerPage - 1) / kPerPage, page);
}

Locals::Page& Locals::own_page(size_t page) {
  std::shared_ptr<Page>& here = pages_[page];
  if (here.use_count() > 1) here = std::make_shared<Page>(*here);
  return *here;
}

Locals::Chunk& Locals::own_chunk(Page& page, size_t chunk) {
  std::shared_ptr<Chunk>& here = page.chunks[chunk];
  if (here.use_count() > 1) here = std::make_shared<Chunk>(*here);
  return *here;
}

void Locals::set(const Values& values, size_t slot, Value value) {
  if ((*this)[slot] == value) return;
  Page& page = own_page(slot / kPerPage);
  Chunk& chunk = own_chunk(page, slot / kFanOut % kFanOut);
  chunk.items[slot % kFanOut] = value;
  chunk.summary.add(values, value);
  page.summary.add(values, value);
}

bool Locals::contains(Value value) const {
  bool found = false;
  for_each_if([&](const Summary& summary) { return !found && summary.can_hold(value); },
              [&](Value held) { found = found || held == value; });
  return found;
}

bool operator==(const Locals& x, const Locals& y) {
  if (x.size_ != y.size_) return false;
  for (size_t i = 0; i < x.pages_.size(); ++i) {
    if (x.pages_[i] == y.pages_[i]) continue;
    for (size_t j = 0; j < Locals::kFanOut; ++j) {
      const auto& of_x = x.pages_[i]->chunks[j];
      const auto& of_y = y.pages_[i]->chunks[j];
      if (of_x != of_y && of_x->items != of_y->items) return false;
    }
  }
  return true;
}

}  // namespace pellucid::verify
