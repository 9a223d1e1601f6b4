// Networks of the zoo for tests that run all of it.
#pragma once

#include <string>
#include <vector>

#include <octet/layers/zoo.h>

namespace octet {

/// Returns the names of the zoo's networks, without larger ones of the same
/// structure.
inline std::vector<std::string> small_networks() {
  std::vector<std::string> names;
  for (const zoo::Entry& entry : zoo::entries()) {
    // Same as resnet50 and efficientnet_b0, but for their sizes.
    if (entry.name == "resnet101" || entry.name == "resnet101_v2" ||
        entry.name == "efficientnet_b3") {
      continue;
    }
    names.emplace_back(entry.name);
  }
  return names;
}

}  // namespace octet
