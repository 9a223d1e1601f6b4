// Arguments of pointwise expressions and of the epilogues of products, which
// evaluate them before sums reach memory.
#pragma once

#include <cstdint>

namespace octet::kernels {

/// Evaluates one image of y = Q(clip(first + second)) into a padded image.
///   first  = a*t + b                    (terms >= 1; terms == 0: t itself)
///   second = Q2(clip2(a2*t2 + b2))      (terms >= 2; Q2 only if terms == 3)
struct Evaluation {
  int terms = 0;
  const float* t = nullptr;   // [h][w][c]
  const float* a = nullptr;   // [c]
  const float* b = nullptr;   // [c]
  const float* t2 = nullptr;  // [h][w][c]
  const float* a2 = nullptr;  // [c]
  const float* b2 = nullptr;  // [c]
  float low2 = 0, high2 = 0;
  float scale2 = 1, code_low2 = 0, code_high2 = 0;
  float low = 0, high = 0;
  bool quantize = false;
  float scale = 1, code_low = 0, code_high = 0;
  float factor = 1;       // y = q * factor: the scale, or 1 for q itself
  int zero_byte = 128;    // byte that stores q = 0
  float* keep = nullptr;  // [h][w][c]: values before Q, or null
  float* out = nullptr;   // [top+h+bottom][left+w+right][c]
  int64_t h = 0, w = 0, c = 0;
  int64_t top = 0, bottom = 0, left = 0, right = 0;
};

/// Derivative of scale * q by the scale. With x = clip(value, low, high) /
/// scale: `between` * (q - x) strictly inside the range of q, else q.
struct SlopeParams {
  float low = 0, high = 0;
  float inverse = 1;  // of the scale
  float code_low = 0, code_high = 0;
  float between = 1;
};

/// Backward pass of a pointwise expression: adds the other consumers'
/// gradients, masks by the interval of the value and sums per channel.
struct GradientMask {
  const float* z = nullptr;  // first term's tensor
  const float* a = nullptr;  // value = a*z + b per channel,
  const float* b = nullptr;
  const float* value = nullptr;   // unless this stores it
  const float* second = nullptr;  // second term's tensor, or null
  const float* others = nullptr;  // other consumers' gradients, or null
  float low = 0, high = 0;        // gradient passes if low < value < high
  float* sums = nullptr;          // [3][channels]: g, g*z, g*second; or null
  float* slopes = nullptr;  // [channels]: g before masking * slope; or null
  SlopeParams slope;
  int64_t channels = 0;
};

enum class Function {
  elu,  ///< beta * (x > 0 ? x : alpha * (exp(x) - 1))
  exponential,
  gelu,
  gelu_tanh,
  hard_sigmoid,
  hard_swish,
  relu,  ///< x > beta ? min(x, gamma) : alpha * (x - beta)
  sigmoid,
  softplus,
  softsign,
  swish,
  tanh,
};

/// out = f(x), or dy * f'(x) unless dy is null; out may alias dy.
struct Activation {
  Function function = Function::relu;
  float alpha = 0, beta = 0, gamma = 0;
  const float* x = nullptr;
  const float* dy = nullptr;
  float* out = nullptr;
  int64_t n = 0;
};

/// Storage format of a value. CodeTable::codes_per_word gives the layout of
/// quantized values.
enum class StorageFormat {
  values,
  real,         ///< scale * q
  float_codes,  ///< q as float
  bytes,        ///< q + zero_byte in 8 bits, four per word
  shorts,       ///< q in 16 bits, two per word
};

/// Returns the size of an element.
constexpr int64_t bytes_of(StorageFormat form) {
  return form == StorageFormat::bytes    ? 1
         : form == StorageFormat::shorts ? 2
                                         : 4;
}

/// Part of an image that starts at `to`. `pixel` and `line` are the strides
/// between pixels and rows, in elements (floats, bytes or shorts).
struct FusedOutput {
  StorageFormat form = StorageFormat::values;
  void* to = nullptr;
  int64_t pixel = 0, line = 0;
  float scale = 1, code_low = 0, code_high = 0;
  int zero_byte = 128;
  float inverse = 1, sure = 0;  // set by Table::prepare()
};
inline constexpr int kMostFusedOutputs = 8;

/// Inference epilogue, applied to sums z before they reach memory:
///   terms == 0: z
///   terms == 1: clip(a*z + b)
///   terms == 2: clip(Q2(clip2(a*z + b)) + other), Q2 only if quantize2
/// `other` has the format values, real, bytes or shorts.
struct FusedEpilogue {
  int terms = 0;
  const float* a = nullptr;  // [channels], like b
  const float* b = nullptr;
  float low2 = 0, high2 = 0;
  bool quantize2 = false;
  float scale2 = 1, code_low2 = 0, code_high2 = 0;
  StorageFormat other_form = StorageFormat::values;
  const void* other = nullptr;
  int64_t other_pixel = 0, other_line = 0;  // elements
  float other_scale = 1;
  int other_zero_byte = 128;
  float other_zero = -0.0f;  // added to `other`: +0 turns -0 into +0
  float low = 0, high = 0;
  bool clips = true;         // needed, and not done by the outputs' ranges
  bool clips2 = true;        // needed
  bool affine_only = false;  // clip(a*z + b) in a single float output
  int output_count = 0;
  FusedOutput outputs[kMostFusedOutputs];
  /// [channels]: q = clip(round(multiplier * sum + offset)) of the only output,
  /// exact for every integer sum, or null. NaN for channels without.
  const float* multiplier = nullptr;
  const float* offset = nullptr;
  bool* nan = nullptr;  // set to true if an output to be quantized is NaN
  /// Applies `function` to the result: the table's activate(), or null.
  void (*activate)(const Activation&) = nullptr;
  Activation function;
};

struct Epilogue {
  float* out = nullptr;
  int64_t pixel = 0;               // floats between neighboring outputs
  int64_t line = 0;                // floats between rows
  bool resume = false;             // add to the sums in `out`
  const float* rescale = nullptr;  // [channels] factors of the sums, or null
  float* statistics = nullptr;     // per-channel sums, and
  int64_t statistics_row = 0;      // at this distance sums of squares
  const GradientMask* mask = nullptr;    // pointers have the layout of out
  const FusedEpilogue* fused = nullptr;  // excludes all others but rescale
  int64_t channel = 0;                   // first channel in the fused image
};

}  // namespace octet::kernels
