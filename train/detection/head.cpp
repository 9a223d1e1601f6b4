// Layouts of detectors' outputs, and their conversion to detections.
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/detection.h>

namespace octet::train {
namespace {

constexpr std::array<std::pair<std::string_view, DetectorHead>, 3> kHeads = {
    {{"yolov8", DetectorHead::yolov8},
     {"yolov5", DetectorHead::yolov5},
     {"end2end", DetectorHead::end_to_end}}};

std::string_view name_of(DetectorHead head) {
  for (const auto& [name, known] : kHeads) {
    if (known == head) return name;
  }
  return "unknown";
}

int64_t values_of(DetectorHead head, int64_t classes) {
  switch (head) {
    case DetectorHead::yolov8:
      return 4 + classes;
    case DetectorHead::yolov5:
      return 5 + classes;
    case DetectorHead::end_to_end:
      break;
  }
  return 6;
}

/// Values of a box, `stride` floats apart.
struct BoxValues {
  const float* first;
  int64_t stride;

  double operator[](int64_t i) const {
    return static_cast<double>(first[i * stride]);
  }
  Box around_center() const {
    const BoxValues& v = *this;
    const double w = v[2] / 2, h = v[3] / 2;
    return {v[0] - w, v[1] - h, v[0] + w, v[1] + h};
  }
};

Detection final_detection(const BoxValues& v) {
  const double label = v[5];
  if (!(label >= 0) || label != std::floor(label)) {
    throw ValueError("out_of_range", "detections",
                     fmt::format("the class of a box must be a whole number "
                                 ">= 0, got {}",
                                 label));
  }
  return {static_cast<int64_t>(label), {v[0], v[1], v[2], v[3]}, v[4]};
}

/// Appends a detection for each class with a score of at least `least`.
void add_detections(std::vector<Detection>& to, const BoxValues& v,
                    const DetectorOutput& layout, double least) {
  if (layout.head == DetectorHead::end_to_end) {
    if (v[4] >= least) to.push_back(final_detection(v));
    return;
  }
  const bool weighted = layout.head == DetectorHead::yolov5;
  const int64_t first = weighted ? 5 : 4;
  const double weight = weighted ? v[4] : 1;
  for (int64_t i = first; i < layout.values; ++i) {
    const double score = v[i] * weight;
    if (score >= least) to.push_back({i - first, v.around_center(), score});
  }
}

}  // namespace

DetectorHead detector_head(std::string_view name) {
  for (const auto& [known, head] : kHeads) {
    if (known == name) return head;
  }
  throw ValueError(
      "unknown_name", "head",
      fmt::format("must be yolov8, yolov5 or end2end, got '{}'", name));
}

DetectorOutput detector_output(const Shape& shape, int64_t classes,
                               std::optional<DetectorHead> head) {
  if (classes < 1) {
    throw ValueError("out_of_range", "classes",
                     fmt::format("must be >= 1, got {}", classes));
  }
  std::vector<DetectorOutput> fitting;
  for (const auto& [name, known] : kHeads) {
    if (shape.rank() != 3 || (head && *head != known)) continue;
    const int64_t values = values_of(known, classes);
    if (shape[2] == values) fitting.push_back({known, shape[1], values, false});
    if (shape[1] == values) fitting.push_back({known, shape[2], values, true});
  }
  if (fitting.size() == 1) return fitting[0];
  const std::string wanted =
      head ? fmt::format("{} values per box for head {}",
                         values_of(*head, classes), name_of(*head))
           : fmt::format(
                 "{} (yolov8), {} (yolov5) or 6 (end2end) values per "
                 "box",
                 4 + classes, 5 + classes);
  const std::string got = fmt::format("{} for {} class{}", shape.to_string(),
                                      classes, classes == 1 ? "" : "es");
  if (fitting.empty()) {
    throw ShapeError("shape_mismatch", "detector output",
                     fmt::format("must have {}, got {}. Hint: check the class "
                                 "names",
                                 wanted, got));
  }
  throw ShapeError(
      "shape_mismatch", "detector output",
      fmt::format("several layouts have {}, got {}. Hint: set the head", wanted,
                  got));
}

std::vector<std::vector<Detection>> detections_of(const Tensor& output,
                                                  const DetectorOutput& layout,
                                                  double score) {
  const Shape& shape = output.shape();
  const bool first = layout.values_first;
  if (shape.rank() != 3 || shape[first ? 1 : 2] != layout.values ||
      shape[first ? 2 : 1] != layout.boxes) {
    throw ShapeError(
        "shape_mismatch", "detector output",
        fmt::format("must have {} boxes of {} values, got {}", layout.boxes,
                    layout.values, shape.to_string()));
  }
  std::vector<std::vector<Detection>> result(static_cast<size_t>(shape[0]));
  const float* values = output.f32().data();
  const int64_t size = layout.boxes * layout.values;
  for (std::vector<Detection>& detections : result) {
    for (int64_t i = 0; i < layout.boxes; ++i) {
      const BoxValues v = first ? BoxValues{values + i, layout.boxes}
                                : BoxValues{values + i * layout.values, 1};
      add_detections(detections, v, layout, score);
    }
    values += size;
  }
  return result;
}

}  // namespace octet::train
