#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "arranged.h"
#include "file_errors.h"
#include "keras/stored.h"

namespace octet::io {
namespace {

Tensor as_floats(const Tensor& integers) {
  Tensor result(integers.shape());
  const auto from = integers.data<int64_t>();
  const auto to = result.f32();
  for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(from[i]);
  return result;
}

void expect_finite(const Tensor& weight) {
  const auto values = weight.f32();
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw FormatError(
        "not_finite", "values",
        fmt::format("must be finite, got {} at index {}", values[i], i));
  }
}

/// Flips both spatial axes of [kh,kw,...].
Tensor flipped(const Tensor& kernel) {
  const Shape& shape = kernel.shape();
  const int64_t cells = shape[0] * shape[1];
  const int64_t rest = kernel.size() / cells;
  Tensor result(shape);
  const auto from = kernel.f32();
  const auto to = result.f32();
  for (int64_t cell = 0; cell < cells; ++cell) {
    const auto source =
        from.subspan(static_cast<size_t>((cells - 1 - cell) * rest),
                     static_cast<size_t>(rest));
    std::ranges::copy(source,
                      to.begin() + static_cast<std::ptrdiff_t>(cell * rest));
  }
  return result;
}

Tensor read_weight(const Hdf5Reader& file, const Assignment& assignment) {
  const WeightTarget& target = *assignment.target;
  const Shape shape = shape_of(target.layout.stored());
  Tensor weight = target.integer
                      ? as_floats(file.i64(assignment.dataset, shape))
                      : file.f32(assignment.dataset, shape);
  expect_finite(weight);
  weight = arranged(weight, target.layout);
  if (target.flipped) weight = flipped(weight);
  if (weight.shape() != target.variable.shape()) {
    throw InternalError("internal", assignment.what,
                        fmt::format("expected shape {}, got {}",
                                    target.variable.shape().to_string(),
                                    weight.shape().to_string()));
  }
  return weight;
}

}  // namespace

void assign_all(const Hdf5Reader& file,
                const std::vector<Assignment>& assignments) {
  std::vector<Tensor> values;
  for (const Assignment& assignment : assignments) {
    values.push_back(in_file([&] { return "in " + assignment.what; },
                             [&] { return read_weight(file, assignment); }));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    assignments[i].target->variable.assign(values[i]);
  }
}

}  // namespace octet::io
