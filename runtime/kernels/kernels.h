// Inner loops, as one function table per instruction set. The sources (*.inl)
// use GCC vector extensions and are compiled once for each set; isa.cpp selects
// the table. Kernels do not check their arguments.
//
// Quantized values `q` ("codes" in names) are integers of at most 8 bits with
// zero point 0: real value = scale * q.
//
// Reproducibility: every output is one sequential chain of multiply-adds over
// k, and every per-channel sum one chain over pixels, so results depend neither
// on tile shapes nor on the vector width. AVX2 and AVX-512 agree bit for bit;
// the baseline has no fused multiply-add and rounds once more.
#pragma once

#include <cstdint>

#include "epilogue.h"

namespace octet::kernels {

/// out[row][col][k] = sum over segments s and steps i of
///   image[row*line + col*pixel + segments[s] + i] * weights[s*steps + i][k]
template <class Element>
struct ProductOf {
  const Element* image = nullptr;
  const int64_t* segments = nullptr;
  int64_t segment_count = 0;
  int64_t steps = 0;
  int64_t pixel = 0;
  int64_t line = 0;
  const Element* weights = nullptr;  // packed panels
  int64_t panel_rows = 0;            // rows of each panel
  int64_t first_row = 0;             // first row of the sum
  int64_t rows = 0, cols = 0, channels = 0;
};
using Product = ProductOf<float>;

/// Quantized values of neighboring channels, multiplied by one instruction.
/// Their number and layout depend on the instruction set (see int8_gemm.inl).
using CodeWord = int32_t;
inline constexpr int kMostCodesPerWord = 4;

/// The same sums of quantized values, exact. The epilogue cannot resume or
/// mask.
struct CodeProduct : ProductOf<CodeWord> {
  const int32_t* start = nullptr;  // [channels]: initial values of the sums
};

/// Weight matrices [rows][channels], stacked along rows, and the packed result.
struct WeightPanels {
  const float* const* blocks = nullptr;
  int64_t block_count = 0;
  int64_t rows = 0, channels = 0;
  int64_t row = 0;          // floats between neighboring rows
  bool transposed = false;  // a single matrix [channels][rows]; row: channels
  float* out = nullptr;     // packed_size(block_count * rows, channels)
};

/// A quantized matrix [taps][c][channels] and the packed result.
struct CodePanels {
  const float* codes = nullptr;
  int64_t taps = 0, c = 0, channels = 0;
  int64_t row = 0;           // floats between neighboring c
  int zero_byte = 128;       // of the activations
  CodeWord* out = nullptr;   // packed_size(taps * words(c), channels)
  int32_t* start = nullptr;  // packed_size(1, channels)
};

/// out[s*steps + i][k] += sum over row, col of
///   image[row*line + col*pixel + segments[s] + i] * dz[row][col][k]
struct WeightGradient {
  const float* image = nullptr;
  const int64_t* segments = nullptr;
  int64_t segment_count = 0;
  int64_t steps = 0;
  int64_t pixel = 0;
  int64_t line = 0;
  const float* dz = nullptr;
  int64_t dz_pixel = 0;
  int64_t dz_line = 0;
  int64_t rows = 0, cols = 0, channels = 0;
  float* out = nullptr;
  int64_t out_row = 0;  // floats between rows of out
};

/// out[row][col][c] = sum over taps t of
///   image[row*line + col*pixel + taps[t] + c] * weights[t][c]
struct Depthwise {
  const float* image = nullptr;
  const int64_t* taps = nullptr;
  int64_t tap_count = 0;
  int64_t pixel = 0;
  int64_t line = 0;
  const float* weights = nullptr;  // [tap_count][channels]
  int64_t rows = 0, cols = 0, channels = 0;
};

/// out[t][c] += sum over row, col of
///   image[row*line + col*pixel + taps[t] + c] * dz[row][col][c]
struct DepthwiseGradient {
  const float* image = nullptr;
  const int64_t* taps = nullptr;
  int64_t tap_count = 0;
  int64_t pixel = 0;
  int64_t line = 0;
  const float* dz = nullptr;
  int64_t dz_pixel = 0;
  int64_t dz_line = 0;
  int64_t rows = 0, cols = 0, channels = 0;
  float* out = nullptr;  // [tap_count][channels]
};

/// Depthwise convolution of quantized values in the format CodeTable::form:
///   out[row][col][c] = start[c] + sum over i < kh and j < kw of
///     image[row*stride_h + i*dilation_h][col*stride_w + j*dilation_w][c]
///       * q[i][j][c]
struct CodeDepthwise {
  /// Outputs per tile in a line; upper bounds of the input lines of a tile
  /// (rounded up to whole words) and of its input columns.
  static constexpr int kCols = 8;
  static constexpr int64_t kMostLines = 32;
  static constexpr int64_t kMostColumns = 64;

