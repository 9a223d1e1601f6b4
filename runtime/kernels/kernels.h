// The inner loops, one table of functions per instruction set. The sources
// (*.inl) are written once with GCC vector extensions and compiled once
// for each; isa.cpp picks the table. Kernels trust their arguments.
//
// Bits: every output is one sequential chain of multiply-adds over k, and
// every per-channel sum one chain over pixels, so the results depend neither
// on tile shapes nor on the vector width. AVX2 and AVX-512 agree bit for bit;
// the baseline has no fused multiply-add and rounds once more.
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
  float factor = 1;       // y = code * factor: the scale, or 1 for codes
  int zero_byte = 128;    // of code 0, where codes are bytes
  float* keep = nullptr;  // [h][w][c]: the value before Q, if wanted
  float* out = nullptr;   // [top+h+bottom][left+w+right][c]
  int64_t h = 0, w = 0, c = 0;
  int64_t top = 0, bottom = 0, left = 0, right = 0;
};

/// What happens to a gradient on its way through a pointwise expression: the
/// others' gradients are added, the value's interval masks, sums are taken.
struct GradientMask {
  const float* z = nullptr;  // first term's tensor
  const float* a = nullptr;  // the masked value is a*z + b per channel,
  const float* b = nullptr;
  const float* value = nullptr;   // or stored here if not null
  const float* second = nullptr;  // second term's tensor, or null
  const float* others = nullptr;  // gradients to add, or null
  float low = 0, high = 0;        // passes strictly between
  float* sums = nullptr;          // [3][channels]: g, g*z, g*second; or null
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

/// out = f(x), or dy * f'(x) if there is a dy; out may be dy.
struct Activation {
  Function function = Function::relu;
  float alpha = 0, beta = 0, gamma = 0;
  const float* x = nullptr;
  const float* dy = nullptr;
  float* out = nullptr;
  int64_t n = 0;
};

/// What is stored of a value. Codes lie as CodeTable::codes_per_word says.
enum class Stored {
  values,
  real,         ///< scale * code
  float_codes,  ///< codes as floats
  bytes,        ///< code + zero_byte in 8 bits: four a word
  shorts,       ///< codes in 16 bits: two a word
};

/// A place in an image that begins at `to`; pixels and lines lie so many
/// elements (floats, bytes or shorts) apart.
struct FusedOutput {
  Stored form = Stored::values;
  void* to = nullptr;
  int64_t pixel = 0, line = 0;
  float scale = 1, code_low = 0, code_high = 0;
  int zero_byte = 128;
  float inverse = 1, sure = 0;  // by Table::prepare()
};
inline constexpr int kMostFusedOutputs = 8;

/// In inference, what becomes of sums z before they reach memory:
///   terms == 0: z
///   terms == 1: clip(a*z + b)
///   terms == 2: clip(Q2(clip2(a*z + b)) + other), Q2 only if quantize2
/// `other` is as it was stored: values, real, bytes or shorts.
struct Fused {
  int terms = 0;
  const float* a = nullptr;  // [channels], as b
  const float* b = nullptr;
  float low2 = 0, high2 = 0;
  bool quantize2 = false;
  float scale2 = 1, code_low2 = 0, code_high2 = 0;
  Stored other_form = Stored::values;
  const void* other = nullptr;
  int64_t other_pixel = 0, other_line = 0;  // elements
  float other_scale = 1;
  int other_zero_byte = 128;
  float other_zero = -0.0f;  // is added to it: +0 makes +0 of -0
  float low = 0, high = 0;
  bool clips = true;   // else [low, high] holds all values, or outputs clip
  bool clips2 = true;  // else [low2, high2] holds all values
  int output_count = 0;
  FusedOutput outputs[kMostFusedOutputs];
  bool* nan = nullptr;  // set where one has no code
  /// Then f of that is stored: `activate` is the table's, or null.
  void (*activate)(const Activation&) = nullptr;
  Activation function;
};

struct Epilogue {
  float* out = nullptr;
  int64_t pixel = 0;                   // floats between neighbouring outputs
  int64_t line = 0;                    // and between rows
  bool resume = false;                 // continue the sums that out holds
  const float* rescale = nullptr;      // [channels] factor, or null
  float* statistics = nullptr;         // sums of each channel, and
  int64_t statistics_row = 0;          // this far on sums of squares
  const GradientMask* mask = nullptr;  // pointers laid out like out
  const Fused* fused = nullptr;        // then none of the others but rescale
  int64_t channel = 0;                 // of the fused image, where this begins
};

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
  int64_t panel_rows = 0;            // rows that each panel holds
  int64_t first_row = 0;             // where the sum starts in them
  int64_t rows = 0, cols = 0, channels = 0;
};
using Product = ProductOf<float>;

