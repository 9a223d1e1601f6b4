// Names of TfliteIo.
#include <fmt/format.h>

#include <octet/io/tflite.h>
#include <octet/runtime/error.h>

namespace octet::io {

std::string_view to_string(TfliteIo io) {
  switch (io) {
    case TfliteIo::int8:
      return "int8";
    case TfliteIo::uint8:
      return "uint8";
    case TfliteIo::float32:
      return "float32";
  }
  throw ValueError("invalid_value", "TfliteIo",
                   fmt::format("unknown value {}", static_cast<int>(io)));
}

TfliteIo tflite_io_named(std::string_view name) {
  for (const TfliteIo io :
       {TfliteIo::int8, TfliteIo::uint8, TfliteIo::float32}) {
    if (to_string(io) == name) return io;
  }
  throw ValueError(
      "invalid_value", "TfliteIo",
      fmt::format("must be int8, uint8 or float32, got '{}'", name));
}

}  // namespace octet::io
