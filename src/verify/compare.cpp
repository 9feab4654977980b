// SPDX-License-Identifier: Apache-2.0
#include "verify/compare.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <set>

#include "base/check.h"
#include "bytecode/breaches.h"
#include "flow/audit.h"
#include "object/fitting_names.h"
#include "verify/headers/header.h"
#include "verify/headers/identical.h"
#include "verify/headers/in_step.h"
#include "verify/headers/slots.h"
#include "verify/lower/lower.h"
#include "verify/walk/walk.h"

namespace pellucid::verify {

namespace {

using bytecode::Op;
using object::CodeId;

// Instructions executed per instruction of both code objects before a proof is given up.
constexpr uint64_t kWorkPerInstruction = 2000;
constexpr uint64_t kLeastWork = 200000;
// Constants bring more items than there are instructions.
constexpr size_t kLeastLargest = 4096;
// With facts each effect looks through what is held (assumptions/lifetimes.h).
constexpr size_t kLargestOfFacts = 32768;

// The minor version from which on it is known which tests of an operand the compiler skips.
constexpr uint8_t kTestsAreKnown = 10;

struct Todo {
  CodeId a, b;
  std::string path;
};

// Returns true if a value that an `and` or `or` has tested is tested again right after it.
bool tests_again(const flow::Graph& graph) {
  const auto ends_in_copy = [&](const flow::Block& block) {
    return block.count > 0 && graph.instrs[block.first + block.count - 1].op == Op::Copy;
  };
  const auto past_jumps = [&](flow::BlockId at) {
    for (size_t jumps = 0; jumps < graph.blocks.size(); ++jumps) {
      if (graph[at].exit.kind != flow::ExitKind::Goto || graph[at].count > 0) break;
      at = graph[at].exit.next[0];
    }
    return at;
  };
  return std::ranges::any_of(graph.blocks, [&](const flow::Block& block) {
    if (block.exit.kind != flow::ExitKind::Branch || !ends_in_copy(block)) return false;
    const flow::Block& next = graph[past_jumps(block.exit.next[block.exit.jump])];
    const bool is_bare = next.count == 0 || (next.count == 1 && ends_in_copy(next));
    return next.exit.kind == flow::ExitKind::Branch && is_bare;
  });
}

class Comparison {
 public:
  // The graphs of B are `b` or those of `lowered`, which are freed when they have been compared.
  Comparison(flow::Graphs& a, flow::Graphs* b, Lowered* lowered, const Options& options)
      : a_(a),
        b_(b),
        lowered_(lowered),
        values_(a.module(), b != nullptr ? b->module() : lowered->module, options.ignore_qualname),
        options_(options) {
    if (lowered != nullptr) waiting_.resize(lowered->graphs.size());
  }

  Verdict run(CodeId a, CodeId b) {
    const object::Module& module = values_.module(Side::A);
    push(a, b, std::string(module.text(module[a].name)));
    Verdict verdict;
    verdict.status = lowered_ == nullptr ? Status::Identical : Status::Equivalent;
    verdict.tier = lowered_ == nullptr ? Tier::Recompiled : Tier::Relowered;
    while (!todo_.empty()) {
      Todo next = std::move(todo_.front());
      todo_.pop_front();
      verdict.codes.push_back(one(next));
      verdict.status = std::max(verdict.status, verdict.codes.back().status);
      is_root_ = false;
      if (lowered_ == nullptr) continue;
      free_graph(next.b);
      a_.free_rest();
    }
    return verdict;
  }

 private:
  void push(CodeId a, CodeId b, std::string path) {
    if (!met_.insert({a, b}).second) return;
    todo_.push_back({a, b, std::move(path)});
    if (lowered_ != nullptr) ++part_of(waiting_, b);
  }

  // Frees the lowered graph of a code object that no pair to be compared has. No later pair has it:
  // all code objects around it have been compared, since the outer ones come first.
  void free_graph(CodeId code) {
    if (--part_of(waiting_, code) > 0) return;
    flow::Graph& graph = part_of(lowered_->graphs, code);
    graph.instrs = {};
    graph.blocks = {};
    graph.handlers = {};
  }