/// Integers of 8 bits of neighbouring channels, multiplied together. How many
/// and how they lie in it is a matter of the instruction set (see codes.inl).
using CodeWord = int32_t;

/// The same sums, exact, of the codes in words; what cannot be a Product's
/// epilogue: resume and mask.
struct CodeProduct : ProductOf<CodeWord> {
  const int32_t* start = nullptr;  // [channels]: what the sums start with
};

/// Matrices [rows][channels] of weights, one below the other, and where they
/// are packed to.
struct WeightPanels {
  const float* const* blocks = nullptr;
  int64_t block_count = 0;
  int64_t rows = 0, channels = 0;
  int64_t row = 0;       // floats between neighbouring rows
  float* out = nullptr;  // packed_size(block_count * rows, channels)
};

/// A matrix [taps][c][channels] of codes, and where it is packed to.
struct CodePanels {
  const float* codes = nullptr;
  int64_t taps = 0, c = 0, channels = 0;
  int64_t row = 0;           // floats between neighbouring c
  int zero_byte = 128;       // of what they are multiplied with
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

/// out[row][col][c] = start[c] + sum over i < kh and j < kw of
///   image[row*stride_h + i*dilation_h][col*stride_w + j*dilation_w][c]
///     * code[i][j][c]
/// of codes as CodeTable::form says.
struct CodeDepthwise {
  /// Outputs of a line that are computed together. Lines that they read,
  /// rounded up to whole words, and columns: as many at most.
  static constexpr int kCols = 8;
  static constexpr int64_t kMostLines = 32;
  static constexpr int64_t kMostColumns = 64;