  const void* image = nullptr;
  int64_t lines = 0;            // readable lines of the image
  int64_t pixel = 0, line = 0;  // strides of the image, in quantized values
  int64_t stride_h = 1, stride_w = 1;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t kw = 0;
  /// [groups][lines_packed][kw][weight_row] words. A word packs neighboring
  /// kernel rows, for the first of two output lines and (lines_packed == 2:
  /// stride_h and dilation_h are 1) for the second.
  const CodeWord* weights = nullptr;
  int64_t lines_packed = 1;
  int64_t weight_row = 0;          // channels, padded with zeros
  int64_t groups[2] = {};          // for one output line and for two
  const int32_t* start = nullptr;  // [weight_row]: initial values of the sums
  int64_t rows = 0, cols = 0, channels = 0;
};

struct MaxPool {
  const float* image = nullptr;  // [h][w][c]
  int64_t h = 0, w = 0, c = 0;
  int64_t kh = 0, kw = 0, stride_h = 0, stride_w = 0, top = 0, left = 0;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t oh = 0, ow = 0;
  float* out = nullptr;      // [oh][ow][c]
  uint8_t* index = nullptr;  // [oh][ow][c]: kh*KW + kw of the largest, or null
};

/// dx[pixel][c] = sum of the gradients of all outputs whose maximum the pixel
/// is.
struct MaxPoolGradient {
  MaxPool sizes;                   // pointers unused
  const float* dy = nullptr;       // [oh][ow][c]
  const uint8_t* index = nullptr;  // index of the forward pass
  float* dx = nullptr;             // [h][w][c]
};

/// Max pooling of quantized values, which have the order of the real values.
/// Strides are in elements.
struct CodePool {
  MaxPool sizes;  // pointers unused; c: elements per pixel, whole words
  const void* image = nullptr;
  int64_t pixel = 0, line = 0;
  void* out = nullptr;  // output row `first`
  int64_t out_pixel = 0, out_line = 0;
  int64_t first = 0, last = 0;  // output rows
};

/// Quantizes a matrix [rows][channels] with one scale per channel.
struct ChannelQuantizeArgs {
  const float* x = nullptr;
  const float* scale = nullptr;  // [channels]
  int64_t rows = 0, channels = 0;
  float low = 0, high = 0;
  bool real = false;     // store scale * q instead of q
  float* out = nullptr;  // [rows][channels]
};

/// Masks a gradient matrix [rows][channels]: passes g if x is strictly between
/// the bounds of its column, otherwise 0.
struct ColumnPass {
  const float* g = nullptr;
  const float* x = nullptr;
  const float* low = nullptr;  // [channels], like high
  const float* high = nullptr;
  int64_t rows = 0, channels = 0;
  float* out = nullptr;
};

/// Gradient of a learned scale per column of a matrix [rows][channels]: adds
/// the products of g and slope to the sum of the column. The slope is `between`
/// * (q - x/scale) inside the range (low, high), and q at and beyond its ends.
struct ColumnSlopes {
  const float* g = nullptr;
  const float* x = nullptr;
  const float* scale = nullptr;  // [channels]
  int64_t rows = 0, channels = 0;
  int64_t stride = 0;  // floats between rows
  float low = 0, high = 0;
  float between = 1;
  double* sums = nullptr;  // [channels]
};

/// y = softmax(scale * x) of each row, with exponentials within 1.2e-7 of the
/// exact value. NaN propagates to the whole row.
struct SoftmaxRows {
  const float* x = nullptr;
  float* y = nullptr;  // may be x
  int64_t rows = 0, n = 0;
  int64_t row = 0;  // floats between rows of x and of y
  float scale = 1;  // positive and finite
};

/// Mean of a row as sum of two floats, and 1 / sqrt(variance + epsilon). A mean
/// rounded to a single float would shift every result.
struct RowMoments {
  float high, low, factor;

