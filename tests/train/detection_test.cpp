#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/json.h>
#include <octet/runtime/error.h>
#include <octet/train/detection.h>

#include "../support.h"

namespace octet::train {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

std::string text_of_golden() {
  std::ifstream file(OCTET_SOURCE_DIR "/tests/golden/detection.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

Box box_of(const Config& entry) {
  std::vector<double> b;
  for (const Config& v : entry.at("box").as_list()) b.push_back(v.as_number());
  return {b[0], b[1], b[0] + b[2], b[1] + b[3]};
}

/// Expects a golden value, which is null for NaN.
void expect_value(double value, const Config& golden) {
  if (golden.is_null()) {
    EXPECT_TRUE(std::isnan(value));
  } else {
    EXPECT_NEAR(value, golden.as_number(), 1e-12);
  }
}

TEST(DetectionScores, EqualPycocotools) {
  const Config golden = io::from_json(text_of_golden());
  const int64_t classes = golden.at("classes").as_int();
  for (const Config& c : golden.at("cases").as_list()) {
    const auto images = static_cast<size_t>(c.at("images").as_int());
    std::vector<std::vector<Detection>> detections(images);
    std::vector<std::vector<LabeledBox>> objects(images);
    for (const Config& o : c.at("objects").as_list()) {
      objects[static_cast<size_t>(o.at("image").as_int())].push_back(
          {o.at("label").as_int(), box_of(o), o.at("crowd").as_bool()});
    }
    for (const Config& d : c.at("detections").as_list()) {
      detections[static_cast<size_t>(d.at("image").as_int())].push_back(
          {d.at("label").as_int(), box_of(d), d.at("score").as_number()});
    }
    const DetectionScores scores =
        detection_scores(detections, objects, classes);
    const Config& expected = c.at("expected");
    expect_value(scores.average, expected.at("average"));
    expect_value(scores.at_50, expected.at("at_50"));
    expect_value(scores.at_75, expected.at("at_75"));
    expect_value(scores.recall, expected.at("recall"));
    for (size_t k = 0; k < scores.classes.size(); ++k) {
      const Config& of_class = expected.at("classes").as_list()[k];
      expect_value(scores.classes[k].average, of_class.at("average"));
      expect_value(scores.classes[k].at_50, of_class.at("at_50"));
      expect_value(scores.classes[k].at_75, of_class.at("at_75"));
    }
  }
}

TEST(DetectionScores, AreNanWithoutObjects) {
  const std::vector<std::vector<Detection>> found = {{{0, {0, 0, 1, 1}, 0.5}}};
  const std::vector<std::vector<LabeledBox>> none(1);
  const DetectionScores scores = detection_scores(found, none, 1);
  EXPECT_TRUE(std::isnan(scores.average));
  EXPECT_TRUE(std::isnan(scores.classes[0].at_50));
}

TEST(DetectionScores, RejectOtherClasses) {
  const std::vector<std::vector<Detection>> found = {{{2, {0, 0, 1, 1}, 0.5}}};
  const std::vector<std::vector<LabeledBox>> objects(1);
  EXPECT_THAT([&] { detection_scores(found, objects, 2); },
              ThrowsMessage<ValueError>(
                  HasSubstr("detection of image 0: class must be 0 to 1")));
  EXPECT_THROW(detection_scores(found, {}, 3), ValueError);
  EXPECT_THROW(detection_scores({}, {}, 0), ValueError);
  const std::vector<std::vector<Detection>> nan = {
      {{0, {0, 0, 1, 1}, std::numeric_limits<double>::quiet_NaN()}}};
  EXPECT_THROW(detection_scores(nan, objects, 2), ValueError);
}

TEST(Suppression, DropsLowerScoresOfAClass) {
  const std::vector<Detection> all = {{0, {0, 0, 10, 10}, 0.5},
                                      {0, {0, 0, 10, 9}, 0.9},   // overlap 0.9
                                      {1, {0, 0, 10, 10}, 0.4},  // other class
                                      {0, {0, 0, 10, 5}, 0.3},   // overlap 0.56
                                      {0, {50, 0, 60, 5}, 0.0005}};
  EXPECT_THAT(suppress(all), ElementsAre(Field(&Detection::score, 0.9),
                                         Field(&Detection::score, 0.4),
                                         Field(&Detection::score, 0.3)));
  EXPECT_THAT(suppress(all, {.overlap = 0.5}),
              ElementsAre(Field(&Detection::score, 0.9),
                          Field(&Detection::score, 0.4)));
  EXPECT_EQ(suppress(all, {.score = 0, .overlap = 1}).size(), 5u);
  EXPECT_EQ(suppress(all, {.most = 1}).size(), 1u);
  EXPECT_THROW(suppress(all, {.overlap = 1.5}), ValueError);
  EXPECT_THROW(suppress(all, {.most = 0}), ValueError);
}

TEST(DetectorOutput, FollowsFromTheNumberOfClasses) {
  EXPECT_EQ(detector_output({1, 84, 8400}, 80).head, DetectorHead::yolov8);
  EXPECT_TRUE(detector_output({1, 84, 8400}, 80).values_first);
  EXPECT_EQ(detector_output({1, 25200, 85}, 80).head, DetectorHead::yolov5);
  EXPECT_EQ(detector_output({1, 300, 6}, 80).head, DetectorHead::end_to_end);
  EXPECT_EQ(detector_output({1, 8400, 84}, 80).boxes, 8400);
  // 6 values: final boxes, two classes, or one class and an objectness.
  EXPECT_THROW(detector_output({1, 300, 6}, 2), ShapeError);
  EXPECT_EQ(detector_output({1, 6, 8400}, 2, DetectorHead::yolov8).boxes, 8400);
  EXPECT_THROW(detector_output({1, 84, 84}, 80), ShapeError);
  EXPECT_THAT(
      [] {
        detector_output({1, 84, 8400}, 20);
      },
      ThrowsMessage<ShapeError>(HasSubstr("24 (yolov8), 25 (yolov5)")));
  EXPECT_THROW(detector_output({84, 8400}, 80), ShapeError);
  EXPECT_THROW(detector_head("yolo"), ValueError);
}

TEST(Detections, AreReadInBothOrders) {
  // Two boxes of two classes.
  const Tensor by_box = Tensor::of<float>(
      {1, 2, 6}, {10, 20, 4, 6, 0.9f, 0.2f, 5, 5, 2, 2, 0.1f, 0.8f});
  const Tensor by_value = by_box.transposed({0, 2, 1});
  for (const auto& [y, first] : {std::pair{by_box, false}, {by_value, true}}) {
    const auto found =
        detections_of(y, {DetectorHead::yolov8, 2, 6, first}, 0.15)[0];
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].label, 0);
    EXPECT_EQ(found[0].box.left, 8);
    EXPECT_EQ(found[0].box.bottom, 23);
    EXPECT_EQ(found[1].label, 1);
    EXPECT_FLOAT_EQ(static_cast<float>(found[2].score), 0.8f);
  }
  // With an objectness: one class.
  const auto weighted =
      detections_of(by_box, {DetectorHead::yolov5, 2, 6, false}, 0.1)[0];
  ASSERT_EQ(weighted.size(), 1u);
  EXPECT_NEAR(weighted[0].score, 0.9 * 0.2, 1e-7);
}

TEST(Detections, OfFinalBoxesNeedWholeClasses) {
  const DetectorOutput final{DetectorHead::end_to_end, 2, 6, false};
  const Tensor y =
      Tensor::of<float>({1, 2, 6}, {1, 2, 3, 4, 0.5f, 7, 0, 0, 0, 0, 0, 0});
  const auto found = detections_of(y, final)[0];
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].label, 7);
  EXPECT_EQ(found[0].box.right, 3);
  const Tensor half =
      Tensor::of<float>({1, 2, 6}, {1, 2, 3, 4, 0.5f, 7.5f, 0, 0, 0, 0, 0, 0});
  EXPECT_THROW(detections_of(half, final), ValueError);
  EXPECT_THROW(detections_of(y, {DetectorHead::end_to_end, 3, 6, false}),
               ShapeError);
}

}  // namespace
}  // namespace octet::train
