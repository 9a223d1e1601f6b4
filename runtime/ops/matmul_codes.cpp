#include "matmul_codes.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <octet/runtime/parallel.h>

#include "matrices.h"
#include "tensor/byte_codes.h"
#include "weights.h"

namespace octet {
namespace {

using autograd::Expression;
using autograd::ExpressionEvaluator;
using autograd::OutputKind;
using kernels::CodeTable;
using kernels::CodeWord;

int64_t pixels_of(const ExpressionEvaluator& reader) {
  const autograd::ImageShape& images = reader.images();
  return images.n * images.h * images.w;
}

// Transposes [...,k,m] to [...,m,k]; returns quantized values with the same
// parameters.
Expression transposed(const Expression& a) {
  Expression e =
      autograd::expression_of(transpose_matrices(float_codes_of(a)), nullptr);
  e.first.nonnegative = autograd::nonnegative(a);
  e.qparams = {
      .scale = Tensor::scalar(1), .low = a.qparams.low, .high = a.qparams.high};
  return e;
}

// Packs a to [rows][words]; empty if there is NaN.
Tensor words_of(const Expression& a, const CodeTable& table) {
  ExpressionEvaluator reader(a, OutputKind::codes);
  const int64_t words = table.words(a.shape[-1]);
  const int64_t rows = pixels_of(reader);
  Tensor result({rows, words}, DType::i32);
  CodeWord* to = result.data<CodeWord>().data();
  std::atomic<bool> done = true;
  parallel_chunks(rows, [&](int64_t first, int64_t last, int64_t) {
    if (!reader.pixel_codes(first, last, table, to + first * words)) {
      done = false;
    }
  });
  if (!done) return {};
  reader.commit();
  return result;
}

// Packs each matrix of b to words and initial sums; empty if there is NaN.
std::pair<Tensor, Tensor> pack_right(const Expression& b, const MatrixPairs& p,
                                     bool transpose, const CodeTable& table,
                                     int zero) {
  const Tensor codes = float_codes_of(b);
  const int64_t count = codes.size() / (p.depth * p.n);
  const auto packed_size = kernels::table().packed_size;
  Tensor panels({count, packed_size(table.words(p.depth), p.n)}, DType::i32);
  Tensor starts({count, packed_size(1, p.n)}, DType::i32);
  CodeWord* to = panels.data<CodeWord>().data();
  int32_t* sums = starts.data<int32_t>().data();
  std::atomic<bool> done = true;
  for_right_matrices(codes, p, transpose, [&](int64_t i, const float* matrix) {
    if (!table.pack({.codes = matrix,
                     .taps = 1,
                     .c = p.depth,
                     .channels = p.n,
                     .row = p.n,
                     .zero_byte = zero,
                     .out = to + i * panels.shape()[1],
                     .start = sums + i * starts.shape()[1]})) {
      done = false;
    }
  });
  if (!done) return {};
  return {panels, starts};
}

}  // namespace

bool have_codes(const Expression& a, const Expression& b) {
  return is_byte_quantized(a) && is_byte_quantized(b) && fits_int8(b.qparams);
}

Tensor float_codes_of(const Expression& e) {
  Tensor codes(e.shape);
  float* to = codes.f32().data();
  ExpressionEvaluator reader(e, OutputKind::codes);
  parallel_chunks(pixels_of(reader), [&](int64_t first, int64_t last, int64_t) {
    reader.read_pixels(first, last, to + first * e.shape[-1]);
  });
  reader.commit();
  return codes;
}

float code_scale(const Expression& a, const Expression& b) {
  return b.qparams.scale.item() * a.qparams.scale.item();
}

bool multiply_quantized(const Expression& a, const Expression& b,
                        const MatrixPairs& p, const MatmulOptions& o,
                        Tensor& y) {
  const Expression left = o.transpose_a ? transposed(a) : a;
  const CodeTable& table = autograd::code_table_of(left);
  const Tensor rows = words_of(left, table);
  if (rows.empty()) return false;
  const auto [panels, starts] =
      pack_right(b, p, o.transpose_b, table, zero_byte(left.qparams, table));
  if (panels.empty()) return false;
  const Tensor rescale = Tensor::full({p.n}, code_scale(a, b));
  const int64_t words = table.words(p.depth);
  const auto* image = std::as_const(rows).data<CodeWord>().data();
  const auto* weights = std::as_const(panels).data<CodeWord>().data();
  const auto* sums = std::as_const(starts).data<int32_t>().data();
  float* out = y.f32().data();
  const int64_t chunks = chunks_of_rows(p.count(), p.m);
  constexpr int64_t kFirst = 0;  // the only segment of a row
  parallel_chunks(p.count() * chunks,
                  [&](int64_t first, int64_t last, int64_t) {
                    for (int64_t task = first; task < last; ++task) {
                      const size_t i = static_cast<size_t>(task / chunks);
                      const int64_t row = p.m * (task % chunks) / chunks;
                      const int64_t end = p.m * (task % chunks + 1) / chunks;
                      kernels::CodeProduct product;
                      product.image = image + (p.a[i] * p.m + row) * words;
                      product.segments = &kFirst;
                      product.segment_count = 1;
                      product.steps = words;
                      product.pixel = words;
                      product.weights = weights + p.b[i] * panels.shape()[1];
                      product.panel_rows = words;
                      product.rows = 1;
                      product.cols = end - row;
                      product.channels = p.n;
                      product.start = sums + p.b[i] * starts.shape()[1];
                      kernels::Epilogue epilogue;
                      epilogue.out = out + (task / chunks * p.m + row) * p.n;
                      epilogue.pixel = p.n;
                      epilogue.rescale = rescale.f32().data();
                      table.multiply(product, epilogue);
                    }
                  });
  return true;
}

}  // namespace octet
