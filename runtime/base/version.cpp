#include <octet/runtime/system.h>

namespace octet {

const char* version() { return OCTET_VERSION; }

}  // namespace octet
