#include "scale_gradient.h"

#include <vector>

#include <octet/runtime/parallel.h>

namespace octet::autograd {

void add_scale_gradient(const float* x, const float* codes, const float* g,
                        int64_t size, float scale, const Grid& grid,
                        double* sums) {
  const auto low = static_cast<float>(grid.low);
  const auto high = static_cast<float>(grid.high);
  for (int64_t i = 0; i < size; ++i) {
    const float steps = x[i] / scale;
    const bool inside = steps > low && steps < high;
    const float slope = inside ? codes[i] - steps : codes[i];
    sums[i % 8] += double{slope} * g[i];
  }
}

Tensor scale_gradient(const Expression& e, const Tensor& g) {
  Expression before = e;
  before.grid = {};
  const Reader values(before, Form::real);
  const Reader codes(e, Form::codes);
  const ImageShape& images = values.images();
  const float* gradient = g.f32().data();
  const float scale = e.grid.scale.item();
  std::vector<double> sums(static_cast<size_t>(8 * images.n));
  parallel_chunks(images.n, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      add_scale_gradient(values.image(i, 0), codes.image(i, 1),
                         gradient + i * images.size(), images.size(), scale,
                         e.grid, sums.data() + 8 * i);
    }
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return Tensor::scalar(static_cast<float>(total * e.scale.factor));
}

}  // namespace octet::autograd
