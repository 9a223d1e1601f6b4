#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "inference/trace.h"

namespace octet {
namespace {

void gather_into(const Tensor& x, int axis, std::span<const int64_t> indices,
                 Tensor& y) {
  const Shape& from = x.shape();
  const auto count = static_cast<int64_t>(indices.size());
  const int64_t size = from[axis];
  const int64_t inner = from.slice(axis + 1, from.rank()).size();
  const float* values = x.f32().data();
  float* to = y.f32().data();
  parallel_chunks(from.slice(0, axis).size(),
                  [&](int64_t first, int64_t last, int64_t) {
                    for (int64_t i = first; i < last; ++i) {
                      for (int64_t k = 0; k < count; ++k) {
                        const int64_t at = indices[static_cast<size_t>(k)];
                        std::memcpy(to + (i * count + k) * inner,
                                    values + (i * size + at) * inner,
                                    static_cast<size_t>(inner) * sizeof(float));
                      }
                    }
                  });
}

}  // namespace

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
  const Shape shape = from.with(axis, count);
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = "gather",
        .inputs = {x},
        .shape = shape,
        .forward = [axis, indices](
                       std::span<const Tensor> in,
                       Tensor& y) { gather_into(in[0], axis, indices, y); },
        .across_samples = axis == 0};
  });
  if (traced) return traced;
  Tensor y(shape);
  gather_into(x.value(), axis, indices, y);
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
