#include "keras/kernels.h"

#include <algorithm>
#include <array>

#include "keras/layer_sequence.h"

namespace octet::io {
namespace {

/// Flips both spatial axes of [kh,kw,...].
Tensor turned(const Tensor& kernel) {
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

}  // namespace

void as_old_kernel(WeightTarget& weight, const KerasLayer& layer,
                   const KerasDialect& dialect) {
  const Shape octet = weight.shape;
  if (octet.rank() != 4 || weight.name.find("kernel") == std::string::npos) {
    return;
  }
  const bool transpose = layer.class_name == "Conv2DTranspose";
  // Keras flips the kernels of these two classes.
  const bool turn = dialect.backend == "theano" &&
                    (transpose || layer.class_name == "Conv2D");
  std::array<int, 4> order{0, 1, 2, 3};
  if (dialect.major == 1) {
    // Keras 1: [o,c,kh,kw] with channels first; for Deconvolution2D,
    // [kh,kw,c,o] or [o,c,kh,kw].
    if (has_channels_first(layer)) {
      order = transpose ? std::array{2, 3, 0, 1} : std::array{2, 3, 1, 0};
    } else if (transpose) {
      order = {0, 1, 3, 2};
    }
  }
  if (!turn && order == std::array{0, 1, 2, 3}) return;
  Shape stored = octet;
  for (int axis = 0; axis < 4; ++axis) {
    stored = stored.with(order[static_cast<size_t>(axis)], octet[axis]);
  }
  weight.shape = stored;
  weight.to_octet = [order, turn](const Tensor& w) {
    const Tensor kernel = w.transposed(order);
    return turn ? turned(kernel) : kernel;
  };
}

}  // namespace octet::io
