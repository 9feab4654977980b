// SPDX-License-Identifier: Apache-2.0
#include "driver/code_paths.h"

namespace pellucid::driver {

std::vector<std::string> paths_of(const object::Module& module) {
  std::vector<std::string> paths(module.codes.size());
  const object::CodeId root = module.subject();
  std::vector<object::CodeId> todo{root};
  paths[root.index()] = module.text(module[root].name);
  while (!todo.empty()) {
    const object::CodeId parent = todo.back();
    todo.pop_back();
    for (const object::ConstId id : module[parent].consts) {
      const object::Const& item = module[id];
      if (item.kind != object::ConstKind::Code || !paths[item.code.index()].empty()) continue;
      paths[item.code.index()] =
          paths[parent.index()] + "/" + std::string(module.text(module[item.code].name));
      todo.push_back(item.code);
    }
  }
  return paths;
}

}  // namespace pellucid::driver
