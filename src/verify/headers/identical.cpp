// SPDX-License-Identifier: Apache-2.0
#include "verify/headers/identical.h"

#include "verify/headers/metadata.h"
#include "verify/headers/operands.h"

namespace pellucid::verify {

namespace {

using flow::Block;
using flow::Handler;
using flow::Instr;
using flow::Op;

class Comparison {
 public:
  Comparison(Values& values, const flow::Graph& a, const flow::Graph& b, bool is_strict,
             CodePairs& pairs)
      : values_(values), a_(a), b_(b), is_strict_(is_strict), pairs_(pairs) {
    has_metadata_ = stores_metadata(values, a.code);
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

  bool same_interrupts(const flow::Exit& x, const flow::Exit& y) const {
    for (size_t way = 0; way < x.interrupted.size(); ++way) {
      const auto& p = x.interrupted[way];
      const auto& q = y.interrupted[way];
      if (p.has_value() != q.has_value()) return false;
      if (!p) continue;
      if (*p == flow::kUnknownHandler || *q == flow::kUnknownHandler) return false;
      if (!same_handler(*p, *q)) return false;
    }
    return true;
  }

  bool same_block(const Block& x, const Block& y) {
    if (x.count != y.count || x.depth != y.depth || x.exc_depth != y.exc_depth ||
        !same_handler(x.handler, y.handler) || x.exit.kind != y.exit.kind ||
        x.exit.next != y.exit.next || x.exit.jump != y.exit.jump || x.exit.falls != y.exit.falls) {
      return false;
    }
    if (is_strict_ && !same_interrupts(x.exit, y.exit)) return false;
    if (x.exit.kind == flow::ExitKind::Branch && x.exit.instr.b != y.exit.instr.b) return false;
    if (x.exit.kind == flow::ExitKind::Raise || x.exit.kind == flow::ExitKind::Reraise) {
      if (x.exit.instr.a != y.exit.instr.a || x.exit.instr.b != y.exit.instr.b) return false;
    }
    for (uint32_t i = 0; i < x.count; ++i) {
      const Instr& p = a_.instrs[x.first + i];
      const Instr& q = b_.instrs[y.first + i];
      if (p.op != q.op || p.b != q.b) return false;
      if (has_metadata_ && i + 1 < x.count && is_same_metadata(values_, &p, &q)) continue;
      const auto nest = [&](object::CodeId a, object::CodeId b) { pairs_.emplace_back(a, b); };
      if (!same_operand(values_, p, q, nest)) return false;
    }
    return true;
  }

  Values& values_;
  const flow::Graph& a_;
  const flow::Graph& b_;
  const bool is_strict_;
  CodePairs& pairs_;
  bool has_metadata_ = false;
};

}  // namespace

bool identical(Values& values, const flow::Graph& a, const flow::Graph& b, bool is_strict,
               CodePairs& pairs) {
  return Comparison(values, a, b, is_strict, pairs).run();
}

}  // namespace pellucid::verify
