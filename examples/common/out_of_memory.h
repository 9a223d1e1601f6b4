// The error text of a failed allocation.
#pragma once

#include <string>
#include <string_view>

namespace octet::program {

/// Returns "out of memory with up to 812 MiB in use, ..." with memory use,
/// limits and a hint.
std::string out_of_memory();

}  // namespace octet::program