  float normalized(float x) const { return ((x - high) - low) * factor; }
};

/// y = gamma * normalized(x) + beta for each row.
struct NormalizedRows {
  const float* x = nullptr;      // [rows][n]
  const float* gamma = nullptr;  // [n]
  const float* beta = nullptr;   // [n]
  int64_t rows = 0, n = 0;
  float epsilon = 0;
  float* y = nullptr;             // [rows][n]
  RowMoments* moments = nullptr;  // [rows], or null
};

/// Kernels on quantized values. Weights are in [-128, 127]; activations in any
/// 256 consecutive integers that include 0, or in 7 bits (see zero_byte()).
/// Sums are exact if they fit in 32 bits.
struct CodeTable {
  int64_t codes_per_word;  // of one pixel; zeros fill the last word
  StorageFormat form;      // bytes or shorts
  bool seven_bits;         // activations must be in [0, 127]
  int64_t panel;           // channels per panel of pack()
  /// Evaluates a quantized expression into words (ignores Evaluation::out and
  /// factor). Returns false if a value is NaN, or negative although seven_bits
  /// is set.
  bool (*evaluate)(const Evaluation&, CodeWord* out);
  void (*multiply)(const CodeProduct&, const Epilogue&);
  void (*depthwise)(const CodeDepthwise&, const Epilogue&);
  /// Returns false if a weight is NaN.
  bool (*pack)(const CodePanels&);
  void (*max_pool)(const CodePool&);
  /// Applies a fused epilogue to sums [pixels][channels]; null without
  /// FusedEpilogue::multiplier.
  void (*finish)(const int32_t* sums, int64_t pixels, int channels,
                 const Epilogue&);

  /// Returns the number of words of c channels.
  int64_t words(int64_t c) const {
    return (c + codes_per_word - 1) / codes_per_word;
  }
};

struct Table {
  void (*evaluate)(const Evaluation&);
  void (*multiply)(const Product&, const Epilogue&);
  void (*weight_gradient)(const WeightGradient&);
  void (*depthwise)(const Depthwise&, const Epilogue&);
  void (*depthwise_gradient)(const DepthwiseGradient&);
  /// out = masked(in + others), with sums.
  void (*mask)(float* out, const float* in, int64_t pixels,
               const GradientMask& mask);
  void (*accumulate)(float* out, const float* in, int64_t n);
  void (*max_pool)(const MaxPool&);
  void (*max_pool_gradient)(const MaxPoolGradient&);
  void (*activate)(const Activation&);
  /// top[k] = largest magnitude of column k, or NaN if the column contains NaN.
  void (*absmax_columns)(float* top, const float* x, int64_t rows,
                         int64_t channels);
  void (*quantize_columns)(const ChannelQuantizeArgs&);
  void (*pass_columns)(const ColumnPass&);
  void (*add_slopes)(const ColumnSlopes&);
  /// Sets the derived fields of the epilogue.
  void (*prepare)(FusedEpilogue&);
  /// Returns the number of floats of packed [rows][channels] weights.
  int64_t (*packed_size)(int64_t rows, int64_t channels);
  void (*pack)(const WeightPanels&);
  void (*softmax)(const SoftmaxRows&);
  void (*normalize)(const NormalizedRows&);
  /// to[i] = table[from[i]], table of 256 bytes.
  void (*look_up)(const uint8_t* table, const uint8_t* from, uint8_t* to,
                  int64_t n);
  CodeTable codes;
  /// A faster table with seven_bits and another storage format, or null.
  const CodeTable* small_codes = nullptr;

  /// Returns the table with this storage format.
  const CodeTable& codes_in(StorageFormat form) const {
    const bool small = small_codes != nullptr && small_codes->form == form;
    return small ? *small_codes : codes;
  }
};

extern const Table kBaseline;
#ifdef OCTET_X86
extern const Table kAvx2;
extern const CodeTable kAvx2SmallCodes;
extern const Table kAvx512;
extern const CodeTable kAvxVnniCodes;     // extends kAvx2
extern const CodeTable kAvx512VnniCodes;  // extends kAvx512
/// CodeTable::multiply() by AMX, in the layout of kAvx512VnniCodes.
void multiply_codes_amx(const CodeProduct&, const Epilogue&);
#endif

/// Returns the table of the active instruction set.
const Table& table();

}  // namespace octet::kernels
