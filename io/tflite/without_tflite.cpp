// Replaces io/tflite in builds without FlatBuffers.
#include <octet/io/tflite.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

[[noreturn]] void refuse_tflite() {
  throw UnsupportedError(
      "unsupported_format", "tflite",
      "this build has no support for .tflite files. Hint: install "
      "libflatbuffers-dev and flatbuffers-compiler, and build with "
      "OCTET_WITH_TFLITE=ON");
}

}  // namespace

TfliteFile to_tflite(const Model&, const TfliteOptions&) { refuse_tflite(); }
TfliteReport export_tflite(const Model&, const std::filesystem::path&,
                           const TfliteOptions&) {
  refuse_tflite();
}

}  // namespace octet::io
