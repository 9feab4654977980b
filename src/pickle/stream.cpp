// SPDX-License-Identifier: Apache-2.0
#include "pickle/stream.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "pickle/fold.h"
#include "pickle/machine.h"
#include "pickle/reader.h"
#include "pickle/text.h"

namespace pellucid::pickle {

namespace {

constexpr uint8_t kProto = 0x80;
constexpr size_t kMostPickles = 10'000;                // of a file, with those in others
constexpr int kDeepestNested = 8;                      // pickles in each other
constexpr uint64_t kMostNested = uint64_t{256} << 20;  // bytes of pickles in others
constexpr size_t kMostValuesInAll = kMostValues;

using Span = std::span<const uint8_t>;

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) > ' ' && c != '\x7f'; });
}

// Returns true if every import names something that can be imported.
bool has_plausible_names(const Graph& graph) {
  return std::all_of(graph.effects.begin(), graph.effects.end(), [&](const Effect& effect) {
    if (effect.kind != Effect::Kind::Import) return true;
    const std::vector<ValueId> parts = graph.items(effect.value);
    return std::all_of(parts.begin(), parts.begin() + 2, [&](ValueId part) {
      return graph[part].kind != Kind::Str || is_visible(graph.text(part));
    });
  });
}

bool has_call(const Graph& graph) {
  return std::any_of(graph.effects.begin(), graph.effects.end(),
                     [](const Effect& effect) { return effect.kind == Effect::Kind::Call; });
}

class Stream {
 public:
  explicit Stream(Span bytes) : bytes_(bytes) {}

  Contents run(uint64_t at) {
    do {
      Pickle pickle;
      pickle.graph = pickle::run(bytes_, at);
      at = pickle.graph.end;
      const bool has_failed = pickle.graph.has_failed;
      add(std::move(pickle), kDeepestNested);
      if (has_failed) break;
    } while (may_follow(at) && !is_full());
    contents_.end = at;
    return std::move(contents_);
  }

 private:
  bool is_full() {
    if (contents_.pickles.size() < kMostPickles && values_ < kMostValuesInAll) return false;
    if (!tells_full_) contents_.notes.push_back("more pickles than pellucid reads");
    tells_full_ = true;
    return true;
  }

  // Returns true if another pickle starts here, and not only bytes that begin like one.
  bool may_follow(uint64_t at) {
    const Span rest = bytes_.subspan(at);
    if (rest.empty()) return false;
    if (begins_like_pickle(rest)) return true;
    return rest[0] != kProto && !contents_.pickles.empty() && is_pickle(rest);
  }

  void add(Pickle pickle, int depth) {
    values_ += pickle.graph.values.size();
    pickle.codes = codes_of(pickle.graph);
    contents_.pickles.push_back(std::move(pickle));
    if (depth > 0) look_inside(contents_.pickles.size() - 1, depth);
  }

  // Reads the pickles in the bytes of a pickle: what pickle.loads() gets, and whatever else begins
  // like one and is whole.
  void look_inside(size_t index, int depth) {
    const size_t count = contents_.pickles[index].graph.values.size();
    for (size_t i = 0; i < count; ++i) {
      if (is_full()) return;
      Graph& graph = contents_.pickles[index].graph;
      const ValueId id(i);
      const ValueId bytes = folded(graph, id);
      if (graph[bytes].kind != Kind::Bytes && graph[bytes].kind != Kind::ByteArray) continue;
      nested(index, bytes, id, depth);
    }
  }

  void nested(size_t index, ValueId bytes, ValueId place, int depth) {
    const Graph& graph = contents_.pickles[index].graph;
    const std::string_view text = graph.text(bytes);
    Span input(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    if (!(begins_like_pickle(input) || (text.size() < kLongestOld && is_pickle_of_calls(input)))) {
      return;
    }
    nested_ += text.size();
    if (nested_ > kMostNested) {
      contents_.notes.push_back("pickles in pickles are larger than 256 MiB");
      values_ = kMostValuesInAll;
      return;
    }
    Pickle pickle;
    if (graph[bytes].is_own) {
      pickle.keeper = std::make_shared<const std::string>(text);
      input = Span(reinterpret_cast<const uint8_t*>(pickle.keeper->data()), text.size());
    }
    pickle.graph = pickle::run(input);
    if (pickle.graph.has_failed && pickle.graph.effects.empty()) return;
    pickle.inside = graph[place].kind == Kind::Call || graph[place].is_own
                        ? "in bytes that are computed"
                        : "in the bytes at " + hex_text(static_cast<uint64_t>(graph[place].number));
    if (!contents_.pickles[index].inside.empty()) {
      pickle.inside += ", " + contents_.pickles[index].inside;
    }
    add(std::move(pickle), depth - 1);
  }

  static constexpr size_t kLongestOld = 65536;

  static bool is_pickle_of_calls(Span bytes) {
    if (bytes.empty() || begins_like_pickle(bytes)) return false;
    const uint8_t first = bytes[0];
    if (first != 'c' && first != '(') return false;
    const Graph graph = pickle::run(bytes);
    return has_call(graph) && has_plausible_names(graph);
  }

  Span bytes_;
  Contents contents_;
  uint64_t nested_ = 0;
  size_t values_ = 0;
  bool tells_full_ = false;
};

}  // namespace

bool begins_like_pickle(Span head) {
  return head.size() > 2 && head[0] == kProto && 2 <= head[1] && head[1] <= 5 && is_opcode(head[2]);
}

bool is_pickle(Span bytes) {
  if (bytes.empty()) return false;
  if (bytes[0] == kProto) return begins_like_pickle(bytes);
  constexpr size_t kMostTried = size_t{1} << 20;  // values
  const Graph graph = run(bytes, 0, kMostTried);
  if (!has_plausible_names(graph)) return false;
  if (has_call(graph)) return true;
  // Without a call, only a whole pickle is told from text.
  constexpr size_t kLeast = 4;
  if (!graph.has_failed) return graph.end - graph.start >= kLeast && graph.end == bytes.size();
  return graph.failure.code == ErrorCode::Limit && !graph.places.empty();
}

Contents read(Span bytes, uint64_t at) { return Stream(bytes).run(at); }

}  // namespace pellucid::pickle
