// SPDX-License-Identifier: Apache-2.0
// What an audit knows of borrowed slots.
#include "flow/audit_stack.h"

#include <array>

#include "testing.h"

namespace pellucid::flow {
namespace {

// A value that is borrowed from the local in a slot of the frame.
Slot borrowed_from(uint32_t local) { return {What::Value, 0, local + 1}; }

TEST("a stack knows from which locals it borrows") {
  AuditStack stack(3);
  stack.push(borrowed_from(1));
  stack.push(borrowed_from(1));
  stack.push({});
  stack.swap(2);
  EXPECT(stack.borrows_from(1) && !stack.borrows_from(0) && !stack.borrows_from(2));
  stack.pop();
  EXPECT(stack.borrows_from(1));
  stack.drop(2);
  EXPECT(stack.empty() && !stack.borrows_from(1));
}

TEST("a new block has what its own stack borrows") {
  AuditStack stack(2);
  stack.push(borrowed_from(0));
  stack.assign(std::array{borrowed_from(1)});
  EXPECT(stack.borrows_from(1) && !stack.borrows_from(0));
  stack.assign({});
  EXPECT(!stack.borrows_from(1));
}

TEST("what is borrowed from one of two locals bars a store to either") {
  EXPECT(either(borrowed_from(0), {}) == borrowed_from(0));
  const Slot both = either(borrowed_from(0), borrowed_from(1));
  EXPECT(either(both, borrowed_from(0)) == both);
  AuditStack stack(2);
  stack.push(both);
  EXPECT(stack.borrows_from(0) && stack.borrows_from(1));
  stack.pop();
  EXPECT(!stack.borrows_from(0) && !stack.borrows_from(1));
}

TEST("what is borrowed on one of two ways bars a store to its local, whatever it is on the other") {
  for (const What other : {What::Null, What::Callee, What::Saved, What::Previous, What::Lasti}) {
    for (const Slot& both :
         {either(borrowed_from(0), {other, 1}), either({other, 1}, borrowed_from(0))}) {
      EXPECT(both.what == other && both.of == 1);
      AuditStack stack(1);
      stack.push(both);
      EXPECT(stack.borrows_from(0));
    }
  }
}

TEST("a slot that moves down keeps the order of the others") {
  AuditStack stack(0);
  stack.push({What::Null, 0});
  stack.push({});
  stack.push({What::Lasti, 0});
  stack.rotate(3);
  EXPECT(stack.from_end(3).what == What::Lasti && stack.from_end(2).what == What::Null &&
         stack.back().what == What::Value);
}

}  // namespace
}  // namespace pellucid::flow
