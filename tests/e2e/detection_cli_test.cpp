// Average precision of detectors on the command line.
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/layers/dense.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/file.h>

#include "command.h"
#include "png_files.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kHeight = 32, kWidth = 48;

/// Returns a detector that finds the same boxes in every image.
Model constant_detector(const std::vector<float>& output, int64_t values) {
  const int64_t size = std::ssize(output);
  const auto x = input({kHeight, kWidth, 1}, "x");
  auto y = Flatten()(x);
  y = Dense({.units = size, .name = "boxes"})(y);
  y = Reshape({.target_shape = {size / values, values}})(y);
  Model model(x, y);
  Layer& dense = model.layer("boxes");
  for (float& v : dense.parameter("kernel").variable.mutable_value()) v = 0;
  dense.parameter("bias").variable.assign(
      Tensor::of<float>({size}, std::span<const float>(output)));
  return model;
}

class DetectionCli : public ::testing::Test {
 protected:
  /// Two images: half as large as the input, and letterboxed by 8 columns left
  /// and right.
  DetectionCli() {
    put("images/a.png", png_file(24, std::vector<uint8_t>(24 * 16, 100)));
    put("images/b.png", png_file(32, std::vector<uint8_t>(32 * 32, 100)));
    put("labels/a.txt", "0 0.5 0.5 0.33333333333 0.25\n");
    put("labels/b.txt", "0 0.5 0.5 0.5 0.25\n1 0.25 0.25 0.1 0.1\n");
    put("names.txt", "ball\nbox\n");
    // A box of 16x8 pixels in the center; one without a score.
    io::export_onnx(constant_detector({24, 16, 16, 8, 0.9f, 0,  //
                                       10, 10, 4, 4, 0, 0},
                                      6),
                    folder_ / "d.onnx");
  }
  void put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    write_file(folder_ / name, text);
  }
  CommandResult evaluate(const std::string& arguments) const {
    return run_command(
        fmt::format("cd {} && {}/octet evaluate --task detection {} 2>&1",
                    quoted(folder_.path()), OCTET_BIN, arguments));
  }
  Config scores(const std::string& arguments) const {
    const CommandResult r = evaluate(arguments + " --json");
    EXPECT_EQ(r.exit_code, 0) << r.output;
    return r.json();
  }
  Failure refused(const std::string& arguments) const {
    const CommandResult r = evaluate(arguments);
    EXPECT_EQ(r.exit_code, 1) << arguments << "\n" << r.output;
    return r.failure;
  }
  static double ball(const Config& scores) {
    return scores.at("classes").as_list()[0].at("ap50_95").as_number();
  }

  const std::string kModel =
      "d.onnx --data images --class-names names.txt --head yolov8";
  TempFolder folder_;
};

// Both balls are detected at their positions; the box is missed.
TEST_F(DetectionCli, MapsBoxesToTheImages) {
  const Config yolo = scores(kModel);
  EXPECT_NEAR(ball(yolo), 1, 1e-9);
  EXPECT_NEAR(yolo.at("map50").as_number(), 0.5, 1e-9);
  EXPECT_EQ(yolo.at("images").as_int(), 2);
  // Stretched, the ball of b.png is 11 pixels wide instead of 16: overlap 2/3.
  const double stretched = ball(scores(kModel + " --crop none"));
  EXPECT_GT(stretched, 0.5);
  EXPECT_LT(stretched, 0.9);
  const CommandResult text = evaluate(kModel);
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.output, HasSubstr("2 images, 3 objects of 2 classes"));
  EXPECT_THAT(text.output, HasSubstr("ball"));
}

