// Text form of a Resize.
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/image.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

constexpr std::array<std::pair<std::string_view, ResizeFilter>, 5> kFilters = {
    {{"bilinear", ResizeFilter::bilinear},
     {"antialias", ResizeFilter::antialias},
     {"bicubic", ResizeFilter::bicubic},
     {"keras-bicubic", ResizeFilter::keras_bicubic},
     {"nearest", ResizeFilter::nearest}}};

ResizeFilter filter_named(std::string_view word) {
  std::vector<std::string> names;
  for (const auto& [name, filter] : kFilters) {
    if (name == word) return filter;
    names.emplace_back(name);
  }
  throw ValueError(
      "invalid_value", "resize filter",
      fmt::format("must be bilinear (Keras), antialias (torchvision), bicubic, "
                  "keras-bicubic or nearest, got '{}'{}",
                  printable(word, 40), suggest_near(word, names)));
}

/// Parses a number that is the whole word.
template <class Number>
bool parse(std::string_view word, Number& number) {
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, number);
  return error == std::errc() && rest == end;
}

/// Parses "256" (pixels), "0.875" or "1" (ratio of the size), "aspect".
void set_crop(std::string_view value, Resize& resize) {
  resize.fit = ImageFit::center_crop;
  double ratio = 0;
  if (value == "aspect") {
    resize.fit = ImageFit::crop;
  } else if (parse(value, resize.resize_size) && resize.resize_size > 1) {
    return;
  } else if (parse(value, ratio) && ratio >= 0.01 && ratio <= 1) {
    resize.resize_size = 0;
    resize.crop_ratio = ratio;
  } else {
    throw ValueError("invalid_value", "resize crop",
                     fmt::format("must be the shorter side in pixels (256), a "
                                 "ratio (0.875) or 'aspect', got '{}'",
                                 printable(value, 40)));
  }
}

void set_pad(std::string_view value, Resize& resize) {
  resize.fit = ImageFit::pad;
  if (parse(value, resize.pad_value) && resize.pad_value >= 0 &&
      resize.pad_value <= 255) {
    return;
  }
  throw ValueError("out_of_range", "resize pad",
                   fmt::format("must be a value from 0 to 255, got '{}'",
                               printable(value, 40)));
}

}  // namespace

std::string to_string(const Resize& resize) {
  std::string text;
  for (const auto& [name, filter] : kFilters) {
    if (filter == resize.filter) text = name;
  }
  switch (resize.fit) {
    case ImageFit::stretch:
      return text;
    case ImageFit::crop:
      return text + " crop aspect";
    case ImageFit::center_crop:
      return resize.resize_size > 0
                 ? fmt::format("{} crop {}", text, resize.resize_size)
                 : fmt::format("{} crop {}", text, resize.crop_ratio);
    case ImageFit::pad:
      return fmt::format("{} pad {}", text, resize.pad_value);
  }
  throw InternalError("internal", "to_string", "unknown ImageFit");
}

Resize resize_mode(std::string_view text) {
  const size_t first = std::min(text.find(' '), text.size());
  Resize resize{.filter = filter_named(text.substr(0, first))};
  if (first == text.size()) return resize;
  const std::string_view rest = text.substr(first + 1);
  constexpr std::string_view kCrop = "crop ", kPad = "pad ";
  if (rest.starts_with(kCrop)) {
    set_crop(rest.substr(kCrop.size()), resize);
  } else if (rest.starts_with(kPad)) {
    set_pad(rest.substr(kPad.size()), resize);
  } else {
    throw ValueError(
        "invalid_value", "resize",
        fmt::format("the filter must be followed by 'crop' or 'pad', got '{}'",
                    printable(rest, 40)));
  }
  return resize;
}

}  // namespace octet::io
