// SPDX-License-Identifier: Apache-2.0
#include "python/pickles.h"

#include <array>
#include <bit>
#include <memory>
#include <string_view>

#include "pickle/codes.h"
#include "pickle/machine.h"
#include "pickle/names.h"

namespace nb = nanobind;

namespace pellucid::python {

namespace {

using ValueKind = pickle::Kind;
using PickledId = pickle::ValueId;

constexpr std::array<const char*, 24> kNamesOfKinds = {
    "None",       "bool",      "bool",   "int",   "int",   "float",     "str",    "bytes",
    "bytes",      "tuple",     "list",   "dict",  "set",   "frozenset", "global", "call",
    "persistent", "extension", "buffer", "array", "state", "appended",  "stored", "added"};
static_assert(kNamesOfKinds.size() == static_cast<size_t>(ValueKind::Added) + 1);

// One pickle: the graph that the stack machine makes of it. Values are numbers.
class PickleTree {
 public:
  PickleTree(nb::bytes data, uint64_t start, size_t most) : data_(std::move(data)) {
    graph_ = without_gil([&] { return pickle::run(span_of(data_), start, most); });
  }

  nb::object root() const {
    return graph_.result.valid() ? nb::object(nb::int_(graph_.result.index())) : nb::none();
  }
  size_t size() const { return graph_.values.size(); }
  uint64_t end() const { return graph_.end; }
  nb::object failure() const {
    return graph_.has_failed ? nb::object(text(graph_.failure.message)) : nb::none();
  }

  const char* kind(size_t number) const {
    return kNamesOfKinds.at(static_cast<size_t>(graph_[id_of(number)].kind));
  }

  // Returns a plain value, a Buffer's or Extension's number; None for everything else.
  nb::object value(size_t number) const {
    const PickledId id = id_of(number);
    const pickle::Value& value = graph_[id];
    const std::string_view held = graph_.text(id);
    const auto size = static_cast<Py_ssize_t>(held.size());
    switch (value.kind) {
      case ValueKind::False:
        return nb::bool_(false);
      case ValueKind::True:
        return nb::bool_(true);
      case ValueKind::Int:
      case ValueKind::Extension:
      case ValueKind::Buffer:
      case ValueKind::Array:
        return nb::int_(value.number);
      case ValueKind::BigInt:
        return nb::handle(reinterpret_cast<PyObject*>(&PyLong_Type))
            .attr("from_bytes")(nb::bytes(held.data(), held.size()), "little",
                                nb::arg("signed") = true);
      case ValueKind::Float:
        return nb::float_(std::bit_cast<double>(value.number));
      case ValueKind::Str: {
        PyObject* const made = PyUnicode_DecodeUTF8(held.data(), size, "surrogatepass");
        if (made == nullptr) throw nb::python_error();
        return nb::steal(made);
      }
      case ValueKind::Bytes:
      case ValueKind::ByteArray:
        return nb::bytes(held.data(), held.size());
      case ValueKind::None:
      case ValueKind::Tuple:
      case ValueKind::List:
      case ValueKind::Dict:
      case ValueKind::Set:
      case ValueKind::FrozenSet:
      case ValueKind::Global:
      case ValueKind::Call:
      case ValueKind::Persistent:
      case ValueKind::State:
      case ValueKind::Appended:
      case ValueKind::Stored:
      case ValueKind::Added:
        return nb::none();
    }
    return nb::none();
  }

  std::vector<size_t> items(size_t number, size_t most) const {
    std::vector<size_t> list;
    for (const PickledId id : graph_.items(id_of(number), most)) {
      list.push_back(id.valid() ? id.index() : graph_.values.size());
    }
    return list;
  }

  nb::str path(size_t number) const { return text(pickle::path_of(graph_, id_of(number))); }

  // Returns the marshalled code object that a value is; None if it is none. A text of `stand_ins`
  // is written for a constant, by its number, that marshal has no bytes for.
  nb::object code(size_t number, const pickle::StandIns& stand_ins) {
    const PickledId id = id_of(number);
    if (!codes_ || stand_ins != stand_ins_) {
      // Looking for them adds values to the graph, but changes none.
      codes_ = std::make_unique<Codes>();
      stand_ins_ = stand_ins;
      for (pickle::FoundCode& code :
           without_gil([&] { return pickle::codes_of(graph_, stand_ins_); })) {
        codes_->emplace(code.value.index(), std::move(code));
      }
    }
    const auto found = codes_->find(id.index());
    if (found == codes_->end()) return nb::none();
    const pickle::FoundCode& code = found->second;
    if (!code.refusal.empty()) raise({ErrorCode::Unsupported, code.offset, code.refusal});
    if (code.bytes.empty()) return nb::none();
    return nb::bytes(code.bytes.data(), code.bytes.size());
  }

 private:
  using Codes = std::unordered_map<size_t, pickle::FoundCode>;

  PickledId id_of(size_t number) const {
    if (number >= graph_.values.size()) throw nb::index_error("no value of this number");
    return PickledId(number);
  }

  nb::bytes data_;  // the graph refers to it
  pickle::Graph graph_;
  std::unique_ptr<Codes> codes_;
  pickle::StandIns stand_ins_;
};

}  // namespace

void add_pickles(nb::module_& m) {
  nb::class_<PickleTree>(m, "Pickle")
      .def(nb::init<nb::bytes, uint64_t, size_t>(), nb::arg("data"), nb::arg("start") = 0,
           nb::arg("most") = pickle::kMostValues)
      .def_prop_ro("root", &PickleTree::root)
      .def_prop_ro("size", &PickleTree::size)
      .def_prop_ro("end", &PickleTree::end)
      .def_prop_ro("failure", &PickleTree::failure)
      .def("kind", &PickleTree::kind, nb::arg("number"))
      .def("value", &PickleTree::value, nb::arg("number"))
      .def("items", &PickleTree::items, nb::arg("number"), nb::arg("most") = SIZE_MAX)
      .def("path", &PickleTree::path, nb::arg("number"))
      .def("code", &PickleTree::code, nb::arg("number"), nb::arg("stand_ins") = pickle::StandIns());
}

}  // namespace pellucid::python
