// What separates two configurations, in words. Internal to train.
#pragma once

#include <string>
#include <vector>

#include <octet/runtime/config.h>

namespace octet::train {

/// "layers 'dense' config units: 10 there, 12 here", one for each value that
/// differs. Entries of a list that have a name are told by it.
std::vector<std::string> differences(const Config& there, const Config& here);

/// The first few, and how many more there are.
std::string list_of(const std::vector<std::string>& differences);

}  // namespace octet::train
