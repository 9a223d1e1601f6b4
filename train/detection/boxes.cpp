#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/detection.h>

namespace octet::train {
namespace {

void check_share(const char* name, double value) {
  if (value >= 0 && value <= 1) return;
  throw ValueError("out_of_range", fmt::format("suppress {}", name),
                   fmt::format("must be 0 to 1, got {}", value));
}

bool has_nan(const Detection& d) {
  return std::isnan(d.score) || std::isnan(d.box.left + d.box.top) ||
         std::isnan(d.box.right + d.box.bottom);
}

}  // namespace

double shared_area(const Box& a, const Box& b) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  return width > 0 && height > 0 ? width * height : 0;
}

double intersection_over_union(const Box& a, const Box& b) {
  const double shared = shared_area(a, b);
  const double covered = a.area() + b.area() - shared;
  return covered > 0 ? shared / covered : 0;
}

std::vector<Detection> suppress(std::vector<Detection> detections,
                                const SuppressionOptions& options) {
  check_share("score", options.score);
  check_share("overlap", options.overlap);
  if (options.most < 1) {
    throw ValueError("out_of_range", "suppress most",
                     fmt::format("must be >= 1, got {}", options.most));
  }
  std::erase_if(detections, [&](const Detection& d) {
    return has_nan(d) || d.score < options.score;
  });
  std::ranges::stable_sort(detections, std::greater<>(), &Detection::score);
  std::vector<Detection> kept;
  for (const Detection& d : detections) {
    if (std::ssize(kept) == options.most) break;
    const bool overlaps = std::ranges::any_of(kept, [&](const Detection& k) {
      return k.label == d.label &&
             intersection_over_union(k.box, d.box) > options.overlap;
    });
    if (!overlaps) kept.push_back(d);
  }
  return kept;
}

}  // namespace octet::train
