// Questions and values as bytes, between this process and a child. What comes
// from the child is checked like a file. Internal to io/hdf5.
#pragma once

#include <string>
#include <string_view>

#include "question.h"

namespace octet::io {

std::string to_wire(const Hdf5Question& question);
/// REQUIRES: bytes of to_wire(): the parent can be trusted.
Hdf5Question question_from_wire(std::string_view bytes);

/// Null, an integer, a number, a bool, a string or a list of such.
std::string to_wire(const Config& value);
/// Throws: FormatError.
Config value_from_wire(std::string_view bytes);

}  // namespace octet::io
