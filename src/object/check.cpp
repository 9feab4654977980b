#include <vector>

#include "base/check.h"
#include "object/code.h"

namespace pellucid::object {
namespace {

void check_symbols(const Module& module, const std::vector<Symbol>& symbols) {
  for (const Symbol symbol : symbols) PELLUCID_CHECK(symbol.index() < module.strings.size());
}

void check_code(const Module& module, const Code& code) {
  PELLUCID_CHECK(code.version == module.version);
  check_symbols(module, {code.name, code.qualname, code.filename});
  check_symbols(module, code.names);
  check_symbols(module, code.varnames);
  check_symbols(module, code.cellvars);
  check_symbols(module, code.freevars);
  check_symbols(module, code.localsplus);
  for (const ConstId id : code.consts) PELLUCID_CHECK(id.index() < module.consts.size());
  PELLUCID_CHECK(code.localspluskinds.size() == code.localsplus.size());
  PELLUCID_CHECK(code.nlocals == code.varnames.size());
  PELLUCID_CHECK(code.posonlyargcount <= code.argcount);
}

void check_common_consts(const Module& module) {
  if (common_const_count(module.version) == 0) return;
  PELLUCID_CHECK(module.consts.size() >=
                 small_int_count(module.version) + common_const_count(module.version));
  const auto at = [&](CommonConst which) { return module[common_const(module.version, which)]; };
  PELLUCID_CHECK(at(CommonConst::None).kind == ConstKind::None);
  PELLUCID_CHECK(at(CommonConst::EmptyStr).kind == ConstKind::Str);
  PELLUCID_CHECK(module.text(at(CommonConst::EmptyStr).text).empty());
  PELLUCID_CHECK(at(CommonConst::True).kind == ConstKind::True);
  PELLUCID_CHECK(at(CommonConst::False).kind == ConstKind::False);
  PELLUCID_CHECK(at(CommonConst::MinusOne).kind == ConstKind::Int);
  PELLUCID_CHECK(at(CommonConst::MinusOne).integer == -1);
}

// Items come before what holds them, so that the constants are a DAG in the order of their ids.
void check_const(const Module& module, ConstId id) {
  const Const& value = module[id];
  if (value.text.valid()) check_symbols(module, {value.text});
  if (value.kind == ConstKind::Code) PELLUCID_CHECK(value.code.index() < module.codes.size());
  if (value.kind == ConstKind::Slice) PELLUCID_CHECK(value.items.size() == 3);
  if (value.kind == ConstKind::Dict) PELLUCID_CHECK(value.items.size() % 2 == 0);
  for (const ConstId item : value.items) PELLUCID_CHECK(item < id);
}

}  // namespace

void check(const Module& module) {
  PELLUCID_CHECK(module.root.index() < module.codes.size());
  PELLUCID_CHECK(module.consts.size() >= small_int_count(module.version));
  for (size_t n = 0; n < small_int_count(module.version); ++n) {
    PELLUCID_CHECK(module.consts[n].kind == ConstKind::Int);
    PELLUCID_CHECK(module.consts[n].integer == static_cast<int64_t>(n));
  }
  check_common_consts(module);
  for (const Code& code : module.codes) check_code(module, code);
  for (size_t i = 0; i < module.consts.size(); ++i) check_const(module, ConstId(i));
}

}  // namespace pellucid::object
