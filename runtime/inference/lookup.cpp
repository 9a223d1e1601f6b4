#include "lookup.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <octet/runtime/parallel.h>

namespace octet::inference {
namespace {

using autograd::ExpressionEvaluator;
using autograd::OutputKind;
using kernels::StorageFormat;

constexpr int kBytes = 256;

// Quantized values, the first of each word.
std::vector<char> packed_results(const autograd::Expression& e,
                                 const Storage& output) {
  const kernels::CodeTable& table = kernels::table().codes_in(output.form);
  std::vector<kernels::CodeWord> words(kBytes);
  const ExpressionEvaluator consumer(e, OutputKind::real);
  if (!consumer.read_codes({0, 0, 1}, {}, table, words.data())) return {};
  std::vector<char> result(static_cast<size_t>(kBytes * output.element));
  for (size_t i = 0; i < words.size(); ++i) {
    const auto size = static_cast<size_t>(output.element);
    std::memcpy(result.data() + i * size, &words[i], size);
  }
  return result;
}

}  // namespace

autograd::Expression activated(autograd::Expression e,
                               const kernels::Activation& f, Tensor& values) {
  const QuantParams qparams = std::exchange(e.qparams, {});
  float* to = values.f32().data();
  const ExpressionEvaluator reader(e, OutputKind::real);
  const int64_t c = reader.images().c;
  parallel_chunks(values.size() / c, [&](int64_t first, int64_t last, int64_t) {
    reader.read_pixels(first, last, to + first * c);
  });
  parallel_chunks(values.size(), [&](int64_t first, int64_t last, int64_t) {
    kernels::Activation call = f;
    call.x = to + first;
    call.out = to + first;
    call.n = last - first;
    kernels::table().activate(call);
  });
  autograd::Expression result = autograd::expression_of(values, nullptr);
  result.qparams = qparams;
  return result;
}

std::vector<char> Lookup::tabulate(int zero_byte, const Storage& output) const {
  Tensor x({1, kBytes, 1});
  const float scale = of_x.scale.item();
  for (int i = 0; i < kBytes; ++i) {
    const int q = std::clamp(i - zero_byte, of_x.low, of_x.high);
    x.f32()[static_cast<size_t>(i)] = static_cast<float>(q) * scale;
  }
  autograd::Expression all = e;
  all.shape = x.shape();
  all.first.t = x;
  Tensor values(x.shape());
  if (function) all = activated(all, *function, values);
  if (output.form == StorageFormat::bytes ||
      output.form == StorageFormat::shorts) {
    return packed_results(all, output);
  }
  const ExpressionEvaluator consumer(
      all, output.form == StorageFormat::float_codes ? OutputKind::codes
                                                     : OutputKind::real);
  std::vector<float> results(kBytes);
  consumer.read({0, 0, 1}, {}, results.data());
  if (std::ranges::any_of(results, [](float v) { return std::isnan(v); })) {
    return {};
  }
  std::vector<char> result(results.size() * sizeof(float));
  std::memcpy(result.data(), results.data(), result.size());
  return result;
}

}  // namespace octet::inference
