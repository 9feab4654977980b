#include "flow/build.h"

#include <utility>

#include "flow/draft.h"

namespace pellucid::flow {

Result<Graph> build(const object::Module& module, const bytecode::Stream& stream) {
  const bool has_block_stack = module[stream.code].version < object::Version{3, 11};
  PELLUCID_TRY(Draft draft, has_block_stack ? draft_from_block_stack(module, stream)
                                            : draft_from_exception_table(module, stream));
  // From here on nothing depends on the version.
  return assemble(std::move(draft));
}

}  // namespace pellucid::flow
