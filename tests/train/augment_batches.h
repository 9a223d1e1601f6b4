// Batches for the tests of augmentation, and a helper that transforms them.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <octet/runtime/rng.h>
#include <octet/train/data_loader.h>

namespace octet::train {

/// Pixels 1, 2, 3, ... and labels 0, 1, 0, 1, ...
inline Batch counting(const Shape& shape) {
  Batch batch(Tensor(shape), Tensor({shape[0]}, DType::i64));
  float next = 0;
  for (float& x : batch.input().f32()) x = ++next;
  int64_t i = 0;
  for (int64_t& label : batch.label().data<int64_t>()) label = i++ % 2;
  return batch;
}

inline Batch apply_one(std::shared_ptr<const Transform> transform,
                       const Batch& batch, uint64_t seed = 1) {
  return augment({std::move(transform)}, batch, Rng(seed), 0);
}

inline std::vector<float> values(const Batch& batch) {
  const auto x = batch.input().f32();
  return {x.begin(), x.end()};
}

}  // namespace octet::train
