#include "matrices.h"

#include <algorithm>

namespace octet {
namespace {

// A panel of this many rows stays in the second-level cache.
constexpr int64_t kBlock = 512;
constexpr int64_t kFirst = 0;  // the one segment of a plain matrix

// a[rows][depth] * panels as a product of images.
template <class P, class Element>
P matrix_product(const Element* a, int64_t rows, int64_t depth,
                 const Element* panels, int64_t channels) {
  P product;
  product.image = a;
  product.segments = &kFirst;
  product.segment_count = 1;
  product.steps = depth;
  product.pixel = depth;
  product.weights = panels;
  product.panel_rows = depth;
  product.rows = 1;
  product.cols = rows;
  product.channels = channels;
  return product;
}

}  // namespace

int64_t row_chunks(int64_t rows) {
  return std::clamp<int64_t>(rows / 16, 1, 16);
}

void multiply_rows(const float* a, int64_t rows, int64_t depth,
                   const float* panels, int64_t channels,
                   const kernels::Epilogue& last) {
  for (int64_t at = 0; at < depth; at += kBlock) {
    const bool done = at + kBlock >= depth;
    auto product =
        matrix_product<kernels::Product>(a, rows, depth, panels, channels);
    product.image += at;
    product.steps = std::min(kBlock, depth - at);
    product.first_row = at;
    kernels::Epilogue epilogue = last;
    if (!done) {
      epilogue.rescale = nullptr;
      epilogue.statistics = nullptr;
      epilogue.mask = nullptr;
    }
    epilogue.resume = at > 0;
    epilogue.pixel = channels;
    kernels::table().multiply(product, epilogue);
  }
}

void multiply_code_rows(const kernels::CodeWord* a, int64_t rows, int64_t words,
                        const std::vector<Tensor>& panels, int64_t channels,
                        kernels::Epilogue e) {
  auto product = matrix_product<kernels::CodeProduct>(
      a, rows, words, panels[0].data<int32_t>().data(), channels);
  product.start = panels[1].data<int32_t>().data();
  e.pixel = channels;
  kernels::table().codes.multiply(product, e);
}

void multiply_columns(const float* a, int64_t rows, int64_t columns,
                      int64_t a_pixel, const float* b, int64_t channels,
                      float* out) {
  kernels::WeightGradient call;
  call.image = a;
  call.segments = &kFirst;
  call.segment_count = 1;
  call.steps = columns;
  call.pixel = a_pixel;
  call.dz = b;
  call.dz_pixel = channels;
  call.rows = 1;
  call.cols = rows;
  call.channels = channels;
  call.out = out;
  call.out_row = channels;
  kernels::table().weight_gradient(call);
}

}  // namespace octet
