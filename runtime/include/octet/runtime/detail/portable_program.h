// PortableProgram: the steps of a compiled program as plain data, free of the
// layouts and packed weights of an instruction set. For code generators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <octet/runtime/detail/language.h>

namespace octet::detail {

/// Quantization q = clip(round_half_even(x / scale), low, high), x = scale * q.
struct PortableQuant {
  float scale = 1;
  int low = -128, high = 127;
  bool operator==(const PortableQuant&) const = default;
};

/// An image [h,w,c] of floats or quantized values. Values of other ranks than
/// [h,w,c] are [1,pixels,c].
struct PortableBuffer {
  int64_t h = 1, w = 1, c = 1;
  std::optional<PortableQuant> quant = {};  ///< empty: floats
  int alias = -1;                           ///< buffer that it reshapes, or -1
  int slice_of = -1;    ///< buffer that contains it as some channels, or -1
  int64_t channel = 0;  ///< the first of them
  std::vector<float> constant = {};  ///< values [h,w,c], if not computed

  int64_t size() const { return h * w * c; }
};

/// Number of rows and columns, or a step along each.
struct PortableSize {
  int64_t h = 1, w = 1;
};

/// Function of a value: x > beta ? min(x, gamma) : alpha * (x - beta).
struct PortableRelu {
  float alpha = 0, beta = 0, gamma = 0;
};

/// y = function(clip(Q2(clip2(a*v + b)) + other)) for a value v, rounded to
/// float after each operation. Every output stores y, quantized if it is.
/// Empty factors are 1, empty offsets and absent operands are left out.
struct PortableEpilogue {
  std::vector<float> a = {}, b = {};         ///< [c]
  std::optional<PortableQuant> quant2 = {};  ///< Q2
  std::optional<std::pair<float, float>> clip2 = {}, clip = {};
  int other = -1;                                 ///< buffer, or -1
  std::vector<float> other_a = {}, other_b = {};  ///< other = other_a*x+other_b
  bool other_plus_zero = false;   ///< +0 is added to `other`: -0 becomes +0
  PortableSize other_every = {};  ///< distance of its pixels per output
  std::optional<PortableRelu> function = {};
  /// A buffer; of a quantized one the clip range of q, which includes `clip`.
  struct Output {
    int y;
    int low, high;
  };
  std::vector<Output> outputs = {};
};

/// A convolution (or dense layer, 1x1) over the zero-padded input.
struct PortableLinear {
  int x = -1;
  PortableSize kernel, strides, dilation;
  int64_t top = 0, left = 0;  ///< zero padding
  int64_t groups = 1;
  /// [kernel.h,kernel.w,c/groups,k]. Quantized values if `rescale` is not
  /// empty: v = sums of products of quantized values * rescale[k].
  std::vector<float> weights = {};
  std::vector<float> rescale = {};  ///< [k]
  /// [k], of int8 weights, also if they are multiplied as floats.
  std::vector<float> weight_scales = {};
  int64_t multiply_adds = 0;
  PortableEpilogue epilogue;
};

/// The epilogue of the values of a buffer.
struct PortableEvaluate {
  int x = -1;
  int multiplier = -1;  ///< buffer [c]: replaces epilogue.a
  PortableEpilogue epilogue;
};

/// Maximum or mean of windows. Pixels outside of the image, extended by zeros,
/// are ignored.
struct PortablePool {
  bool maximum = true;
  int x = -1, y = -1;
  PortableSize kernel, strides, dilation;
  int64_t top = 0, left = 0;  ///< ignored pixels
  int64_t zeros_top = 0, zeros_bottom = 0, zeros_left = 0, zeros_right = 0;
};

/// Repeated pixels: the source of each output row and column.
struct PortableNearest {
  int x = -1, y = -1;
  std::vector<int64_t> rows, cols;
};

/// Results by quantized value, from `quant.low` of x on.
struct PortableTable {
  int x = -1, y = -1;
  std::vector<float> results;  ///< quantized values if y is quantized
};

/// Sum over the pixels of an image, divided.
struct PortableImageSum {
  int x = -1, y = -1;
  double divisor = 1;
};

/// Softmax over the channels.
struct PortableSoftmax {
  int x = -1, y = -1;
};

/// A step without a portable form.
struct PortableUnknown {
  std::string reason;
};

struct PortableStep {
  std::string layer;  ///< name, or empty
  std::string op;
  std::variant<PortableLinear, PortableEvaluate, PortablePool, PortableNearest,
               PortableTable, PortableImageSum, PortableSoftmax,
               PortableUnknown>
      what;
};

struct PortableProgram {
  std::vector<PortableBuffer> buffers;
  std::vector<PortableStep> steps;
  std::vector<int> inputs, outputs;  ///< buffers
};

/// While it exists, the last program that this thread compiles
/// (Model::compile) is recorded with its weights.
class ProgramRecorder {
 public:
  ProgramRecorder();
  ~ProgramRecorder();
  ProgramRecorder(const ProgramRecorder&) = delete;
  ProgramRecorder& operator=(const ProgramRecorder&) = delete;

  PortableProgram program;

 private:
  ProgramRecorder* before_;
};

/// Returns the recorder of this thread, or null.
ProgramRecorder* active_recorder();

}  // namespace octet::detail
