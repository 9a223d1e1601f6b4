#include <cmath>
#include <utility>

#include <octet/runtime/ops.h>

namespace octet {

Variable regularization_loss(const Variable& x, float l1, float l2) {
  double magnitudes = 0;
  double squares = 0;
  for (const float v : x.value().f32()) {
    magnitudes += std::fabs(v);
    squares += double{v} * v;
  }
  const Tensor y = Tensor::scalar(
      static_cast<float>(double{l1} * magnitudes + double{l2} * squares));
  return record("regularization_loss", {x}, y, {x.value()},
                [x = x.value(), l1, l2](const Tensor& dy) {
                  Tensor dx(x.shape());
                  const float g = dy.item();
                  const auto from = std::as_const(x).f32();
                  const auto to = dx.f32();
                  for (size_t i = 0; i < to.size(); ++i) {
                    const float sign =
                        static_cast<float>((from[i] > 0) - (from[i] < 0));
                    to[i] = g * (l1 * sign + 2 * l2 * from[i]);
                  }
                  return std::vector{dx};
                });
}

}  // namespace octet
