#include "channel_sums.h"

namespace octet::autograd {

ChannelSums channel_sums(Gradient gradient, const Tensor& z) {
  ChannelSums result;
  if (gradient.value.first.t.empty()) return result;
  if (gradient.sums.empty()) {
    const Tensor g = value_of(gradient.value);
    Expression everything = expression_of(z, nullptr);
    everything.first.a = Tensor::full({ImageShape(z.shape()).c}, 1);
    gradient = Engine::masked(everything, g);
  }
  result.g = gradient.value.first.t.read();
  const Shape& shape = gradient.sums.shape();  // [groups][3][c]
  const int64_t c = shape[2];
  result.sum.assign(static_cast<size_t>(c), 0);
  result.sum_z.assign(static_cast<size_t>(c), 0);
  const float* sums = gradient.sums.f32().data();
  for (int64_t group = 0; group < shape[0]; ++group, sums += 3 * c) {
    for (int64_t k = 0; k < c; ++k) {
      result.sum[static_cast<size_t>(k)] += sums[k];
      result.sum_z[static_cast<size_t>(k)] += sums[gradient.slot * c + k];
    }
  }
  return result;
}

}  // namespace octet::autograd
