// Object detection: boxes, non-maximum suppression and average precision.
//
//   const auto layout = train::detector_output(y.shape(), classes);
//   auto found = train::suppress(train::detections_of(y, layout)[0]);
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet::train {

/// A rectangle in an image, whose upper left corner is (0, 0). right >= left
/// and bottom >= top.
struct Box {
  double left = 0;    ///< x of the left edge
  double top = 0;     ///< y of the upper edge
  double right = 0;   ///< x of the right edge
  double bottom = 0;  ///< y of the lower edge

  /// Returns right - left.
  double width() const { return right - left; }
  /// Returns bottom - top.
  double height() const { return bottom - top; }
  /// Returns width() * height().
  double area() const { return width() * height(); }
};

/// Returns the area that two boxes share.
double shared_area(const Box& a, const Box& b);

/// Returns shared_area() divided by the area that at least one box covers; 0 if
/// both are empty.
double intersection_over_union(const Box& a, const Box& b);

/// An object of an image.
struct LabeledBox {
  int64_t label = 0;  ///< class, >= 0
  Box box;            ///< its edges
  /// Several objects in one box, as COCO's "iscrowd": detections inside count
  /// neither as correct nor as wrong.
  bool crowd = false;
};

/// An object detected by a network.
struct Detection {
  int64_t label = 0;  ///< class, >= 0
  Box box;            ///< its edges
  double score = 0;   ///< confidence; higher ranks first
};

/// Options of suppress(). Defaults are those of Ultralytics' validation.
/// Fields in order: score, overlap, most
struct SuppressionOptions {
  double score = 0.001;  ///< lowest score to keep, [0,1]
  /// Intersection over union above which the lower score is dropped, [0,1].
  double overlap = 0.7;
  int64_t most = 300;  ///< largest number of detections, >= 1
};

/// Greedy non-maximum suppression within each class: drops detections that
/// overlap a detection of higher score, have a low score or contain NaN.
/// Returns the others, highest score first, equal scores in the given order.
/// Throws: ValueError for options out of range.
std::vector<Detection> suppress(std::vector<Detection> detections,
                                const SuppressionOptions& options = {});

/// Formats of a detector's output.
enum class DetectorHead {
  /// YOLOv8 to YOLO12: center x, center y, width and height in pixels of the
  /// input, then a score per class.
  yolov8,
  /// YOLOv5 and YOLOv7: as yolov8, with an objectness before the scores, which
  /// are multiplied by it.
  yolov5,
  /// YOLOv10 and YOLO26: left, top, right, bottom, score and class of the
  /// network's final boxes, which need no suppression.
  end_to_end,
};

/// Returns the head with a name: "yolov8", "yolov5" or "end2end".
/// Throws: ValueError for other names.
DetectorHead detector_head(std::string_view name);

/// Layout of a detector's output [n,boxes,values] or [n,values,boxes].
struct DetectorOutput {
  DetectorHead head = DetectorHead::yolov8;  ///< format of the values
  int64_t boxes = 0;                         ///< boxes per sample
  int64_t values = 0;                        ///< values per box
  bool values_first = false;                 ///< [n,values,boxes]
};

/// Finds the layout of an output whose axis of values has 4 (yolov8) or 5
/// (yolov5) entries more than `classes`, or 6 entries (end_to_end).
/// Throws: ShapeError if no layout fits, or several; ValueError for classes
/// < 1.
DetectorOutput detector_output(const Shape& shape, int64_t classes,
                               std::optional<DetectorHead> head = {});

/// Returns each sample's detections with at least `score`, in pixels of the
/// network's input.
/// Shapes: output f32 as detector_output() describes.
/// Throws: ShapeError; ValueError for a class of an end_to_end output that is
/// not a whole number >= 0.
std::vector<std::vector<Detection>> detections_of(const Tensor& output,
                                                  const DetectorOutput& layout,
                                                  double score = 0.001);

/// Average precision of a class.
struct ClassPrecision {
  int64_t images = 0;   ///< images with objects of the class
  int64_t objects = 0;  ///< without crowds
  /// Mean over the overlaps 0.5, 0.55, ..., 0.95; NaN without objects.
  double average = 0;
  double at_50 = 0;  ///< for the overlap 0.5
  double at_75 = 0;  ///< for the overlap 0.75
};

/// COCO's metrics. Means are over classes with objects; NaN without any.
struct DetectionScores {
  double average = 0;  ///< mAP@[.50:.95]
  double at_50 = 0;    ///< mAP@.50
  double at_75 = 0;    ///< mAP@.75
  /// Found objects / objects, mean over classes and overlaps: AR@100.
  double recall = 0;
  std::vector<ClassPrecision> classes;  ///< by label
};

/// Compares the detections of images with their objects, as COCO does: the 100
/// highest scores of each image and class count, and precision is averaged over
/// 101 recalls. Results equal those of pycocotools for objects of all sizes.
/// Source: pycocotools/cocoeval.py, COCOeval.
/// Throws: ValueError if the numbers of images differ, for a label outside
/// [0, classes), a score that is NaN, or classes < 1.
DetectionScores detection_scores(
    std::span<const std::vector<Detection>> detections,
    std::span<const std::vector<LabeledBox>> objects, int64_t classes);

}  // namespace octet::train
