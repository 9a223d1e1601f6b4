#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

namespace octet {
namespace {

// Draws `n` numbers in blocks, each from a child stream.
constexpr int64_t kRandomBlock = 4096;
template <class Draw>
void draw_blocks(int64_t n, const Rng& rng, const Draw& draw) {
  parallel_for((n + kRandomBlock - 1) / kRandomBlock, [&](int64_t block) {
    Rng stream = rng.child(static_cast<uint64_t>(block));
    const int64_t end = std::min(n, (block + 1) * kRandomBlock);
    for (int64_t i = block * kRandomBlock; i < end; ++i) draw(i, stream);
  });
}

// 1 for kept values, 0 for dropped ones.
Tensor mask_of(const Shape& shape, float rate, const Rng& rng) {
  Tensor mask(shape, DType::u8);
  uint8_t* to = mask.data<uint8_t>().data();
  draw_blocks(mask.size(), rng, [&](int64_t i, Rng& stream) {
    to[i] = stream.uniform() >= rate ? 1 : 0;
  });
  return mask;
}

// Scales kept values and sets dropped ones to 0, even if not finite.
Tensor masked(const Tensor& x, const Tensor& mask, float scale) {
  const Shape& shape = x.shape();
  const Shape& drawn = mask.shape();
  const int64_t row = shape.rank() == 0 ? 1 : shape[-1];
  const bool repeats = shape.rank() > 0 && drawn[-1] != row;
  Tensor y(shape);
  const float* from = x.f32().data();
  const uint8_t* kept = mask.data<uint8_t>().data();
  float* to = y.f32().data();
  parallel_chunks(row == 0 ? 0 : x.size() / row,
                  [&](int64_t first, int64_t last, int64_t) {
                    for (int64_t r = first; r < last; ++r) {
                      // Offset of the row in the mask.
                      int64_t rest = r;
                      int64_t stride = repeats ? 1 : row;
                      int64_t at = 0;
                      for (int axis = shape.rank() - 2; axis >= 0; --axis) {
                        if (drawn[axis] > 1) at += rest % shape[axis] * stride;
                        rest /= shape[axis];
                        stride *= drawn[axis];
                      }
                      const float* in = from + r * row;
                      float* out = to + r * row;
                      if (repeats) {
                        const bool keep = kept[at] != 0;
                        for (int64_t k = 0; k < row; ++k)
                          out[k] = keep ? in[k] * scale : 0.0f;
                      } else {
                        const uint8_t* m = kept + at;
                        for (int64_t k = 0; k < row; ++k)
                          out[k] = m[k] ? in[k] * scale : 0.0f;
                      }
                    }
                  });
  return y;
}

}  // namespace

Variable dropout(const Variable& x, float rate, const Rng& rng) {
  return dropout(x, rate, rng, x.shape());
}

Variable dropout(const Variable& x, float rate, const Rng& rng,
                 const Shape& noise_shape) {
  if (!(rate >= 0 && rate < 1)) {
    throw ValueError("out_of_range", "dropout",
                     fmt::format("rate must be in [0,1), got {}", rate));
  }
  const Shape& shape = x.shape();
  bool fits = noise_shape.rank() == shape.rank();
  for (int axis = 0; fits && axis < shape.rank(); ++axis) {
    fits = noise_shape[axis] == shape[axis] || noise_shape[axis] == 1;
  }
  if (!fits) {
    throw ShapeError("shape_mismatch", "dropout",
                     fmt::format("noise shape {} does not broadcast to {}",
                                 noise_shape.to_string(), shape.to_string()));
  }
  if (rate == 0) return x;
  const Tensor mask = mask_of(noise_shape, rate, rng);
  const float scale = 1 / (1 - rate);
  return record("dropout", {x}, masked(x.value(), mask, scale), {},
                [mask, scale](const Tensor& dy) {
                  return std::vector{masked(dy, mask, scale)};
                });
}

Variable gaussian_noise(const Variable& x, float stddev, const Rng& rng) {
  if (!(stddev >= 0 && std::isfinite(stddev))) {
    throw ValueError(
        "out_of_range", "gaussian_noise",
        fmt::format("stddev must be finite and not negative, got {}", stddev));
  }
  if (stddev == 0) return x;
  Tensor y(x.shape());
  const float* from = x.value().f32().data();
  float* to = y.f32().data();
  draw_blocks(y.size(), rng, [&](int64_t i, Rng& stream) {
    to[i] = from[i] + stddev * stream.normal();
  });
  return record("gaussian_noise", {x}, y, {},
                [](const Tensor& dy) { return std::vector{dy}; });
}

}  // namespace octet
