#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/detail/shape_hint.h>

namespace octet {
namespace {

/// Whether `given` matches `wanted`, in which kAnySize matches any size.
bool fits(std::span<const int64_t> given, std::span<const int64_t> wanted) {
  return std::ranges::equal(given, wanted, [](int64_t size, int64_t expected) {
    return expected == Shape::kAnySize || size == expected;
  });
}

std::vector<int64_t> without_ones(std::span<const int64_t> dims) {
  std::vector<int64_t> kept;
  std::ranges::copy_if(dims, std::back_inserter(kept),
                       [](int64_t dim) { return dim != 1; });
  return kept;
}

/// Whether an image with permuted axes matches.
bool fits_moved(std::span<const int64_t> image, std::span<const int64_t> wanted,
                std::span<const int> order) {
  const int64_t moved[] = {image[static_cast<size_t>(order[0])],
                           image[static_cast<size_t>(order[1])],
                           image[static_cast<size_t>(order[2])]};
  return fits(moved, wanted);
}

bool has_open_size(std::span<const int64_t> dims) {
  return std::ranges::count(dims, Shape::kAnySize) > 0;
}

std::atomic<HintStyle> style{HintStyle::cpp};

bool for_numpy() { return hint_style() == HintStyle::command_line; }

/// Code that reshapes `x` to [n] and the sizes of `sample`.
std::string reshape_text(std::string_view x, int64_t n,
                         std::span<const int64_t> sample) {
  return for_numpy()
             ? fmt::format("{}.reshape({}{}{})", x, n,
                           sample.empty() ? "" : ", ", fmt::join(sample, ", "))
             : fmt::format("{}.reshaped({{{}{}{}}})", x, n,
                           sample.empty() ? "" : ",", fmt::join(sample, ","));
}

std::string transpose_text(std::string_view x, std::string_view order) {
  return for_numpy() ? fmt::format("{}.transpose({})", x, order)
                     : fmt::format("{}.transposed({{{}}})", x, order);
}

}  // namespace

HintStyle hint_style() { return style.load(); }
void set_hint_style(HintStyle chosen) { style.store(chosen); }

ShapeSlip slip_of(const Shape& given, const Shape& wanted) {
  if (wanted.rank() < 1 || given.rank() < 1 || has_open_size(given.dims())) {
    return ShapeSlip::none;
  }
  const auto sample = wanted.dims().subspan(1);
  const auto one = given.dims().subspan(1);
  if (fits(one, sample)) return ShapeSlip::none;
  if (one.size() == 3 && sample.size() == 3) {
    constexpr int kToLast[] = {1, 2, 0}, kToFirst[] = {2, 0, 1};
    if (fits_moved(one, sample, kToLast)) return ShapeSlip::channels_first;
    if (fits_moved(one, sample, kToFirst)) return ShapeSlip::channels_last;
  }
  if (fits(given.dims(), sample)) return ShapeSlip::no_samples_axis;
  if (!has_open_size(sample)) {
    const std::vector<int64_t> sizes = without_ones(sample);
    if (without_ones(given.dims()) == sizes) return ShapeSlip::no_samples_axis;
    if (without_ones(one) == sizes) return ShapeSlip::no_channels_axis;
    const bool vectors = one.size() == 1 && sample.size() > 1;
    if (vectors && Shape(sample).size() == one[0]) return ShapeSlip::flattened;
  }
  return std::ranges::is_permutation(one, sample) ? ShapeSlip::another_order
                                                  : ShapeSlip::none;
}

std::string shape_hint(const Shape& given, const Shape& wanted,
                       std::string_view x) {
  switch (slip_of(given, wanted)) {
    case ShapeSlip::none:
      return "";
    case ShapeSlip::no_samples_axis: {
      const auto sample = wanted.dims().subspan(1);
      return fmt::format(
          ". Hint: add the batch dimension: {}",
          reshape_text(x, 1, has_open_size(sample) ? given.dims() : sample));
    }
    case ShapeSlip::no_channels_axis:
      return fmt::format(". Hint: {}",
                         reshape_text(x, given[0], wanted.dims().subspan(1)));
    case ShapeSlip::flattened:
      return fmt::format(". Hint: if the vectors are flattened samples, {}",
                         reshape_text(x, given[0], wanted.dims().subspan(1)));
    case ShapeSlip::channels_first:
      return fmt::format(
          ". Hint: convert the images from channels-first (NCHW) to "
          "channels-last (NHWC): {}",
          transpose_text(x, "0,2,3,1"));
    case ShapeSlip::channels_last:
      return fmt::format(
          ". Hint: convert the images from channels-last (NHWC) to "
          "channels-first (NCHW): {}",
          transpose_text(x, "0,3,1,2"));
    case ShapeSlip::another_order:
      return fmt::format(
          ". Hint: transpose to the expected order: {}",
          transpose_text(
              x,
              fmt::format("{}", fmt::join(transposition(given, wanted), ","))));
  }
  return "";
}

std::vector<int> transposition(const Shape& given, const Shape& wanted) {
  if (given.rank() != wanted.rank() || given.rank() < 3 ||
      has_open_size(given.dims().subspan(1)) ||
      fits(given.dims().subspan(1), wanted.dims().subspan(1))) {
    return {};
  }
  const auto fits_in = [&](const std::vector<int>& order) {
    for (int i = 1; i < wanted.rank(); ++i) {
      const int64_t size = given[order[static_cast<size_t>(i)]];
      if (wanted[i] != Shape::kAnySize && wanted[i] != size) return false;
    }
    return true;
  };
  std::vector<int> order(static_cast<size_t>(given.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::vector<int> to_last = order, to_first = order;
  std::rotate(to_last.begin() + 1, to_last.begin() + 2, to_last.end());
  std::rotate(to_first.begin() + 1, to_first.end() - 1, to_first.end());
  if (fits_in(to_last)) return to_last;
  if (fits_in(to_first)) return to_first;
  while (std::next_permutation(order.begin() + 1, order.end())) {
    if (fits_in(order)) return order;
  }
  return {};
}

std::string label_shape_hint(const Shape& given, const Shape& wanted,
                             std::string_view labels) {
  const std::vector<int> order = transposition(given, wanted);
  if (!order.empty()) {
    return fmt::format(
        ". Hint: transpose to the expected order: {}",
        transpose_text(labels, fmt::format("{}", fmt::join(order, ","))));
  }
  if (given.rank() < 1 || wanted.rank() < 1) return "";
  const auto one = given.dims().subspan(1), sample = wanted.dims().subspan(1);
  if (has_open_size(one) || has_open_size(sample) ||
      Shape(one).size() != Shape(sample).size()) {
    return "";
  }
  return fmt::format(
      ". Hint: if the values are in the order of the outputs, {}",
      given[0] == Shape::kAnySize
          ? fmt::format("{}.reshaped({{n{}{}}})", labels,
                        sample.empty() ? "" : ",", fmt::join(sample, ","))
          : reshape_text(labels, given[0], sample));
}

}  // namespace octet
