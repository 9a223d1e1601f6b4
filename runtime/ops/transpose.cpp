#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "inference/trace.h"
#include "tensor/layouts.h"

namespace octet {

Variable transpose(const Variable& x, const std::vector<int>& axes) {
  const Variable traced = inference::offer([&] {
    std::vector<int64_t> dims;
    for (const int axis : axes) {
      const int64_t fits = axis >= 0 && axis < x.shape().rank();
      dims.push_back(fits == 1 ? x.shape()[axis] : 0);
    }
    return inference::TracedOp{
        .op = "transpose",
        .inputs = {x},
        .shape = Shape(std::span<const int64_t>(dims)),
        .attributes = inference::AxisOrder{axes},
        .forward = [axes](std::span<const Tensor> in,
                          Tensor& y) { transpose_into(in[0], axes, y); },
        .across_samples = axes.empty() || axes[0] != 0};
  });
  if (traced) return traced;
  const Tensor y = with_context(
      [&] {
        return fmt::format("axes ({}) of {}", fmt::join(axes, ","),
                           x.shape().to_string());
      },
      [&] { return x.value().transposed(axes); });
  std::vector<int> back(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    back[static_cast<size_t>(axes[i])] = static_cast<int>(i);
  }
  return record("transpose", {x}, y, {}, [back](const Tensor& dy) {
    return std::vector{dy.transposed(back)};
  });
}

}  // namespace octet
