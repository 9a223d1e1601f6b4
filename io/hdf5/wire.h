// Requests and responses as bytes, between this process and a worker. What
// comes from the worker is checked like a file. Internal to io/hdf5.
#pragma once

#include <string>
#include <string_view>

#include "request.h"

namespace octet::io {

std::string to_wire(const Hdf5Request& request);
/// REQUIRES: bytes of to_wire(): the parent can be trusted.
Hdf5Request request_from_wire(std::string_view bytes);

/// Null, an integer, a number, a bool, a string or a list of such.
std::string to_wire(const Config& value);
/// Throws: FormatError.
Config value_from_wire(std::string_view bytes);

}  // namespace octet::io
