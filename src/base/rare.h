// SPDX-License-Identifier: Apache-2.0
// base: maps and sets that few objects ever fill.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace pellucid {

// A hash map or set that is made when something is put in. (An empty one is not free of cost: it
// has seven words to set, and is cleared when it is destroyed.)
template <typename Table>
class Rare {
 public:
  using key_type = typename Table::key_type;

  Rare() = default;
  Rare(const Rare& other) : table_(copy_of(other)) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(const Rare& other) {
    table_ = copy_of(other);
    return *this;
  }
  Rare& operator=(Rare&&) noexcept = default;

  bool empty() const { return !table_ || table_->empty(); }
  size_t size() const { return table_ ? table_->size() : 0; }
  size_t count(const key_type& key) const { return table_ ? table_->count(key) : 0; }
  bool contains(const key_type& key) const { return table_ && table_->contains(key); }

  // The table itself, to be read.
  const Table& table() const { return table_ ? *table_ : nothing(); }
  auto begin() const { return table().begin(); }
  auto end() const { return table().end(); }
  auto find(const key_type& key) const { return table().find(key); }
  const auto& at(const key_type& key) const { return table().at(key); }

  auto& operator[](const key_type& key) { return made()[key]; }
  auto insert(const key_type& key) { return made().insert(key); }
  template <typename... Args>
  auto emplace(Args&&... args) {
    return made().emplace(std::forward<Args>(args)...);
  }
  template <typename... Args>
  auto try_emplace(const key_type& key, Args&&... args) {
    return made().try_emplace(key, std::forward<Args>(args)...);
  }

  void erase(const key_type& key) {
    if (table_) table_->erase(key);
  }
  void clear() { table_.reset(); }

 private:
  Table& made() {
    if (!table_) table_ = std::make_unique<Table>();
    return *table_;
  }
  static const Table& nothing() {
    static const Table empty;
    return empty;
  }
  static std::unique_ptr<Table> copy_of(const Rare& other) {
    return other.table_ ? std::make_unique<Table>(*other.table_) : nullptr;
  }

  std::unique_ptr<Table> table_;
};

template <typename Key, typename Value>
using RareMap = Rare<std::unordered_map<Key, Value>>;

template <typename Key>
using RareSet = Rare<std::unordered_set<Key>>;

}  // namespace pellucid
