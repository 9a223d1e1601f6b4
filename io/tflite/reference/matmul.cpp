// Products of two activations.
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "node.h"

namespace octet::io::tflite {

Tensor run_batch_matmul(const Node& node) {
  const auto& o = node.options<schema::BatchMatMulOptionsT>();
  const Tensor& a = node.input(0);
  const Tensor& b = node.input(1);
  const Shape& s = a.shape();
  const Shape& t = b.shape();
  const int rank = s.rank();
  if (rank < 2 || t.rank() != rank ||
      s.slice(0, rank - 2) != t.slice(0, rank - 2) ||
      s[o.adj_x ? -2 : -1] != t[o.adj_y ? -1 : -2]) {
    throw UnsupportedError("unsupported_value", node.name,
                           fmt::format("matrices {} and {} do not fit",
                                       s.to_string(), t.to_string()));
  }
  const int64_t m = s[o.adj_x ? -1 : -2], k = s[o.adj_x ? -2 : -1],
                l = t[o.adj_y ? -2 : -1];
  const Shape shape = s.with(-2, m).with(-1, l);
  Tensor y = Tensor::zeros(shape, a.dtype());
  const auto each = [&](const auto& product) {
    for (int64_t at = 0; at < y.size(); ++at) {
      const int64_t matrix = at / (m * l), i = at / l % m, j = at % l;
      for (int64_t d = 0; d < k; ++d) {
        const int64_t left = matrix * m * k + (o.adj_x ? d * m + i : i * k + d);
        const int64_t right =
            matrix * k * l + (o.adj_y ? j * k + d : d * l + j);
        product(static_cast<size_t>(at), static_cast<size_t>(left),
                static_cast<size_t>(right));
      }
    }
  };
  if (!node.quantized()) {
    const auto x = a.f32(), z = b.f32();
    const auto to = y.f32();
    each([&](size_t at, size_t i, size_t j) { to[at] += x[i] * z[j]; });
    return y;
  }
  const NodeQuant first = node.quant(0), second = node.quant(1),
                  out = node.output_quant();
  // The kernel multiplies the scales in float.
  const double ratio = double{first.scale * second.scale} / double{out.scale};
  by_integer(a, [&]<class T>(T) {
    using Sum = std::conditional_t<sizeof(T) == 2, int64_t, int32_t>;
    const auto x = a.data<T>(), z = b.data<T>();
    std::vector<Sum> sums(static_cast<size_t>(y.size()));
    each([&](size_t at, size_t i, size_t j) {
      sums[at] += Sum{x[i] - first.zero_point} * (z[j] - second.zero_point);
    });
    const FixedFactor factor =
        sizeof(Sum) == 8 ? node.factor64(ratio) : node.factor(ratio);
    for (size_t i = 0; i < sums.size(); ++i) {
      y.data<T>()[i] = clamped<T>(node.scaled(sums[i], factor) + out.zero_point,
                                  out.low, out.high);
    }
  });
  return y;
}

}  // namespace octet::io::tflite
