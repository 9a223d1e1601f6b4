#include <octet/runtime/version.h>

namespace octet {

const char* version() { return OCTET_VERSION; }

}  // namespace octet
