#include <octet/runtime/thread_modes.h>

namespace octet {

ThreadModes& thread_modes() {
  static thread_local ThreadModes modes;
  return modes;
}

}  // namespace octet
