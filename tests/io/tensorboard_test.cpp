#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/tensorboard.h>
#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/train/fit.h>

#include "crc32c.h"
#include "idx_files.h"
#include "support.h"
#include "tensorboard/event.h"

namespace octet::io {
namespace {

using ::testing::DoubleEq;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Source: RFC 3720, appendix B.4; the first is the polynomial's usual check.
TEST(Crc32c, GivesThePublishedCheckValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (char i = 0; i < 32; ++i) rising += i;
  EXPECT_EQ(crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(crc32c(std::string(rising.rbegin(), rising.rend())), 0x113fdb5cu);
}

TEST(Crc32c, IsMaskedByARotationAndASum) {
  // 0xe3069283 rotated right by 15 is 0x2507c60d.
  EXPECT_EQ(masked_crc32c("123456789"), 0x2507c60du + 0xa282ead8u);
}

TEST(Event, IsAProtobufMessageOfTheKnownFields) {
  EXPECT_EQ(version_event(1.0),
            std::string("\x09\x00\x00\x00\x00\x00\x00\xf0\x3f"
                        "\x1a\x0d"
                        "brain.Event:2",
                        9 + 2 + 13));
  // Event{wall_time: 1, step: 300, summary{value{tag: "a", simple_value: 1}}}
  EXPECT_EQ(scalar_event(1.0, 300, "a", 1.0f),
            std::string("\x09\x00\x00\x00\x00\x00\x00\xf0\x3f"
                        "\x10\xac\x02"
                        "\x2a\x0a"
                        "\x0a\x08"
                        "\x0a\x01"
                        "a"
                        "\x15\x00\x00\x80\x3f",
                        9 + 3 + 2 + 2 + 3 + 5));
}

TEST(Event, IsFramedByLengthAndChecksums) {
  const std::string record = record_of("123456789");
  ASSERT_EQ(record.size(), 8u + 4 + 9 + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\x09\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(12, 9), "123456789");
  const uint32_t masked = 0x2507c60du + 0xa282ead8u;
  EXPECT_EQ(record.substr(21),
            std::string(reinterpret_cast<const char*>(&masked), 4));
}

TEST(Histogram, DividesTheRangeIntoThirtyBuckets) {
  Tensor values(Shape{61});
  for (size_t i = 0; i < 61; ++i) {
    values.f32()[i] = static_cast<float>(i) - 30;
  }
  const Histogram histogram = histogram_of(values);
  EXPECT_EQ(histogram.min, -30);
  EXPECT_EQ(histogram.max, 30);
  EXPECT_EQ(histogram.count, 61);
  EXPECT_EQ(histogram.sum, 0);
  EXPECT_EQ(histogram.sum_squares, 2 * 30 * 31 * 61 / 6);
  ASSERT_THAT(histogram.limits, SizeIs(30));
  EXPECT_THAT(histogram.limits[0], DoubleEq(-28));
  EXPECT_EQ(histogram.limits[29], 30);
  ASSERT_THAT(histogram.counts, SizeIs(30));
  EXPECT_EQ(histogram.counts[0], 2);
  EXPECT_EQ(histogram.counts[29], 3);  // includes the largest value
}

TEST(Histogram, HasOneBucketForEqualValues) {
  const Histogram histogram = histogram_of(Tensor::full({3, 5}, 0.5f));
  EXPECT_THAT(histogram.limits, ElementsAre(0.5));
  EXPECT_THAT(histogram.counts, ElementsAre(15));
}

TEST(Histogram, CountsEveryValueAtAnyDistance) {
  const float most = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::denorm_min();
  for (const Tensor& values : {Tensor::of<float>({2}, {-most, most}),
                               Tensor::of<float>({2}, {0, least}),
                               Tensor::of<float>({2}, {1, 1.0000001f})}) {
    const Histogram histogram = histogram_of(values);
    EXPECT_EQ(histogram.counts.front(), 1);
    EXPECT_EQ(histogram.counts.back(), 1);
    EXPECT_TRUE(std::isfinite(histogram.sum_squares));
  }
}

class TensorBoard : public ::testing::Test {
 protected:
  TempFolder folder_;
  const TensorBoardOptions options_{.clock = [] { return 1.0; }};
};

TEST_F(TensorBoard, WritesTheVersionAndTheEventsInOrder) {
  TensorBoardWriter writer(folder_ / "a/b", options_);
  writer.scalar("loss", 0.5, 7);
  writer.histogram("kernel", Tensor::full({2}, 1.0f), 8);
  writer.flush();
  EXPECT_EQ(read_file(writer.path()),
            record_of(version_event(1)) +
                record_of(scalar_event(1, 7, "loss", 0.5f)) +
                record_of(histogram_event(
                    1, 8, "kernel", histogram_of(Tensor::full({2}, 1.0f)))));
}

TEST_F(TensorBoard, FlushesOnDestruction) {
  {
    TensorBoardWriter writer(folder_.path(), options_);
    for (int64_t step = 0; step < 10000; ++step) writer.scalar("x", 1, step);
  }
  const std::string bytes =
      read_file(folder_ / "events.out.tfevents.0000000001.octet");
  EXPECT_THAT(bytes, EndsWith(record_of(scalar_event(1, 9999, "x", 1))));
}

TEST_F(TensorBoard, CreatesANewFilePerRun) {
  put(folder_ / "events.out.tfevents.1700000000.host.1.0",
      "of another program");
  const TensorBoardWriter first(folder_.path());
  const TensorBoardWriter second(folder_.path());
  EXPECT_EQ(first.path().filename(), "events.out.tfevents.1700000001.octet");
  EXPECT_EQ(second.path().filename(), "events.out.tfevents.1700000002.octet");
}

TEST_F(TensorBoard, PassesOverNumbersBeyondAll) {
  put(folder_ / "events.out.tfevents.9223372036854775807", "");
  put(folder_ / "events.out.tfevents.99999999999999999999", "");
  put(folder_ / "events.out.tfevents.-7", "");
  const TensorBoardWriter writer(folder_.path());
  EXPECT_EQ(writer.path().filename(), "events.out.tfevents.0000000001.octet");
}

TEST_F(TensorBoard, AcceptsNonFiniteScalars) {
  TensorBoardWriter writer(folder_.path(), options_);
  EXPECT_NO_THROW(writer.scalar("loss", NAN, 0));
}

TEST_F(TensorBoard, RejectsValuesWithoutHistogram) {
  TensorBoardWriter writer(folder_.path(), options_);
  const auto refusal = [&](const Tensor& values) {
    return failure_of<ValueError>([&] { writer.histogram("w", values, 0); });
  };
  EXPECT_EQ(refusal(Tensor()),
            (Failure{"unsupported_type", "TensorBoard histogram 'w'"}));
  EXPECT_EQ(refusal(Tensor::zeros({0, 3})),
            (Failure{"unsupported_type", "TensorBoard histogram 'w'"}));
  EXPECT_EQ(refusal(Tensor::zeros({3}, DType::i64)),
            (Failure{"unsupported_type", "TensorBoard histogram 'w'"}));
  EXPECT_EQ(refusal(Tensor::of<float>({2}, {0, NAN})),
            (Failure{"not_finite", "TensorBoard histogram 'w'"}));
  EXPECT_THROW(writer.scalar("", 1, 0), ValueError);
}

TEST_F(TensorBoard, WritesTheReportsOfAFit) {
  Tensor inputs = Tensor::zeros({4, 2});
  inputs.f32()[0] = 1;
  const Dataset data(inputs, Tensor::of<int64_t>({4}, {0, 1, 1, 1}));
  const SymbolicTensor x = input({2});
  Model model(x, Dense({.units = 2, .name = "dense"})(x));
  TensorBoardOptions options = options_;
  options.histograms = true;
  options.every_steps = 2;
  const train::History history =
      train::fit(model, data,
                 {.epochs = 3,
                  .batch_size = 2,
                  .validation = &data,
                  .callbacks = {tensorboard(folder_.path(), options)}});
  const std::string bytes =
      read_file(folder_ / "events.out.tfevents.0000000001.octet");
  const auto scalar = [](const char* tag, double value, int64_t step) {
    return HasSubstr(
        record_of(scalar_event(1, step, tag, static_cast<float>(value))));
  };
  EXPECT_THAT(bytes, scalar("epoch/loss", history[0].loss, 0));
  EXPECT_THAT(bytes, scalar("epoch/accuracy", history[2].accuracy, 2));
  EXPECT_THAT(bytes,
              scalar("epoch/val_loss", history[1].validation[0].loss, 1));
  EXPECT_THAT(bytes, scalar("epoch/learning_rate", 1e-3, 1));
  // Two steps per epoch: step 4 is the last of the second epoch.
  EXPECT_THAT(bytes, scalar("step/loss", history[1].loss, 4));
  EXPECT_THAT(
      bytes,
      HasSubstr(record_of(histogram_event(
          1, 2, "dense/bias",
          histogram_of(
              model.layers().back()->parameters()[1].variable.value())))));
}

TEST_F(TensorBoard, ReportsAnUnwritableFolderBeforeTraining) {
  put(folder_ / "file", "");
  const SymbolicTensor x = input({2});
  Model model(x, Dense({.units = 2})(x));
  const Dataset data(Tensor::zeros({2, 2}), Tensor::zeros({2}, DType::i64));
  EXPECT_THROW(train::fit(model, data,
                          {.batch_size = 2,
                           .callbacks = {tensorboard(folder_ / "file")}}),
               IoError);
  EXPECT_THROW(tensorboard(folder_.path(), {.every_steps = -1}), ValueError);
}

TEST_F(TensorBoard, RejectsAFolderThatIsAFile) {
  put(folder_ / "file", "");
  EXPECT_THROW(TensorBoardWriter(folder_ / "file"), IoError);
}

}  // namespace
}  // namespace octet::io