TEST_F(DetectionCli, ReadsCocoFiles) {
  put("coco.json", R"({
    "categories": [{"id": 7, "name": "box"}, {"id": 3, "name": "ball"}],
    "images": [
      {"id": 1, "file_name": "a.png", "width": 24, "height": 16},
      {"id": 2, "file_name": "b.png", "width": 32, "height": 32}],
    "annotations": [
      {"id": 1, "image_id": 1, "category_id": 3, "bbox": [8, 6, 8, 4]},
      {"id": 2, "image_id": 2, "category_id": 3, "bbox": [8, 12, 16, 8]},
      {"id": 3, "image_id": 2, "category_id": 7, "bbox": [0, 0, 0, 5]}]})");
  const std::string model = "d.onnx --data images --head yolov8 --labels ";
  const Config coco = scores(model + "coco.json 2>/dev/null");
  EXPECT_NEAR(ball(coco), 1, 1e-9);
  EXPECT_NEAR(coco.at("map50_95").as_number(), 1, 1e-9);
  EXPECT_THAT(evaluate(model + "coco.json").output,
              HasSubstr("ignored 1 boxes without area"));
  put("other.json", R"({"categories": [{"id": 1, "name": "x"}],
    "images": [{"id": 1, "file_name": "a.png", "width": 24, "height": 16}],
    "annotations": [
      {"id": 5, "image_id": 1, "category_id": 2, "bbox": [0, 0, 4, 4]}]})");
  EXPECT_EQ(refused(model + "other.json").text(),
            "annotation 5 has an unknown category");
  put("outside.json", R"({"categories": [{"id": 1, "name": "x"}],
    "images": [{"id": 1, "file_name": "a.png", "width": 24, "height": 16}],
    "annotations": [
      {"id": 5, "image_id": 1, "category_id": 1, "bbox": [30, 0, 4, 4]}]})");
  EXPECT_THAT(refused(model + "outside.json").text(),
              HasSubstr("the box of annotation 5 is outside of its image"));
  put("list.json", "[]");
  EXPECT_THAT(refused(model + "list.json").text(), HasSubstr("categories"));
}

// The order of the ids counted, also with names in the order of the outputs.
TEST_F(DetectionCli, NumbersCategoriesByTheirNames) {
  put("coco.json", R"({
    "categories": [{"id": 1, "name": "box"}, {"id": 2, "name": "ball"}],
    "images": [{"id": 1, "file_name": "a.png", "width": 24, "height": 16}],
    "annotations": [
      {"id": 1, "image_id": 1, "category_id": 2, "bbox": [8, 6, 8, 4]},
      {"id": 2, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}]})");
  EXPECT_NEAR(ball(scores(kModel + " --labels coco.json")), 1, 1e-9);
  EXPECT_EQ(scores(kModel + " --labels coco.json")
                .at("classes")
                .as_list()[0]
                .at("name"),
            Config("ball"));
  EXPECT_THAT(refused("d.onnx --data images --labels coco.json --head yolov8 "
                      "--class-names ball,cube")
                  .text(),
              HasSubstr("category 'box' is none of the model's 'ball'"));
}

TEST_F(DetectionCli, RefusesBadLabels) {
  const auto reason = [&](const std::string& row) {
    put("labels/a.txt", row);
    return refused(kModel).text();
  };
  EXPECT_THAT(reason("0 0.5 0.5\n"), HasSubstr("must have 5 numbers"));
  EXPECT_THAT(refused(kModel).subject, HasSubstr("a.txt, line 1"));
  EXPECT_THAT(reason("0 12 8 8 4\n"), HasSubstr("divide pixels"));
  EXPECT_THAT(reason("0 0.5 -0.5 0.1 0.1\n"), HasSubstr("got -0.5"));
  EXPECT_THAT(reason("0 0.5 nan 0.1 0.1\n"), HasSubstr("0 to 1, got nan"));
  EXPECT_THAT(reason("ball 0.5 0.5 0.1 0.1\n"), HasSubstr("'ball'"));
  EXPECT_THAT(reason("0.5 0.5 0.5 0.1 0.1\n"), HasSubstr("whole number"));
  EXPECT_THAT(reason("2 0.5 0.5 0.1 0.1\n"), HasSubstr("class 2"));
  // An outline, an empty line and a file without objects.
  put("labels/a.txt",
      "0 0.33333333333 0.375 0.66666666667 0.375 0.5 0.625\n\n");
  put("labels/b.txt", "");
  EXPECT_NEAR(ball(scores(kModel)), 1, 0.01);
  std::filesystem::remove_all(folder_ / "labels");
  EXPECT_THAT(refused(kModel).text(), HasSubstr("not found"));
}

TEST_F(DetectionCli, NamesWhatIsMissing) {
  EXPECT_THAT(refused("d.onnx --data images").text(),
              HasSubstr("number of classes is unknown"));
  EXPECT_THAT(refused("d.onnx --data images --class-names names.txt").text(),
              HasSubstr("several layouts"));
  EXPECT_THAT(refused(kModel + " --crop 0.9").text(),
              HasSubstr("count as missed"));
  EXPECT_THAT(refused(kModel + " --confusion").text(), HasSubstr("apply"));
  EXPECT_THAT(refused("d.onnx --data data.yaml --class-names names.txt").text(),
              HasSubstr("--data IMAGES --labels LABELS"));
}

}  // namespace
}  // namespace octet
