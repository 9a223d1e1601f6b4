#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

namespace octet {

Variable gather(const Variable& x, int axis, std::vector<int64_t> indices) {
  const Shape from = x.shape();
  const int64_t size = from[axis];  // checks the axis
  if (axis < 0) axis += from.rank();
  for (const int64_t index : indices) {
    if (index >= 0 && index < size) continue;
    throw ShapeError("out_of_range", "gather",
                     fmt::format("index {} is out of range for axis {} of {}",
                                 index, axis, from.to_string()));
  }
  const auto count = static_cast<int64_t>(indices.size());
  const int64_t outer = from.slice(0, axis).size();
  const int64_t inner = from.slice(axis + 1, from.rank()).size();
  Tensor y(from.with(axis, count));
  const float* values = x.value().f32().data();
  float* to = y.f32().data();
  parallel_chunks(outer, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      for (int64_t k = 0; k < count; ++k) {
        std::memcpy(
            to + (i * count + k) * inner,
            values + (i * size + indices[static_cast<size_t>(k)]) * inner,
            static_cast<size_t>(inner) * sizeof(float));
      }
    }
  });
  return record("gather", {x}, y, {},
                [=, indices = std::move(indices)](const Tensor& dy) {
                  Tensor dx = Tensor::zeros(from);
                  const float* g = dy.f32().data();
                  float* out = dx.f32().data();
                  parallel_chunks(
                      outer, [&](int64_t first, int64_t last, int64_t) {
                        for (int64_t i = first; i < last; ++i) {
                          for (int64_t k = 0; k < count; ++k) {
                            const int64_t at = indices[static_cast<size_t>(k)];
                            float* sum = out + (i * size + at) * inner;
                            const float* row = g + (i * count + k) * inner;
                            for (int64_t j = 0; j < inner; ++j)
                              sum[j] += row[j];
                          }
                        }
                      });
                  return std::vector{dx};
                });
}

}  // namespace octet
