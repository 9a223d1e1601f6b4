// Replaces io/tflite in builds without FlatBuffers.
#include <octet/io/lint.h>
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
struct TfliteModel::File {};
TfliteModel::TfliteModel(std::shared_ptr<const File> file)
    : file_(std::move(file)) {}
const std::vector<TfliteTensorInfo>& TfliteModel::inputs() const {
  refuse_tflite();
}
const std::vector<TfliteTensorInfo>& TfliteModel::outputs() const {
  refuse_tflite();
}
const std::vector<TfliteValue>& TfliteModel::values() const { refuse_tflite(); }
std::vector<size_t> TfliteModel::output_values() const { refuse_tflite(); }
std::vector<Tensor> TfliteModel::trace(std::span<const Tensor>,
                                       TfliteRounding) const {
  refuse_tflite();
}
std::vector<Tensor> TfliteModel::predict(std::span<const Tensor>,
                                         TfliteRounding) const {
  refuse_tflite();
}
Tensor TfliteModel::predict(const Tensor&, TfliteRounding) const {
  refuse_tflite();
}
TfliteModel load_tflite_reference(const std::filesystem::path&) {
  refuse_tflite();
}
TfliteModel tflite_from_bytes(const std::string&) { refuse_tflite(); }
Model load_tflite(const std::filesystem::path&, const TfliteImportOptions&) {
  refuse_tflite();
}
Model from_tflite(const std::string&, const TfliteImportOptions&) {
  refuse_tflite();
}
LintReport lint_tflite(const std::filesystem::path&) { refuse_tflite(); }
LintReport lint_tflite_bytes(const std::string&) { refuse_tflite(); }

}  // namespace octet::io
