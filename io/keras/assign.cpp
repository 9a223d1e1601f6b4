#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>

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

Tensor read_weight(const Hdf5Reader& file, const Assignment& assignment) {
  const WeightTarget& target = *assignment.target;
  Tensor weight = target.integer
                      ? as_floats(file.i64(assignment.dataset, target.shape))
                      : file.f32(assignment.dataset, target.shape);
  expect_finite(weight);
  if (target.to_octet) weight = target.to_octet(weight);
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