  const void* image = nullptr;
  int64_t lines = 0;            // of the image, that may be read
  int64_t pixel = 0, line = 0;  // codes between neighbours of the image
  int64_t stride_h = 1, stride_w = 1;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t kw = 0;
  /// [groups][lines_packed][kw][weight_row] words: the codes of as many
  /// neighbouring kernel rows as a word holds, for the first of two lines of
  /// outputs and (lines_packed == 2: stride_h and dilation_h are 1) the second.
  const CodeWord* weights = nullptr;
  int64_t lines_packed = 1;
  int64_t weight_row = 0;          // channels, and zeros that fill words
  int64_t groups[2] = {};          // that one line of outputs takes, and two
  const int32_t* start = nullptr;  // [weight_row]: what sums start with
  int64_t rows = 0, cols = 0, channels = 0;
};

struct MaxPool {
  const float* image = nullptr;  // [h][w][c]
  int64_t h = 0, w = 0, c = 0;
  int64_t kh = 0, kw = 0, stride_h = 0, stride_w = 0, top = 0, left = 0;
  int64_t oh = 0, ow = 0;
  float* out = nullptr;      // [oh][ow][c]
  uint8_t* index = nullptr;  // [oh][ow][c]: kh*KW + kw of the largest, or null
};

/// dx[pixel][c] = sum of the gradients of the outputs that its value became.
struct MaxPoolGradient {
  MaxPool sizes;                   // but for its pointers
  const float* dy = nullptr;       // [oh][ow][c]
  const uint8_t* index = nullptr;  // as of the pool
  float* dx = nullptr;             // [h][w][c]
};

/// The pool of codes, which are ordered like the values. Rows of the image and
/// of the outputs lie so many elements apart, pixels sizes.c.
struct CodePool {
  MaxPool sizes;  // but for its pointers; c: bytes or shorts of a pixel
  const void* image = nullptr;
  int64_t line = 0;
  void* out = nullptr;  // of row `first`
  int64_t out_line = 0;
  int64_t first = 0, last = 0;  // rows of outputs
};

/// A matrix [rows][channels] rounded to a grid with one scale per channel.
struct ColumnGrid {
  const float* x = nullptr;
  const float* scale = nullptr;  // [channels]
  int64_t rows = 0, channels = 0;
  float low = 0, high = 0;
  bool real = false;     // scale * code, else the integers
  float* out = nullptr;  // [rows][channels]
};

/// A matrix [rows][channels] of gradients, of which those pass whose value lies
/// strictly between its column's bounds.
struct ColumnPass {
  const float* g = nullptr;
  const float* x = nullptr;
  const float* low = nullptr;  // [channels], as high
  const float* high = nullptr;
  int64_t rows = 0, channels = 0;
  float* out = nullptr;
};

/// A matrix [rows][channels] that was rounded to a grid whose scale, one for
/// each column, learns: adds g * slope to the column's sum, where the slope is
/// code - x/scale times `between` inside of the grid's ends, and the code at
/// and beyond them.
struct ColumnSlopes {
  const float* g = nullptr;
  const float* x = nullptr;
  const float* scale = nullptr;  // [channels]
  int64_t rows = 0, channels = 0;
  int64_t stride = 0;  // from row to row
  float low = 0, high = 0;
  float between = 1;
  double* sums = nullptr;  // [channels]
};

/// Arithmetic on codes, of weights from -128 to 127 and of what they are
/// multiplied with in any 256 integers that hold zero, or in 7 bits (see
/// zero_byte()): sums are exact as long as they fit in 32 bits.
struct CodeTable {
  int64_t codes_per_word;  // of one pixel; the last word is filled with zeros
  Stored form;             // bytes or shorts
  bool seven_bits;         // codes from 0 to 127 alone
  int64_t panel;           // channels that pack() keeps together
  /// Evaluates an expression that ends on a grid (see Evaluation; `out` and
  /// `factor` are not used) into words. False if there was a NaN, which has
  /// no code, or a negative code where there are seven bits.
  bool (*evaluate)(const Evaluation&, CodeWord* out);
  void (*multiply)(const CodeProduct&, const Epilogue&);
  void (*depthwise)(const CodeDepthwise&, const Epilogue&);
  /// False if there was a NaN.
  bool (*pack)(const CodePanels&);
  void (*max_pool)(const CodePool&);

  /// Words that the codes of c channels take.
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
  /// top[k] = largest magnitude of column k; NaN if it holds one.
  void (*absmax_columns)(float* top, const float* x, int64_t rows,
                         int64_t channels);
  void (*quantize_columns)(const ColumnGrid&);
  void (*pass_columns)(const ColumnPass&);
  void (*add_slopes)(const ColumnSlopes&);
  /// Fills in what is derived from the rest.
  void (*prepare)(Fused&);
  /// Floats that `rows` x `channels` weights take when packed.
  int64_t (*packed_size)(int64_t rows, int64_t channels);
  void (*pack)(const WeightPanels&);
  /// out[i] = exp(x[i] - shift) for x[i] <= shift, within 1.2e-7 of it.
  void (*exponentials)(float* out, const float* x, int64_t n, float shift);
  CodeTable codes;
  /// Of seven bits, where that is faster, or null: its form is another one.
  const CodeTable* small_codes = nullptr;

  /// That whose codes lie in this form.
  const CodeTable& codes_in(Stored form) const {
    const bool small = small_codes != nullptr && small_codes->form == form;
    return small ? *small_codes : codes;
  }
};

extern const Table kBaseline;
#ifdef OCTET_X86
extern const Table kAvx2;
extern const CodeTable kAvx2SmallCodes;
extern const Table kAvx512;
extern const CodeTable kAvxVnniCodes;     // the rest is kAvx2's
extern const CodeTable kAvx512VnniCodes;  // the rest is kAvx512's
/// CodeTable::multiply, of codes as kAvx512VnniCodes lays them out.
void multiply_codes_amx(const CodeProduct&, const Epilogue&);
#endif

/// Of the active instruction set.
const Table& table();

}  // namespace octet::kernels
