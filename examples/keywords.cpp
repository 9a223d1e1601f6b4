#include "keywords.h"

#include <fmt/format.h>

#include <octet/io/keras.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

namespace octet::program {

std::optional<Keywords> keywords(const std::filesystem::path& folder) {
  const auto inputs = folder / "kws01" / "features_int8_1000x49x10.bin";
  if (!std::filesystem::exists(inputs)) return std::nullopt;
  const std::string codes = read_file(inputs);
  const std::string classes =
      read_file(folder / "kws01" / "labels_u8_1000.bin");
  Tensor x({1000, 49, 10, 1}), labels({1000}, DType::i64);
  if (static_cast<int64_t>(codes.size()) != x.size() ||
      static_cast<int64_t>(classes.size()) != labels.size()) {
    throw FormatError(fmt::format(
        "{}: expected 1000 inputs of 49x10 bytes and as many labels",
        inputs.string()));
  }
  // Zero point and scale of the published TFLite model's input.
  for (size_t i = 0; i < codes.size(); ++i) {
    const auto code = static_cast<float>(static_cast<int8_t>(codes[i]));
    x.f32()[i] = (code - 83) * 0.5847029f;
  }
  for (size_t i = 0; i < classes.size(); ++i) {
    labels.data<int64_t>()[i] = static_cast<uint8_t>(classes[i]);
  }
  return Keywords{
      io::load_keras(folder / "models" / "kws_ref_model_converted.h5"),
      Dataset(x, labels)};
}

}  // namespace octet::program
