// SPDX-License-Identifier: Apache-2.0
#include "verify/headers/identical.h"

namespace pellucid::verify {

namespace {

using bytecode::Operand;
using flow::Block;
using flow::Handler;
using flow::Instr;
using flow::Op;

class Comparison {
 public:
  Comparison(Values& values, const flow::Graph& a, const flow::Graph& b, CodePairs& pairs)
      : values_(values), a_(a), b_(b), pairs_(pairs) {
    const object::Code& code = values.module(Side::A)[a.code];
    has_magic_ = code.version.minor >= 13 && !(code.flags & object::kOptimized);
  }

  bool run() {
    if (a_.blocks.size() != b_.blocks.size() || a_.handlers.size() != b_.handlers.size() ||
        a_.wraps_stop_iteration != b_.wraps_stop_iteration) {
      return false;
    }
    for (size_t i = 0; i < a_.blocks.size(); ++i) {
      if (!same_block(a_.blocks[i], b_.blocks[i])) return false;
    }
    return true;
  }

 private:
  bool same_handler(flow::HandlerId x, flow::HandlerId y) const {
    if (!x.valid() || !y.valid()) return x.valid() == y.valid();
    const Handler& p = a_[x];
    const Handler& q = b_[y];
    return p.entry == q.entry && p.depth == q.depth && p.lasti == q.lasti && p.pushes == q.pushes &&
           p.exc_depth == q.exc_depth;
  }

  bool same_block(const Block& x, const Block& y) {
    if (x.count != y.count || x.depth != y.depth || x.exc_depth != y.exc_depth ||
        !same_handler(x.handler, y.handler) || x.exit.kind != y.exit.kind ||
        x.exit.next != y.exit.next || x.exit.jump != y.exit.jump || x.exit.falls != y.exit.falls) {
      return false;
    }
    if (x.exit.kind == flow::ExitKind::Branch && x.exit.instr.b != y.exit.instr.b) return false;
    if (x.exit.kind == flow::ExitKind::Raise || x.exit.kind == flow::ExitKind::Reraise) {
      if (x.exit.instr.a != y.exit.instr.a || x.exit.instr.b != y.exit.instr.b) return false;
    }
    for (uint32_t i = 0; i < x.count; ++i) {
      const Instr& p = a_.instrs[x.first + i];
      const Instr& q = b_.instrs[y.first + i];
      if (p.op != q.op || p.b != q.b) return false;
      if (i + 1 < x.count &&
          is_magic(p, q, a_.instrs[x.first + i + 1], b_.instrs[y.first + i + 1])) {
        continue;
      }
      if (!same_operand(p, q)) return false;
    }
    return true;
  }

  // Returns true for equivalent values of __firstlineno__ (metadata) and __static_attributes__ (a
  // set).
  bool is_magic(const Instr& p, const Instr& q, const Instr& next_p, const Instr& next_q) {
    if (!has_magic_ || p.op != Op::LoadConst || next_p.op != Op::StoreName ||
        next_q.op != Op::StoreName) {
      return false;
    }
    const Name name = values_.name(Side::A, next_p.symbol());
    if (name != values_.name(Side::B, next_q.symbol())) return false;
    const Value x = values_.constant(Side::A, p.constant());
    const Value y = values_.constant(Side::B, q.constant());
    if (values_.text(name) == "__firstlineno__") {
      return as_integer(values_, x).has_value() && as_integer(values_, y).has_value();
    }
    return values_.text(name) == "__static_attributes__" &&
           sorted(values_, x) == sorted(values_, y);
  }

  bool same_operand(const Instr& p, const Instr& q) {
    switch (bytecode::operand_of(p.op)) {
      case Operand::Const: {
        const Value x = values_.constant(Side::A, p.constant());
        const Value y = values_.constant(Side::B, q.constant());
        if (values_.is(x, Kind::Code) && values_.is(y, Kind::Code)) {
          pairs_.emplace_back(object::CodeId(values_[x].x), object::CodeId(values_[y].x));
          return true;
        }
        return x == y;
      }
      case Operand::Name:
      case Operand::Local:
      case Operand::Cell:
        return values_.name(Side::A, p.symbol()) == values_.name(Side::B, q.symbol());
      case Operand::None:
        return true;
      case Operand::Target:
      case Operand::Count:
      case Operand::Depth:
      case Operand::Operator:
      case Operand::Flags:
      case Operand::Kind:
        return p.a == q.a;
    }
    return false;
  }

  Values& values_;
  const flow::Graph& a_;
  const flow::Graph& b_;
  CodePairs& pairs_;
  bool has_magic_ = false;
};

}  // namespace

bool identical(Values& values, const flow::Graph& a, const flow::Graph& b, CodePairs& pairs) {
  return Comparison(values, a, b, pairs).run();
}

}  // namespace pellucid::verify
