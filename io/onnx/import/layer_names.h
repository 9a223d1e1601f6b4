// Names of layers. Internal to io/onnx/import.
#pragma once

#include <string>

namespace octet::io::importing {

/// For a node or value of that name: one that files of weights can have, with
/// no empty part, "." or ".." between slashes.
std::string layer_name_of(const std::string& name);

}  // namespace octet::io::importing
