// COCO's average precision.
//
// Source: pycocotools/cocoeval.py: evaluateImg() and accumulate().
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/detection.h>

namespace octet::train {
namespace {

constexpr size_t kOverlaps = 10;  // 0.5, 0.55, ..., 0.95
constexpr size_t kMostPerImage = 100;
constexpr int kRecalls = 101;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

enum class Outcome : char { wrong, correct, ignored };

/// A detection and its outcome for each overlap.
struct Ranked {
  double score;
  std::array<Outcome, kOverlaps> outcomes;
};

/// Returns the intersection over union; for a crowd, the share of the
/// detection's area inside the crowd.
double overlap_of(const Detection& d, const LabeledBox& object) {
  if (!object.crowd) return intersection_over_union(d.box, object.box);
  const double area = d.box.area();
  return area > 0 ? shared_area(d.box, object.box) / area : 0;
}

/// Assigns detections, highest score first, to the objects that they overlap
/// most. `objects` has crowds last; a crowd matches any number of detections.
class Assignment {
 public:
  Assignment(const std::vector<const Detection*>& detections,
             const std::vector<const LabeledBox*>& objects)
      : detections_(detections), objects_(objects) {
    for (const Detection* d : detections) {
      for (const LabeledBox* o : objects) {
        overlaps_.push_back(overlap_of(*d, *o));
      }
    }
  }

  /// Returns the outcome of each detection if a match needs an overlap of
  /// `least`.
  std::vector<Outcome> outcomes(double least) const {
    std::vector<bool> taken(objects_.size());
    std::vector<Outcome> result;
    for (size_t d = 0; d < detections_.size(); ++d) {
      const size_t best = best_object(d, std::min(least, 1 - 1e-10), taken);
      if (best == objects_.size()) {
        result.push_back(Outcome::wrong);
        continue;
      }
      taken[best] = true;
      result.push_back(objects_[best]->crowd ? Outcome::ignored
                                             : Outcome::correct);
    }
    return result;
  }

 private:
  size_t best_object(size_t d, double least,
                     const std::vector<bool>& taken) const {
    const size_t none = objects_.size();
    size_t best = none;
    for (size_t o = 0; o < none; ++o) {
      const bool crowd = objects_[o]->crowd;
      if (taken[o] && !crowd) continue;
      if (best != none && !objects_[best]->crowd && crowd) break;
      const double overlap = overlaps_[d * none + o];
      if (overlap < least) continue;
      least = overlap;
      best = o;
    }
    return best;
  }

