// What a program reports that got no memory.
#pragma once

#include <string>
#include <string_view>

namespace octet::program {

/// "octet quantize: out of memory with 812 MiB in use, ...": the step, its
/// memory and the limits on it.
std::string out_of_memory(std::string_view step);

}  // namespace octet::program
