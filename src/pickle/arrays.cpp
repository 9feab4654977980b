// SPDX-License-Identifier: Apache-2.0
#include "pickle/arrays.h"

#include <charconv>
#include <string_view>

#include "pickle/names.h"

namespace pellucid::pickle {

namespace {

constexpr size_t kMostFields = 64;  // of a wrapper's state

struct ArrayType {
  uint64_t size = 0;
  bool holds_objects = false;
};

ValueId field(const Graph& graph, ValueId dict, std::string_view name) {
  ValueId found;
  const std::vector<ValueId> items = graph.items(dict, kMostFields);
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (graph[items[i]].kind == Kind::Str && graph.text(items[i]) == name) found = items[i + 1];
  }
  return found;
}

// Returns the size and the kind of numpy.dtype('f8', ...), which BUILD may have completed.
std::optional<ArrayType> type_of(const Graph& graph, ValueId dtype) {
  if (!dtype.valid() || graph[dtype].kind != Kind::Call) return std::nullopt;
  const ValueId arguments = graph.item(dtype, 1);
  const ValueId code = graph.item(arguments, 0);
  if (!code.valid() || graph[code].kind != Kind::Str) return std::nullopt;
  std::string_view text = graph.text(code);
  ArrayType type;
  if (text.starts_with('O')) return ArrayType{8, true};
  // (version, order, subtype, names, fields, size, alignment, flags); flag 1: it holds objects.
  const ValueId change = graph.item(dtype, 2);
  const ValueId state = change.valid() ? graph.item(change, 0) : ValueId();
  if (state.valid() && graph[state].kind == Kind::Tuple) {
    const ValueId size = graph.item(state, 5);
    const ValueId flags = graph.item(state, 7);
    if (flags.valid() && (graph[flags].number & 1) != 0) type.holds_objects = true;
    if (size.valid() && graph[size].kind == Kind::Int && graph[size].number > 0) {
      type.size = static_cast<uint64_t>(graph[size].number);
      return type;
    }
  }
  while (!text.empty() && (text[0] < '0' || text[0] > '9')) text.remove_prefix(1);
  const auto read = std::from_chars(text.data(), text.data() + text.size(), type.size);
  if (read.ec != std::errc()) return std::nullopt;
  return type;
}

}  // namespace

std::optional<ArrayShape> array_of(const Graph& graph, ValueId wrapper, ValueId state) {
  if (graph[wrapper].kind != Kind::Call || graph[state].kind != Kind::Dict) return std::nullopt;
  const std::string path = path_of(graph, graph.item(wrapper, 0));
  if (!path.ends_with("joblib.numpy_pickle.NumpyArrayWrapper")) return std::nullopt;
  const std::optional<ArrayType> type = type_of(graph, field(graph, state, "dtype"));
  const ValueId shape = field(graph, state, "shape");
  if (!type || !shape.valid() || graph[shape].kind != Kind::Tuple) return std::nullopt;
  ArrayShape out;
  out.holds_objects = type->holds_objects;
  const ValueId alignment = field(graph, state, "numpy_array_alignment_bytes");
  out.is_aligned = alignment.valid() && graph[alignment].kind == Kind::Int;
  out.size = type->size;
  for (const ValueId length : graph.items(shape)) {
    const auto count = static_cast<uint64_t>(graph[length].number);
    if (graph[length].kind != Kind::Int || (count != 0 && out.size > UINT64_MAX / count)) {
      out.size = UINT64_MAX;
      return out;
    }
    out.size *= count;
  }
  return out;
}

}  // namespace pellucid::pickle
