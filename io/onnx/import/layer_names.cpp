#include "layer_names.h"

#include <algorithm>

namespace octet::io::importing {

std::string layer_name_of(const std::string& name) {
  std::string result;
  for (size_t from = 0; from <= name.size();) {
    const size_t to = std::min(name.find('/', from), name.size());
    const std::string part = name.substr(from, to - from);
    from = to + 1;
    if (part.empty() || part == "." || part == "..") continue;
    result += (result.empty() ? "" : "/") + part;
  }
  return result.empty() ? "layer" : result;
}

}  // namespace octet::io::importing
