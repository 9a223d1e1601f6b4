#include <octet/runtime/detail/thread_modes.h>

namespace octet {

ThreadModes& thread_modes() {
  static thread_local ThreadModes modes;
  return modes;
}

}  // namespace octet
