#include "preprocess.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include <octet/io/image.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

void check_numbers(std::string_view what, const std::vector<float>& numbers,
                   int64_t channels) {
  const int64_t count = std::ssize(numbers);
  if (count != 1 && count != channels) {
    throw ValueError(
        "count_mismatch", fmt::format("preprocess {}", what),
        fmt::format("must have one value or one per channel ({}), got {}",
                    channels, count));
  }
  for (const float x : numbers) {
    if (std::isfinite(x)) continue;
    throw ValueError("not_finite", fmt::format("preprocess {}", what),
                     "must be finite");
  }
}

/// Returns a value per channel.
std::vector<float> each_of(const std::vector<float>& numbers, size_t channels) {
  return numbers.size() == channels ? numbers
                                    : std::vector<float>(channels, numbers[0]);
}

template <class Number>
void apply(const Number* from, float* to, int64_t pixels, size_t channels,
           const Preprocess& preprocess) {
  const std::vector<float> mean = each_of(preprocess.mean, channels);
  const std::vector<float> scale = each_of(preprocess.scale, channels);
  for (int64_t i = 0; i < pixels; ++i, from += channels, to += channels) {
    for (size_t k = 0; k < channels; ++k) {
      const Number x = from[preprocess.bgr ? channels - 1 - k : k];
      to[k] = (static_cast<float>(x) - mean[k]) * scale[k];
    }
  }
}

/// Parses "0.485,0.456,0.406" with values in [least, most].
std::vector<float> numbers_of(std::string_view list, std::string_view what,
                              float least, float most) {
  std::vector<float> numbers;
  for (bool more = true; more;) {
    const size_t end = std::min(list.find(','), list.size());
    const std::string_view word = list.substr(0, end);
    float number = 0;
    const char* last = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), last, number);
    // The negated condition also rejects NaN.
    if (error != std::errc() || rest != last ||
        !(number >= least && number <= most)) {
      throw ValueError(
          "out_of_range", fmt::format("preprocess {}", what),
          fmt::format(
              "must be numbers from {:g} to 1, got '{}'. Hint: MEAN/STD refer "
              "to values in [0,1]; divide those of bytes by 255",
              least, printable(word, 40)));
    }
    numbers.push_back(number);
    more = end < list.size();
    list.remove_prefix(more ? end + 1 : end);
  }
  return numbers;
}

Preprocess mean_and_deviation(std::string_view name, size_t slash) {
  constexpr float kSmallest = 1e-3f;  // below 1/255: deviations of bytes
  Preprocess result;
  result.mean = numbers_of(name.substr(0, slash), "mean", 0, 1);
  result.scale = numbers_of(name.substr(slash + 1), "deviation", kSmallest, 1);
  if (result.mean.size() != result.scale.size() && result.mean.size() != 1 &&
      result.scale.size() != 1) {
    throw ValueError(
        "count_mismatch", "preprocess",
        fmt::format(
            "MEAN and STD must have the same number of values, got '{}'",
            printable(name, 80)));
  }
  for (float& mean : result.mean) mean *= 255;
  for (float& scale : result.scale) scale = 1 / (255 * scale);
  return result;
}

}  // namespace

void check_preprocess(const Preprocess& preprocess, int64_t channels) {
  check_numbers("mean", preprocess.mean, channels);
  check_numbers("scale", preprocess.scale, channels);
  if (preprocess.bgr && channels != 3) {
    throw ValueError(
        "invalid_value", "preprocess bgr",
        fmt::format("needs images of 3 channels, got {}", channels));
  }
}

Preprocess preprocess_mode(std::string_view name) {
  if (name == "unit") return {};
  if (name == "none") return {.scale = {1}};
  if (name == "tf") return {.mean = {127.5f}, .scale = {1 / 127.5f}};
  if (name == "torch") {
    return {
        .mean = {255 * 0.485f, 255 * 0.456f, 255 * 0.406f},
        .scale = {1 / (255 * 0.229f), 1 / (255 * 0.224f), 1 / (255 * 0.225f)}};
  }
  if (name == "caffe") {
    return {.mean = {103.939f, 116.779f, 123.68f}, .scale = {1}, .bgr = true};
  }
  const size_t slash = name.find('/');
  if (slash != std::string_view::npos) return mean_and_deviation(name, slash);
  const std::vector<std::string> names{"unit", "none", "tf", "torch", "caffe"};
  throw ValueError(
      "invalid_value", "preprocess",
      fmt::format("must be a mode or MEAN/STD, got '{}'{}", printable(name, 80),
                  suggest_names(name, names)));
}

Tensor preprocess_input(const Tensor& images, const Preprocess& preprocess) {
  if (images.empty() || images.shape().rank() < 1) {
    throw ShapeError("invalid_shape", "preprocess",
                     "images must have shape [...,c]");
  }
  const int64_t channels = images.shape()[-1];
  check_preprocess(preprocess, channels);
  Tensor result(images.shape());
  const int64_t pixels = channels == 0 ? 0 : images.size() / channels;
  const auto c = static_cast<size_t>(channels);
  if (images.dtype() == DType::u8) {
    apply(images.data<uint8_t>().data(), result.f32().data(), pixels, c,
          preprocess);
  } else if (images.dtype() == DType::f32) {
    apply(images.f32().data(), result.f32().data(), pixels, c, preprocess);
  } else {
    throw ValueError("dtype_mismatch", "preprocess",
                     fmt::format("images must be u8 or f32, got {}",
                                 to_string(images.dtype())));
  }
  return result;
}

Tensor preprocess_input(const Tensor& images, std::string_view mode) {
  return preprocess_input(images, preprocess_mode(mode));
}

}  // namespace octet::io
