#include "polish/polish.h"

namespace pellucid::polish {

ast::ListId run(ast::Tree&, ast::ListId body) { return body; }

}  // namespace pellucid::polish
