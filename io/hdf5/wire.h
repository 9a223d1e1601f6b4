// Serialization of requests and responses between this process and a worker.
// Responses are validated like files. Internal to io/hdf5.
#pragma once

#include <string>
#include <string_view>

#include <octet/runtime/error.h>

#include "request.h"

namespace octet::io {

std::string to_wire(const Hdf5Request& request);
/// REQUIRES: bytes of to_wire(): the worker trusts its parent.
Hdf5Request request_from_wire(std::string_view bytes);

/// Serializes null, an integer, a number, a bool, a string or a list of these.
std::string to_wire(const Config& value);
/// Throws: FormatError.
Config value_from_wire(std::string_view bytes);

/// Serializes code, subject and text of an error.
std::string to_wire(const Error& error);
/// Throws: FormatError.
Error error_from_wire(ErrorKind kind, std::string_view bytes);

}  // namespace octet::io
