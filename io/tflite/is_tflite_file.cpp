#include <octet/io/tflite.h>
#include <octet/runtime/file.h>

namespace octet::io {

bool is_tflite_file(const std::filesystem::path& path) {
  // The identifier follows the offset of the root table.
  return read_part(path, 4, 4) == "TFL3";
}

}  // namespace octet::io
