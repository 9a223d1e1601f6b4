// Tables in place of pointwise expressions of quantized values.
#pragma once

#include <optional>
#include <vector>

#include "autograd/expression.h"
#include "kernels/kernels.h"
#include "storage.h"

namespace octet::inference {

/// A pointwise expression of a value in 8 bits.
struct Lookup {
  autograd::Expression e;                       // without tensors
  std::optional<kernels::Activation> function;  // applied to e before Q
  QuantParams of_x;

  /// Returns the results for x = 0 to 255 minus `zero_byte`, as stored in
  /// `output`. Empty if there is NaN or if the format does not suit.
  std::vector<char> tabulate(int zero_byte, const Storage& output) const;
};

/// Returns f(e) with the quantization parameters of e, in `values`.
autograd::Expression activated(autograd::Expression e,
                               const kernels::Activation& f, Tensor& values);

}  // namespace octet::inference