  CodeVerdict one(Todo& todo) {
    CodeVerdict verdict;
    verdict.code = todo.a;
    CodePairs pairs;
    try {
      judge(todo, verdict, pairs);
    } catch (const InternalError& error) {
      verdict.status = Status::Unproven;
      verdict.reason = std::string("internal: ") + error.what();
    }
    const object::Module& module = values_.module(Side::A);
    for (const auto& [a, b] : pairs) {
      const std::string_view name = module.text(module[a].name);
      std::string path;
      path.reserve(todo.path.size() + 1 + name.size());
      push(a, b, std::move(path.append(todo.path).append(1, '/').append(name)));
    }
    verdict.path = std::move(todo.path);
    return verdict;
  }

  void judge(const Todo& todo, CodeVerdict& verdict, CodePairs& pairs) {
    HeaderRules rules;
    rules.ignore_future_flags = options_.ignore_future_flags;
    rules.moved = options_.ignore_qualname;
    if (is_root_) {
      rules.ignore_nested_flag = options_.ignore_nested_flag;
      rules.ignore_name = options_.ignore_name;
      rules.ignore_qualname = options_.ignore_qualname;
    }
    std::string difference = header_difference(values_, todo.a, todo.b, rules);
    // The proof identifies variables by name.
    if (object::has_namesakes(values_.module(Side::A)[todo.a]) ||
        object::has_namesakes(values_.module(Side::B)[todo.b])) {
      verdict.reason = "two of its variables have one name";
      return;
    }
    const flow::Graph* const a = graph_of(a_, todo.a, verdict.reason);
    if (a == nullptr) return;
    const std::optional<bytecode::Breach> breach = find_breach(todo.a, *a);
    const flow::Graph* const b = lowered_ == nullptr ? graph_of(*b_, todo.b, verdict.reason)
                                                     : lowered_graph(todo.b, verdict.reason);
    if (b == nullptr) return;
    if (difference.empty() && !is_generated(todo.a)) {
      const std::string slots = slot_difference(values_, *a, *b);
      if (!slots.empty()) difference = std::string(kOtherOrder) + ": " + slots;
    }
    if (difference.empty() && !knows_tests(*a) && tests_again(*a)) {
      difference = "relowering: how often an operand is tested";
    }
    if (!is_same(*a, *b, verdict, pairs)) {
      pairs.clear();
      walk(*a, *b, verdict, pairs);
    }
    if (!difference.empty()) {
      verdict.status = Status::Unproven;
      verdict.reason = difference;
    } else if (breach && verdict.status != Status::Unproven) {
      verdict.status = Status::Unproven;
      verdict.reason = "no compiler writes this: " + breach->what;
      verdict.offset_a = breach->offset;
    }
  }

  // Sets the status and returns true if the graphs are the same without a proof.
  bool is_same(const flow::Graph& a, const flow::Graph& b, CodeVerdict& verdict, CodePairs& pairs) {
    if (options_.thorough || options_.meetings) return false;
    // What was lowered is never identical.
    if (lowered_ == nullptr && identical(values_, a, b, options_.strict, pairs)) {
      verdict.status = Status::Identical;
      return true;
    }
    pairs.clear();
    if (options_.strict || !in_step_.run(a, b, pairs)) return false;
    verdict.status = Status::Equivalent;
    return true;
  }

  // Returns the graph of a code object, or nullptr and the reason in `reason`.
  static const flow::Graph* graph_of(flow::Graphs& graphs, CodeId code, std::string& reason) {
    const Result<bytecode::Stream>& stream = graphs.stream(code);
    if (!stream.ok()) {
      reason = stream.error().message;
      return nullptr;
    }
    if (!stream->faults.empty()) {
      reason = stream->faults[0].message;
      return nullptr;
    }
    const Result<flow::Graph>& graph = graphs.graph(code);
    if (!graph.ok()) reason = graph.error().message;
    return graph.ok() ? &*graph : nullptr;
  }

  const flow::Graph* lowered_graph(CodeId code, std::string& reason) const {
    reason = lowered_->problems[code.index()];
    if (!reason.empty()) return nullptr;
    const flow::Graph& graph = lowered_->graphs[code.index()];
    PELLUCID_CHECK(!graph.blocks.empty());
    return &graph;
  }

