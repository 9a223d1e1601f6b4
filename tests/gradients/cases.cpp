#include "cases.h"

#include <fmt/format.h>

namespace octet {

std::string dims(const Shape& shape) {
  return fmt::format("{}", fmt::join(shape.dims(), "x"));
}

std::string text(const WindowOptions& o) {
  return fmt::format("s{}{}_d{}{}_p{}{}{}{}", o.strides.h, o.strides.w,
                     o.dilation.h, o.dilation.w, o.pads.top, o.pads.bottom,
                     o.pads.left, o.pads.right);
}

const std::vector<Shape>& pointwise_shapes() {
  static const std::vector<Shape> shapes = {
      {1, 1, 1, 1}, {2, 3, 5, 17}, {3, 4, 2, 3}, {5, 16}, {2, 3, 33}};
  return shapes;
}

std::vector<GradientCase> gradient_cases() {
  std::vector<GradientCase> cases;
  add_activation_cases(cases);
  add_arithmetic_cases(cases);
  add_block_cases(cases);
  add_convolution_cases(cases);
  add_dense_cases(cases);
  add_layout_cases(cases);
  add_loss_cases(cases);
  add_normalization_cases(cases);
  add_pooling_cases(cases);
  add_random_cases(cases);
  add_recurrent_cases(cases);
  add_reduction_cases(cases);
  add_sequence_cases(cases);
  add_softmax_cases(cases);
  return cases;
}

}  // namespace octet
