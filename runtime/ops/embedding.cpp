#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "inference/trace.h"

namespace octet {
namespace {

int64_t row_at(float index, int64_t rows) {
  if (index >= 0 && index < static_cast<float>(rows) &&
      index == std::floor(index)) {
    return static_cast<int64_t>(index);
  }
  throw ValueError("out_of_range", "embedding",
                   fmt::format("indices must be whole numbers in [0,{}), got "
                               "{}",
                               rows, index));
}

void embed_into(const Tensor& indices, const Tensor& table, Tensor& y) {
  const int64_t rows = table.shape()[0];
  const int64_t width = table.shape()[1];
  const float* from = table.f32().data();
  const float* at = indices.f32().data();
  float* to = y.f32().data();
  parallel_chunks(indices.size(), [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      std::memcpy(to + i * width, from + row_at(at[i], rows) * width,
                  static_cast<size_t>(width) * sizeof(float));
    }
  });
}

// Each task sums the gradients of a range of rows in the order of the indices.
Tensor table_gradient(const Tensor& indices, const Shape& table,
                      const Tensor& dy) {
  const int64_t width = table[1];
  Tensor result = Tensor::zeros(table);
  const float* at = indices.f32().data();
  const float* from = dy.f32().data();
  float* to = result.f32().data();
  parallel_chunks(table[0], [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = 0; i < indices.size(); ++i) {
      const auto row = static_cast<int64_t>(at[i]);
      if (row < first || row >= last) continue;
      float* const sum = to + row * width;
      const float* const g = from + i * width;
      for (int64_t j = 0; j < width; ++j) sum[j] += g[j];
    }
  });
  return result;
}

}  // namespace

Variable embedding(const Variable& indices, const Variable& table) {
  const Shape rows = table.shape();
  const Shape given = indices.shape();
  if (rows.rank() != 2 || rows[0] < 1 || rows[1] < 1 || given.rank() < 1 ||
      given.rank() >= Shape::kMaxRank) {
    throw ShapeError(
        "shape_mismatch", "embedding",
        fmt::format("indices must be [n,...] of 1 to {} axes and "
                    "the table [rows,d], got {} and {}",
                    Shape::kMaxRank - 1, given.to_string(), rows.to_string()));
  }
  std::vector<int64_t> dims(given.dims().begin(), given.dims().end());
  dims.push_back(rows[1]);
  const Shape shape{std::span<const int64_t>(dims)};
  const Tensor values = table.value();
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = "embedding",
        .inputs = {indices},
        .shape = shape,
        .forward = [values](std::span<const Tensor> in, Tensor& y) {
          embed_into(in[0], values, y);
        }};
  });
  if (traced) return traced;
  Tensor y(shape);
  const Tensor at = indices.value();
  embed_into(at, values, y);
  return record("embedding", {indices, table}, y, {at},
                [at, rows](const Tensor& dy) {
                  return std::vector{Tensor(), table_gradient(at, rows, dy)};
                });
}

}  // namespace octet