  // Returns true if B tests each operand as often as the text does. Up to 3.9 a compiler skips a
  // second test only if the jump past it is short, which is not known of a lowered graph.
  bool knows_tests(const flow::Graph& a) const {
    return lowered_ == nullptr || values_.module(Side::A)[a.code].version.minor >= kTestsAreKnown;
  }

  // Returns true if nobody looks at the frames of a code object of A.
  bool is_generated(CodeId code) const {
    const std::string_view name = a_.module().text(a_.module()[code].name);
    return !options_.facts.empty() && options_.facts.hold_for(is_root_, name);
  }

  // Returns the first breach in the bytecode of A. Side B is always a compiler's output.
  std::optional<bytecode::Breach> find_breach(CodeId code, const flow::Graph& graph) {
    const bytecode::Stream& stream = *a_.stream(code);
    auto breach = bytecode::find_breach(a_.module(), stream, is_generated(code));
    return breach ? breach : flow::audit(a_.module(), stream, graph, is_generated(code));
  }

  void walk(const flow::Graph& a, const flow::Graph& b, CodeVerdict& verdict, CodePairs& pairs) {
    if (a.wraps_stop_iteration != b.wraps_stop_iteration) {
      verdict.reason = "StopIteration is wrapped in one of them only";
      return;
    }
    Frame frame;
    const object::Code& code_a = values_.module(Side::A)[a.code];
    const object::Code& code_b = values_.module(Side::B)[b.code];
    for (const auto& [side, code] : {std::pair(Side::A, &code_a), std::pair(Side::B, &code_b)}) {
      for (const auto* names :
           {&code->varnames, &code->cellvars, &code->freevars, &code->localsplus}) {
        for (Symbol symbol : *names) frame.add(values_.name(side, symbol), side);
      }
    }
    const std::string_view name = values_.module(Side::A).text(code_a.name);
    const bool has_facts = options_.facts.hold_for(is_root_, name);
    if (has_facts) part_temporaries(frame, a, code_a, code_b);
    if (extra_locals(frame, a, b, verdict)) return;
    Context context;
    context.values = &values_;
    context.frame = &frame;
    context.extra_locals = options_.extra_locals;
    context.bound_globals = options_.bound_globals;
    // Where a local of one side may be left out, objects may live longer.
    const bool may_differ = options_.extra_locals && !frame.of_one_side().empty();
    context.releases = !has_facts && !may_differ;
    context.strict = options_.strict;
    if (has_facts) context.assumed = Assumed(values_, options_.facts, greatest_index(a));
    context.limit = kLeastWork + kWorkPerInstruction * (a.instrs.size() + b.instrs.size());
    context.largest = std::max(kLeastLargest, a.instrs.size() + b.instrs.size());
    if (!options_.facts.empty()) context.largest = std::min(context.largest, kLargestOfFacts);
    Machine machine_a(context, Side::A, code_a, a);
    Machine machine_b(context, Side::B, code_b, b);
    Walk walk(context, machine_a, machine_b);
    const auto difference = walk.run();
    pairs = walk.pairs();
    if (!difference) {
      verdict.status = Status::Equivalent;
      if (options_.meetings) verdict.meetings = walk.meetings();
      return;
    }
    verdict.reason = difference->reason;
    verdict.offset_a = difference->offset_a;
    verdict.offset_b = difference->offset_b;
  }

  // Returns the locals that code outside the frame can see: arguments, cells and free variables.
  std::set<uint32_t> seen_by_others(Side side, const object::Code& code) {
    std::set<uint32_t> seen;
    const size_t arguments = object::parameter_count(code);
    for (size_t i = 0; i < arguments && i < code.varnames.size(); ++i) {
      seen.insert(values_.name(side, code.varnames[i]).value);
    }
    for (const auto* cells : {&code.cellvars, &code.freevars}) {
      for (const Symbol symbol : *cells) seen.insert(values_.name(side, symbol).value);
    }
    return seen;
  }

