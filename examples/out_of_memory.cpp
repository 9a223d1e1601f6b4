#include "out_of_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>

namespace octet::program {

std::string out_of_memory(std::string_view step) {
  struct rusage usage {};
  struct rlimit limit {};
  std::string text = fmt::format("{}: out of memory", step);
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    text += fmt::format(" with up to {} MiB in use", usage.ru_maxrss >> 10);
  }
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    text += fmt::format(", of at most {} MiB of addresses (ulimit -v)",
                        limit.rlim_cur >> 20);
  }
  return text + ". Hint: fewer samples, a smaller --batch, or more memory";
}

}  // namespace octet::program
