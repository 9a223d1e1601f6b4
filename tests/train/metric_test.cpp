#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/train/metric.h>

#include "blobs.h"

namespace octet::train {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
using Values = std::vector<double>;

Values of(const Metric& metric, const Tensor& outputs, const Tensor& labels) {
  return metric.each(outputs, {outputs, labels});
}

const Tensor kScores = Tensor::of<float>(
    {4, 3}, {1, 2, 3, /**/ 2, 2, 1, /**/ 2, 2, 1, /**/ kNan, 1, 0});
const Tensor kLabels = Tensor::of<int64_t>({4}, {1, 0, 1, 1});

TEST(Accuracy, PredictsTheFirstOfEqualOutputsAndNothingForNan) {
  EXPECT_EQ(of(metrics::accuracy(), kScores, kLabels), (Values{0, 1, 0, 0}));
}

TEST(Accuracy, UsesTheLargestTargetAsTheLabel) {
  const Tensor targets = Tensor::of<float>(
      {4, 3}, {0.1f, 0.6f, 0.3f, /**/ 1, 1, 0, /**/ 0, 1, 0, /**/ 0, 1, 0});
  EXPECT_EQ(of(metrics::accuracy(), kScores, targets), (Values{0, 1, 0, 0}));
}

TEST(TopK, CountsLabelsAmongTheFirstK) {
  EXPECT_EQ(of(metrics::top_k_accuracy(2), kScores, kLabels),
            (Values{1, 1, 1, 0}));
  EXPECT_EQ(of(metrics::top_k_accuracy(9), kScores, kLabels),
            (Values{1, 1, 1, 0}));
  EXPECT_EQ(metrics::top_k_accuracy(3).name, "top_3_accuracy");
  EXPECT_THROW(metrics::top_k_accuracy(0), ValueError);
}

TEST(BinaryAccuracy, AppliesAThreshold) {
  const Tensor outputs = Tensor::of<float>({2, 2}, {0.1f, 0, -1, kNan});
  const Tensor targets = Tensor::of<float>({2, 2}, {1, 1, 0, 0});
  EXPECT_EQ(of(metrics::binary_accuracy(), outputs, targets),
            (Values{0.5, 0.5}));
  EXPECT_EQ(of(metrics::binary_accuracy(0.5f), outputs, targets),
            (Values{0, 0.5}));
}

TEST(Errors, AreMeansOverASample) {
  const Tensor outputs = Tensor::of<float>({2, 2}, {1, -1, 4, 0});
  const Tensor targets = Tensor::of<float>({2, 2}, {0, 2, 4, 0});
  EXPECT_EQ(of(metrics::mean_absolute_error(), outputs, targets),
            (Values{2, 0}));
  EXPECT_EQ(of(metrics::mean_squared_error(), outputs, targets),
            (Values{5, 0}));
}

TEST(Metrics, RejectMismatchedLabels) {
  EXPECT_THROW(of(metrics::accuracy(), kScores, Tensor::zeros({4})),
               ShapeError);
  EXPECT_THROW(
      of(metrics::accuracy(), kScores, Tensor::of<int64_t>({4}, {0, 1, 2, 3})),
      ValueError);
  EXPECT_THROW(of(metrics::mean_absolute_error(), kScores, Tensor::zeros({4})),
               ShapeError);
}

TEST(ConfusionMatrix, CountsPairsOfClasses) {
  ConfusionMatrix matrix(3);
  matrix.add(kScores, kLabels);
  EXPECT_EQ(matrix.count(1, 2), 1);
  EXPECT_EQ(matrix.count(0, 0), 1);
  EXPECT_EQ(matrix.count(1, 0), 1);
  EXPECT_EQ(matrix.unanswered(), 1);
  EXPECT_EQ(matrix.samples(), 4);
  EXPECT_EQ(matrix.accuracy(), 0.25);
  EXPECT_EQ(matrix.recall(0), 1.0);
  EXPECT_EQ(matrix.recall(1), 0.0);
  EXPECT_TRUE(std::isnan(matrix.recall(2)));
  EXPECT_EQ(matrix.precision(0), 0.5);
}

TEST(ConfusionMatrix, DividesRowsByTheirSums) {
  ConfusionMatrix matrix(2);
  matrix.add(0, 0);
  matrix.add(0, 1);
  matrix.add(0, 1);
  matrix.add(0, 1);
  const Tensor shares = matrix.normalized();
  EXPECT_EQ(shares.f32()[0], 0.25f);
  EXPECT_EQ(shares.f32()[1], 0.75f);
  EXPECT_EQ(shares.f32()[2], 0.0f);
}

TEST(ConfusionMatrix, PrintsATable) {
  ConfusionMatrix matrix(2);
  for (int i = 0; i < 12; ++i) matrix.add(0, 0);
  matrix.add(1, 0);
  EXPECT_EQ(matrix.to_string(),
            "actual   0  1\n"
            "0       12  0\n"
            "1        1  0\n");
  const std::vector<std::string> names = {"cat", "elephant"};
  EXPECT_EQ(matrix.to_string(names),
            "actual    cat  elephant\n"
            "cat        12         0\n"
            "elephant    1         0\n");
  EXPECT_THROW(matrix.to_string(std::vector<std::string>{"cat"}), ValueError);
}

TEST(ConfusionMatrix, AgreesWithTheAccuracyOfAModel) {
  const Model model = small_network();
  const Dataset data = blobs(20);
  const ConfusionMatrix matrix =
      confusion_matrix(model, data, {.batch_size = 7});
  EXPECT_EQ(matrix.samples(), 20);
  EXPECT_EQ(matrix.count(0, 0) + matrix.count(0, 1), 10);
}

TEST(ConfusionMatrix, RejectsClassesOutOfRange) {
  EXPECT_THROW(ConfusionMatrix(0), ValueError);
  ConfusionMatrix matrix(2);
  EXPECT_THROW(matrix.add(2, 0), ValueError);
  EXPECT_THROW(matrix.add(0, -1), ValueError);
  EXPECT_THROW(matrix.count(0, 2), ValueError);
  EXPECT_THROW(matrix.add(kScores, kLabels), ShapeError);
}

/// Two images of 1x3 pixels in two classes, predicted 0 1 1 and 1 0 0.
const Tensor kPixelScores =
    Tensor::of<float>({2, 1, 3, 2}, {2, 1, 0, 3, 1, 4, 0, 1, 5, 2, 3, 1});

TEST(Accuracy, IsTheShareOfCorrectPixels) {
  const Tensor masks = Tensor::of<int64_t>({2, 1, 3}, {0, 0, 1, 255, 0, 255});
  const Batch all(kPixelScores,
                  Tensor::of<int64_t>({2, 1, 3}, {0, 0, 1, 1, 0, 1}));
  EXPECT_THAT(metrics::accuracy().each(kPixelScores, all),
              ::testing::ElementsAre(2.0 / 3, 2.0 / 3));
  EXPECT_THAT(metrics::accuracy(255).each(kPixelScores, {kPixelScores, masks}),
              ::testing::ElementsAre(2.0 / 3, 1));
  EXPECT_THROW(metrics::accuracy().each(kPixelScores, {kPixelScores, masks}),
               ValueError);
  const Tensor none = Tensor::of<int64_t>({2, 1, 3}, {9, 9, 9, 9, 9, 9});
  EXPECT_THAT(metrics::accuracy(9).each(kPixelScores, {kPixelScores, none}),
              ::testing::ElementsAre(0, 0));
}

TEST(ConfusionMatrix, CountsPixelsAndTheirIntersectionOverUnion) {
  ConfusionMatrix matrix(3, 255);
  matrix.add(Tensor::of<float>({1, 2, 3, 3}, {1, 0, 0, 0, 1, 0, 0, 1, 0,  //
                                              1, 0, 0, 0, 1, 0, 1, 0, 0}),
             Tensor::of<int64_t>({1, 2, 3}, {0, 0, 1, 0, 255, 0}));
  EXPECT_EQ(matrix.samples(), 5);
  EXPECT_EQ(matrix.iou(0), 3.0 / 4);
  EXPECT_EQ(matrix.iou(1), 1.0 / 2);
  EXPECT_TRUE(std::isnan(matrix.iou(2)));
  EXPECT_EQ(matrix.mean_iou(), (3.0 / 4 + 1.0 / 2) / 2);
  EXPECT_TRUE(std::isnan(ConfusionMatrix(2).mean_iou()));
}

}  // namespace
}  // namespace octet::train
