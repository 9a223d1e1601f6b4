#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

namespace octet {

Variable transpose(const Variable& x, const std::vector<int>& axes) {
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
