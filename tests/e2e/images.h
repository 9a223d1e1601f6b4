// Fashion-MNIST for the networks of the toolkit's tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet {

/// Returns the first `count` images [28,28,1] of `data` in the input shape of
/// `model`: [28,28], or centered in a larger black image, the same in each
/// channel.
inline Dataset images_for(const Model& model, const Dataset& data,
                          int64_t count) {
  constexpr int64_t kSide = 28;
  const Batch batch = data.batch(0, std::min(count, data.size()));
  const int64_t n = batch.label().size();
  const Shape shape = model.inputs()[0].shape().with(0, n);
  const int64_t height = shape[1];
  const int64_t width = shape[2];
  const int64_t channels = shape.rank() == 4 ? shape[3] : 1;
  const int64_t top = (height - kSide) / 2;
  const int64_t left = (width - kSide) / 2;
  Tensor images = Tensor::zeros(shape);
  const auto from = batch.input().f32();
  const auto to = images.f32();
  for (int64_t i = 0; i < n * kSide * kSide; ++i) {
    const int64_t x = i % kSide + left;
    const int64_t y = i / kSide % kSide + top;
    const int64_t image = i / (kSide * kSide);
    for (int64_t c = 0; c < channels; ++c) {
      to[static_cast<size_t>(((image * height + y) * width + x) * channels +
                             c)] = from[static_cast<size_t>(i)];
    }
  }
  return Dataset(images, batch.label());
}

}  // namespace octet