  // Makes the temporaries of a code generator private to each side. A name that A lists but never
  // binds or reads is free for B.
  void part_temporaries(Frame& frame, const flow::Graph& a, const object::Code& code_a,
                        const object::Code& code_b) {
    std::set<uint32_t> fixed = seen_by_others(Side::A, code_a);
    fixed.merge(seen_by_others(Side::B, code_b));
    for (const std::string& text : options_.facts.temporaries) {
      const auto it = frame.slots.find(values_.name(text).value);
      if (it == frame.slots.end() || fixed.contains(it->first)) continue;
      frame.owners[it->second] = Frame::kPrivate;
    }
    if (!options_.extra_locals) return;
    std::vector<flow::Instr> instrs = a.instrs;
    for (const flow::Block& block : a.blocks) instrs.push_back(block.exit.instr);
    for (const flow::Instr& instr : instrs) {
      if (bytecode::operand_of(instr.op) != bytecode::Operand::Local) continue;
      fixed.insert(values_.name(Side::A, instr.symbol()).value);
    }
    for (size_t slot = 0; slot < frame.names.size(); ++slot) {
      const bool is_free = !fixed.contains(frame.names[slot].value);
      if (frame.owners[slot] == Frame::kShared && is_free) frame.owners[slot] = Frame::kOnlyB;
    }
  }

  // Returns the greatest constant index of a subscript, or -1.
  int64_t greatest_index(const flow::Graph& graph) {
    int64_t most = -1;
    for (size_t i = 0; i + 1 < graph.instrs.size(); ++i) {
      if (graph.instrs[i].op != Op::LoadConst || graph.instrs[i + 1].op != Op::Subscr) continue;
      const auto index = as_integer(values_, values_.constant(Side::A, graph.instrs[i].constant()));
      if (index) most = std::max(most, *index);
    }
    return most;
  }

  // Returns true if B has a temporary that serves no purpose, or that the program could list.
  bool extra_locals(const Frame& frame, const flow::Graph& a, const flow::Graph& b,
                    CodeVerdict& verdict) {
    std::string extra;
    std::set<uint32_t> read;
    for (const flow::Instr& instr : b.instrs) {
      if (instr.op == Op::LoadFast) read.insert(values_.name(Side::B, instr.symbol()).value);
    }
    for (const flow::Instr& instr : b.instrs) {
      if (instr.op != Op::StoreFast) continue;
      const Name name = values_.name(Side::B, instr.symbol());
      const Frame::Owner owner = frame.owners[frame.slot(name)];
      if (owner != Frame::kOnlyB && owner != Frame::kPrivate) continue;
      extra = values_.text(name);
      if (options_.extra_locals || !options_.facts.temporaries.empty() ||
          read.contains(name.value)) {
        continue;
      }
      // The text does not need it: the program has lost or gained a name.
      verdict.reason = "the local " + extra + " is new";
      verdict.offset_b = instr.offset;
      return true;
    }
    verdict.offset_b = 0;
    if (extra.empty()) return false;
    for (const flow::Instr& instr : a.instrs) {
      if (instr.op != Op::LoadGlobal && instr.op != Op::LoadName) continue;
      const std::string_view name = values_.text(values_.name(Side::A, instr.symbol()));
      constexpr std::array seers{"locals", "vars", "dir", "eval", "exec"};
      if (std::none_of(seers.begin(), seers.end(), [&](const char* s) { return name == s; })) {
        continue;
      }
      verdict.reason = std::string(name) + " would see the new local " + extra;
      verdict.offset_a = instr.offset;
      return true;
    }
    return false;
  }

  flow::Graphs& a_;
  flow::Graphs* const b_;
  Lowered* const lowered_;
  Values values_;
  Options options_;
  std::deque<Todo> todo_;
  std::set<std::pair<CodeId, CodeId>> met_;
  std::vector<uint32_t> waiting_;  // by lowered code object: how many pairs in `todo_` have it
  InStep in_step_{values_};
  bool is_root_ = true;
};

}  // namespace

Verdict compare(flow::Graphs& a, CodeId code_a, Lowered& b, const Options& options) {
  return Comparison(a, nullptr, &b, options).run(code_a, b.module.root);
}

Verdict compare(const object::Module& a, CodeId code_a, const object::Module& b, CodeId code_b,
                const Options& options) {
  flow::Graphs graphs_a(a);
  flow::Graphs graphs_b(b);
  return Comparison(graphs_a, &graphs_b, nullptr, options).run(code_a, code_b);
}

}  // namespace pellucid::verify
