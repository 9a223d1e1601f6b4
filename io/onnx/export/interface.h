// OnnxInterface as a Config, for files that contain it. Internal to io.
#pragma once

#include <octet/io/onnx.h>
#include <octet/runtime/config.h>

namespace octet::io {

Config to_config(const OnnxInterface& interface);
/// Throws: FormatError for a Config that is not an interface.
OnnxInterface interface_from(const Config& config);

}  // namespace octet::io
