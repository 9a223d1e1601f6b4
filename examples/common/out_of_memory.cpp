#include "out_of_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>

namespace octet::program {

std::string out_of_memory() {
  struct rusage usage {};
  struct rlimit limit {};
  std::string text = "out of memory";
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    text += fmt::format(" with up to {} MiB in use", usage.ru_maxrss >> 10);
  }
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    text += fmt::format(", limited to {} MiB of address space (ulimit -v)",
                        limit.rlim_cur >> 20);
  }
  return text +
         ". Hint: use fewer samples, a smaller --batch, or a machine with more "
         "memory";
}

}  // namespace octet::program
