#include "matrices.h"

#include <algorithm>

namespace octet {
namespace {

// A panel of this many rows fits in the second-level cache.
constexpr int64_t kBlock = 512;
constexpr int64_t kFirst = 0;  // the only segment of a plain matrix

}  // namespace

int64_t row_chunks(int64_t rows) {
  return std::clamp<int64_t>(rows / 16, 1, 16);
}

int64_t chunks_of_rows(int64_t count, int64_t rows) {
  return count >= 16 ? 1 : row_chunks(rows);
}

void multiply_rows(const MatrixRows& a, int64_t depth, const float* panels,
                   int64_t channels, const kernels::Epilogue& last) {
  for (int64_t at = 0; at < depth; at += kBlock) {
    const bool done = at + kBlock >= depth;
    kernels::Product product;
    product.image = a.values + at;
    product.segments = &kFirst;
    product.segment_count = 1;
    product.steps = std::min(kBlock, depth - at);
    product.pixel = a.stride;
    product.weights = panels;
    product.panel_rows = depth;
    product.first_row = at;
    product.rows = 1;
    product.cols = a.count;
    product.channels = channels;
    kernels::Epilogue epilogue = last;
    if (!done) {
      epilogue.rescale = nullptr;
      epilogue.statistics = nullptr;
      epilogue.mask = nullptr;
    }
    epilogue.resume = at > 0;
    if (epilogue.pixel == 0) epilogue.pixel = channels;
    kernels::table().multiply(product, epilogue);
  }
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
