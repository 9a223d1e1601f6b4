// Text of tensors, shapes and programs, for logs and debugging:
//
//   std::cout << x << "\n" << x.shape() << "\n";
//   log(to_string(x, {.precision = 3}));
//
// Tensors print as in NumPy. For fmt::format() see octet/fmt.h.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include <octet/runtime/program.h>
#include <octet/runtime/quant_params.h>
#include <octet/runtime/tensor.h>
#include <octet/runtime/variable.h>

namespace octet {

/// Format of the elements of a tensor. The defaults are NumPy's.
/// Fields in order: precision, threshold, edge_items, line_width
struct PrintOptions {
  /// Maximum number of digits after the decimal point, [0, 16]. Trailing zeros
  /// are dropped.
  int precision = 8;
  /// Maximum number of elements that are all printed, at least 0. Larger
  /// tensors are abbreviated.
  int64_t threshold = 1000;
  /// Number of entries at each end of an abbreviated axis, at least 1.
  int64_t edge_items = 3;
  int line_width = 75;  ///< characters, at least 1; longer rows are wrapped
};

/// Returns the elements in nested brackets with aligned columns, as
/// numpy.array2string() does: in scientific notation if the largest magnitude
/// is at least 1e6, the smallest below 1e-4, or their ratio above 1000. The
/// shape follows if elements are omitted or missing, the element type unless it
/// is f32: "[1 2 3], dtype=i8". An empty handle is "empty tensor".
/// Throws: ValueError for options out of range.
/// Source: NumPy 2.4, numpy/_core/arrayprint.py.
std::string to_string(const Tensor& x, const PrintOptions& options = {});

/// Returns the value, followed by "requires_grad" for a leaf that requires a
/// gradient, or by the name of the op that computed it: "[1. 2.], op=relu". A
/// deferred value is computed. An empty handle is "empty variable".
std::string to_string(const Variable& x, const PrintOptions& options = {});

/// Returns the scale or the scales per channel, and the range of quantized
/// values: "scale 0.05, range [-128,127]".
std::string to_string(const QuantParams& qparams);

/// Prints "f32", "i8", ...
std::ostream& operator<<(std::ostream& out, DType type);
/// Prints "[8,28,28,1]"; unknown dimensions as N.
std::ostream& operator<<(std::ostream& out, const Shape& shape);
/// Prints to_string(x). Stream flags are ignored.
std::ostream& operator<<(std::ostream& out, const Tensor& x);
/// Prints to_string(x). Stream flags are ignored.
std::ostream& operator<<(std::ostream& out, const Variable& x);
/// Prints to_string(qparams).
std::ostream& operator<<(std::ostream& out, const QuantParams& qparams);
/// Prints a line per step.
std::ostream& operator<<(std::ostream& out, const Program& program);

}  // namespace octet
