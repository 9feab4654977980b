// SPDX-License-Identifier: Apache-2.0
#include "library/access.h"
#include "library/convert.h"
#include "object/marshal_reader.h"
#include "object/pyc.h"

namespace pellucid {

using object::ConstId;
using object::ConstKind;

std::vector<uint8_t> pyc_header(Version version) {
  if (!object::is_supported(own_version(version))) return {};
  const uint16_t magic = object::magic_of(own_version(version));
  std::vector<uint8_t> header(object::kHeaderSize);
  header[0] = static_cast<uint8_t>(magic & 0xff);
  header[1] = static_cast<uint8_t>(magic >> 8);
  header[2] = '\r';
  header[3] = '\n';
  return header;
}

std::optional<Version> version_of(std::span<const std::span<const uint8_t>> marshalled) {
  const auto version = guarded([&]() -> Result<std::optional<Version>> {
    const auto found = driver::version_of_all(marshalled);
    return found ? std::optional(public_version(*found)) : std::nullopt;
  });
  return version.ok() ? *version : std::nullopt;
}

Value::Kind Value::kind() const {
  switch (impl_->module[ConstId(id_)].kind) {
    case ConstKind::None:
      return Kind::None;
    case ConstKind::False:
      return Kind::False;
    case ConstKind::True:
      return Kind::True;
    case ConstKind::Int:
      return Kind::Int;
    case ConstKind::Str:
      return Kind::Str;
    case ConstKind::Bytes:
      return Kind::Bytes;
    case ConstKind::Tuple:
      return Kind::Tuple;
    case ConstKind::List:
      return Kind::List;
    case ConstKind::Dict:
      return Kind::Dict;
    case ConstKind::Ellipsis:
    case ConstKind::StopIteration:
    case ConstKind::BigInt:
    case ConstKind::Float:
    case ConstKind::Complex:
    case ConstKind::Set:
    case ConstKind::FrozenSet:
    case ConstKind::Slice:
    case ConstKind::Code:
    case ConstKind::Opaque:
      return Kind::Other;
  }
  return Kind::Other;
}

int64_t Value::integer() const { return impl_->module[ConstId(id_)].integer; }

std::string_view Value::text() const {
  const Kind own = kind();
  if (own != Kind::Str && own != Kind::Bytes) return {};
  return impl_->module.text(impl_->module[ConstId(id_)].text);
}

size_t Value::size() const {
  return kind() == Kind::Other ? 0 : impl_->module[ConstId(id_)].items.size();
}

Value Value::item(size_t index) const {
  return Value(impl_, impl_->module[ConstId(id_)].items.at(index).value);
}

Result<Value> unmarshal(std::span<const uint8_t> bytes, uint64_t base) {
  return guarded([&]() -> Result<Value> {
    object::Module module = object::new_module(object::kOldestVersion);
    PELLUCID_TRY(const ConstId root, object::read_object(module, bytes, base));
    return Access::value(std::move(module), root);
  });
}

}  // namespace pellucid