  const std::vector<const Detection*>& detections_;
  const std::vector<const LabeledBox*>& objects_;
  std::vector<double> overlaps_;  // [detection][object]
};

/// Appends the outcomes of a class in an image.
void rank(const std::vector<Detection>& detections,
          const std::vector<LabeledBox>& objects, int64_t label,
          std::vector<Ranked>& to, ClassPrecision& counts) {
  std::vector<const Detection*> detected;
  for (const Detection& d : detections) {
    if (d.label == label) detected.push_back(&d);
  }
  std::ranges::stable_sort(detected, std::greater<>(), &Detection::score);
  if (detected.size() > kMostPerImage) detected.resize(kMostPerImage);
  std::vector<const LabeledBox*> labeled;
  for (const bool crowd : {false, true}) {
    for (const LabeledBox& o : objects) {
      if (o.label == label && o.crowd == crowd) labeled.push_back(&o);
    }
    if (!crowd) {
      counts.objects += std::ssize(labeled);
      counts.images += labeled.empty() ? 0 : 1;
    }
  }
  const Assignment assignment(detected, labeled);
  const size_t first = to.size();
  for (const Detection* d : detected) to.push_back({d->score, {}});
  for (size_t k = 0; k < kOverlaps; ++k) {
    // As numpy.linspace(), which rounds other sums than 0.5 + 0.05 k.
    constexpr double kStep = (0.95 - 0.5) / (kOverlaps - 1);
    const auto outcomes =
        assignment.outcomes(0.5 + kStep * static_cast<double>(k));
    for (size_t d = 0; d < detected.size(); ++d) {
      to[first + d].outcomes[k] = outcomes[d];
    }
  }
}

struct Curve {
  double precision, recall;
};

/// Returns the mean of the highest precision at or above each of 101 recalls,
/// and the recall of all detections.
Curve curve_of(const std::vector<Ranked>& ranked, size_t overlap,
               int64_t objects) {
  std::vector<Curve> points;
  double correct = 0, wrong = 0;
  for (const Ranked& r : ranked) {
    const Outcome outcome = r.outcomes[overlap];
    correct += outcome == Outcome::correct;
    wrong += outcome == Outcome::wrong;
    points.push_back(
        {correct / (correct + wrong + std::numeric_limits<double>::epsilon()),
         correct / static_cast<double>(objects)});
  }
  for (size_t i = points.size(); i-- > 1;) {
    points[i - 1].precision =
        std::max(points[i - 1].precision, points[i].precision);
  }
  double sum = 0;
  auto at = points.begin();
  for (int i = 0; i < kRecalls; ++i) {
    // As numpy.linspace(): 7 of 25 objects are less than 28 * 0.01.
    const double recall = 0.01 * i;
    while (at != points.end() && at->recall < recall) ++at;
    if (at == points.end()) break;
    sum += at->precision;
  }
  return {sum / kRecalls, points.empty() ? 0 : points.back().recall};
}

void check(std::span<const std::vector<Detection>> detections,
           std::span<const std::vector<LabeledBox>> objects, int64_t classes) {
  if (classes < 1) {
    throw ValueError("out_of_range", "classes",
                     fmt::format("must be >= 1, got {}", classes));
  }
  if (detections.size() != objects.size()) {
    throw ValueError("count_mismatch", "detection_scores",
                     fmt::format("got detections of {} images and objects of "
                                 "{}",
                                 detections.size(), objects.size()));
  }
  const auto check_label = [&](const char* of, size_t image, int64_t label) {
    if (label >= 0 && label < classes) return;
    throw ValueError(
        "out_of_range", fmt::format("{} of image {}", of, image),
        fmt::format("class must be 0 to {}, got {}", classes - 1, label));
  };
  for (size_t i = 0; i < objects.size(); ++i) {
    for (const LabeledBox& o : objects[i]) check_label("object", i, o.label);
    for (const Detection& d : detections[i]) {
      check_label("detection", i, d.label);
      if (!std::isnan(d.score)) continue;
      throw ValueError("not_finite", fmt::format("detection of image {}", i),
                       "the score is NaN");
    }
  }
}

/// Mean of the values that are not NaN; NaN without values.
class Mean {
 public:
  void add(double value) {
    if (std::isnan(value)) return;
    sum_ += value;
    ++count_;
  }
  double value() const { return count_ == 0 ? kNan : sum_ / count_; }

 private:
  double sum_ = 0;
  int count_ = 0;
};

}  // namespace

DetectionScores detection_scores(
    std::span<const std::vector<Detection>> detections,
    std::span<const std::vector<LabeledBox>> objects, int64_t classes) {
  check(detections, objects, classes);
  DetectionScores result;
  Mean average, at_50, at_75, recall;
  for (int64_t label = 0; label < classes; ++label) {
    ClassPrecision c;
    std::vector<Ranked> ranked;
    for (size_t i = 0; i < objects.size(); ++i) {
      rank(detections[i], objects[i], label, ranked, c);
    }
    std::ranges::stable_sort(ranked, std::greater<>(), &Ranked::score);
    Mean of_class;
    for (size_t k = 0; k < kOverlaps; ++k) {
      const Curve curve =
          c.objects == 0 ? Curve{kNan, kNan} : curve_of(ranked, k, c.objects);
      of_class.add(curve.precision);
      recall.add(curve.recall);
      if (k == 0) c.at_50 = curve.precision;
      if (k == 5) c.at_75 = curve.precision;
    }
    c.average = of_class.value();
    average.add(c.average);
    at_50.add(c.at_50);
    at_75.add(c.at_75);
    result.classes.push_back(c);
  }
  result.average = average.value();
  result.at_50 = at_50.value();
  result.at_75 = at_75.value();
  result.recall = recall.value();
  return result;
}

}  // namespace octet::train
