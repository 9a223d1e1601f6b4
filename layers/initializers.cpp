#include "initializers.h"

#include <algorithm>
#include <cmath>

namespace octet {

Initializer glorot_uniform() {
  return [](Tensor& value, int64_t fan_in, int64_t fan_out, Rng& rng) {
    const double fans =
        static_cast<double>(std::max<int64_t>(1, fan_in + fan_out));
    const float limit = static_cast<float>(std::sqrt(6.0 / fans));
    rng.fill_uniform(value, -limit, limit);
  };
}

Initializer constant_value(float constant) {
  return [constant](Tensor& value, int64_t, int64_t, Rng&) {
    std::ranges::fill(value.f32(), constant);
  };
}

}  // namespace octet
