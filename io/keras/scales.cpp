#include "keras/scales.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/model.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/quantization.h>

#include "file_errors.h"
#include "keras/names.h"
#include "printable.h"

namespace octet::io {
namespace {

/// Initial range of the toolkit's wrappers, before training.
constexpr float kFirstEnd = 6;
/// Limit of ranges: sums of products of quantized values at such scales are
/// finite.
constexpr float kLargestRange = 0x1p50f;

std::string text_of(const std::string& layer, const std::string& parameter,
                    int input) {
  const std::string site = parameter.empty()
                               ? fmt::format("input range {}", input)
                               : fmt::format("range of '{}'", parameter);
  return fmt::format("{} of layer '{}'", site, printable(layer));
}

/// Returns [channels] for a weight that the toolkit quantizes, [] for an input.
Shape range_shape(const Layer& layer, const StoredRange& range) {
  if (range.parameter.empty()) return {};
  const auto weights = quant::wrapper_info(layer.class_name()).sites.weights;
  if (std::ranges::find(weights, range.parameter) == weights.end()) {
    throw FormatError(
        "invalid_value", "range",
        fmt::format("weight '{}' of a {} cannot be quantized",
                    printable(range.parameter), layer.class_name()));
  }
  const Parameter& parameter = layer.parameter(range.parameter);
  return Shape{parameter.variable.shape()[parameter.channel_axis]};
}

float size_of_range(float min, float max) {
  if (!(min <= 0 && max >= 0 && min >= -kLargestRange &&
        max <= kLargestRange)) {
    throw FormatError(
        "out_of_range", "range",
        fmt::format("must contain 0 and not exceed {}, got [{}, {}]",
                    kLargestRange, min, max));
  }
  return std::max(-min, max);
}

/// Facts for warnings.
struct Remarks {
  bool all_untrained = true;
  std::vector<std::string> empty = {};  ///< inputs whose range is 0
};

StoredScales read_one(const Hdf5Reader& file, const Layer& layer,
                      const std::string& name, const StoredRange& range,
                      Remarks& remarks) {
  StoredScales scales{name, range.parameter, range.input, {}};
  const Shape shape = range_shape(layer, range);
  const Tensor min = file.f32(range.min, shape);
  const Tensor max = file.f32(range.max, shape);
  for (size_t i = 0; i < min.f32().size(); ++i) {
    const float low = min.f32()[i];
    const float high = max.f32()[i];
    const float size = size_of_range(low, high);
    remarks.all_untrained &= low == -kFirstEnd && high == kFirstEnd;
    if (size < kSmallestRange && range.parameter.empty()) {
      remarks.empty.push_back(text_of(scales));
    }
    scales.values.push_back(scale_of_range(size, 127));
  }
  return scales;
}

void warn_of(const Remarks& remarks) {
  if (remarks.all_untrained) {
    warn(
        "initial_ranges", "ranges",
        fmt::format(
            "all are [-{0}, {0}], the toolkit's initial values, which training "
            "did not update. Hint: calibrate() determines them from data",
            kFirstEnd));
  }
  if (!remarks.empty.empty()) {
    warn("zero_range", "ranges",
         fmt::format("zero range for {}; the scale is set to 1",
                     listed(remarks.empty)));
  }
}

}  // namespace

std::string text_of(const StoredScales& scales) {
  return text_of(scales.layer, scales.parameter, scales.input);
}

LayerIndex::LayerIndex(const Model& model)
    : model_(model), names_(layer_names(model)) {}

const Layer* LayerIndex::find(const std::string& name) const {
  const std::optional<size_t> found = names_.find(name);
  return found ? model_.layers()[*found].get() : nullptr;
}

std::vector<StoredScales> read_scales(const Hdf5Reader& file,
                                      const std::vector<StoredLayer>& layers,
                                      const Model& model, bool partial) {
  const LayerIndex index(model);
  std::vector<StoredScales> scales;
  Remarks remarks;
  for (const StoredLayer& stored : layers) {
    const Layer* layer = index.find(stored.name);
    for (const StoredRange& range : stored.ranges) {
      if (layer == nullptr && partial) continue;
      in_file(
          [&] {
            return "in the " +
                   text_of(stored.name, range.parameter, range.input);
          },
          [&] {
            if (layer == nullptr) {
              throw FormatError(
                  "unknown_name", "range",
                  "the model has no such layer, or it is in a nested model");
            }
            scales.push_back(read_one(file, quant::float_layer(*layer),
                                      stored.name, range, remarks));
          });
    }
  }
  if (!scales.empty()) warn_of(remarks);
  return scales;
}

}  // namespace octet::io
