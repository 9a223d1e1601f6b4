// Image files on the command line: resizing, folders and classes.
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/convolution.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/file.h>

#include "command.h"
#include "png_files.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Returns a gray PNG of one row.
std::string png_row(const std::vector<uint8_t>& pixels) {
  return png_file(pixels.size(), pixels);
}

class PhotosCli : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::vector<uint8_t>& pixels) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    write_file(folder_ / name, png_row(pixels));
  }
  CommandResult octet(const std::string& arguments) const {
    return run_command(fmt::format("cd {} && {}/octet {} 2>&1",
                                   quoted(folder_.path()), OCTET_BIN,
                                   arguments));
  }
  CommandResult done(const std::string& arguments) const {
    CommandResult r = octet(arguments);
    EXPECT_EQ(r.exit_code, 0) << arguments << "\n" << r.output;
    return r;
  }
  Failure refused(const std::string& arguments) const {
    const CommandResult r = octet(arguments);
    EXPECT_NE(r.exit_code, 0) << arguments << "\n" << r.output;
    return r.failure;
  }
  std::vector<float> predicted(const std::string& arguments) const {
    (void)done("predict " + arguments + " --output y.npy");
    const Tensor y = io::read_npy(folder_ / "y.npy");
    return {y.f32().begin(), y.f32().end()};
  }
  /// Returns a model whose outputs are the pixels of images of one row.
  static Model pixels(int64_t width) {
    const auto x = input({1, width, 1}, "x");
    return Model(x, Flatten()(x));
  }

  TempFolder folder_;
};

// Expected: weights (3, 3, 1) / 7 and (1, 3, 3, 1) / 8 of the widened triangle
// filter, and means of the two nearest pixels.
TEST_F(PhotosCli, ResizesAsTheModelFileSays) {
  put("a.png", {70, 0, 140, 0, 80, 0});
  const std::string none = " --input a.png --preprocess none";
  io::save_model(pixels(3), folder_ / "plain.h5");
  io::export_onnx(pixels(3), folder_ / "plain.onnx");
  io::save_model(pixels(3), folder_ / "keras.h5", {.resize = "bilinear"});
  for (const char* file : {"plain.h5", "plain.onnx"}) {
    EXPECT_THAT(predicted(file + none), ElementsAre(50, 63, 34));
    EXPECT_THAT(predicted(file + none + " --resize bilinear"),
                ElementsAre(35, 70, 40));
  }
  EXPECT_THAT(predicted("keras.h5" + none), ElementsAre(35, 70, 40));
  // Derived files keep the resizing.
  (void)done("fold keras.h5 -o fold.h5");
  (void)done("fold keras.h5 -o fold.onnx");
  (void)done("convert keras.h5 convert.onnx");
  for (const char* file : {"fold.h5", "fold.onnx", "convert.onnx"}) {
    EXPECT_EQ(io::trained_resize(folder_ / file), "bilinear");
    EXPECT_THAT(predicted(file + none), ElementsAre(35, 70, 40)) << file;
  }
  EXPECT_THAT(done("predict keras.h5 --resize nearest" + none).warned(),
              ElementsAre("--resize, --crop, --pad"));
}

TEST_F(PhotosCli, ResizesLikeKerasForKerasFiles) {
  // A Keras file with input [6,5,3].
  const std::string keras = quoted(std::filesystem::path(
      OCTET_SOURCE_DIR "/tests/golden/keras/k2_sequence.h5"));
  put("a.png", {70, 0, 140, 0, 80, 0});
  EXPECT_THAT(done("predict " + keras + " --input a.png").output,
              HasSubstr("resize bilinear as Keras"));
  (void)done("convert " + keras + " k.onnx");
  EXPECT_EQ(io::trained_resize(folder_ / "k.onnx"), "bilinear");
}

TEST_F(PhotosCli, CropsAndPads) {
  put("a.png", {9, 1, 2, 9});
  io::save_model(pixels(2), folder_ / "two.h5");
  const std::string args = "two.h5 --input a.png --preprocess none ";
  EXPECT_THAT(predicted(args + "--resize bilinear --crop aspect"),
              ElementsAre(1, 2));
  EXPECT_EQ(refused("predict " + args + "--crop 1 --pad"),
            (Failure{"conflicting_options", "--crop, --pad"}));
  EXPECT_EQ(refused("predict " + args + "--crop x"),
            (Failure{"invalid_value", "--crop"}));
  EXPECT_EQ(refused("predict " + args + "--resize area"),
            (Failure{"invalid_value", "--resize"}));
  EXPECT_EQ(refused("predict " + args + "--pad 300"),
            (Failure{"out_of_range", "--pad"}));
  EXPECT_THAT(done("predict " + args + "--pad").output, HasSubstr("pad 114"));
}

TEST_F(PhotosCli, MapsFoldersToOutputsByName) {
  for (const char* name : {"0", "1", "2", "3", "4", "5"}) {
    put(fmt::format("photos/dog/{}.png", name), {200, 10});
    put(fmt::format("photos/cat/{}.png", name), {10, 200});
  }
  io::save_model(pixels(2), folder_ / "named.h5", {.classes = {"dog", "cat"}});
  io::save_model(pixels(2), folder_ / "plain.h5");
  EXPECT_THAT(done("evaluate named.h5 --data photos").output,
              AllOf(HasSubstr("cat -> 1, dog -> 0"), HasSubstr("100.00 %"),
                    HasSubstr("preprocessing: resize antialias")));
  const auto evaluated = [&](const std::string& options) {
    const Config result =
        done("evaluate " + options + " --data photos --json").json();
    return std::tuple(result.at("folders").at("cat").as_int(),
                      result.at("folders").at("dog").as_int(),
                      result.at("accuracy").as_number());
  };
  EXPECT_EQ(evaluated("named.h5"), std::tuple(1, 0, 1.0));
  EXPECT_EQ(evaluated("plain.h5"), std::tuple(0, 1, 0.0));
  write_file(folder_ / "names.txt", std::string("dog\r\ncat\n"));
  write_file(folder_ / "data.yaml", std::string("nc: 2\nnames:\n  0: dog\n"
                                                "  1: cat\n"));
  write_file(folder_ / "names.json", std::string("{\"cat\": 1, \"dog\": 0}"));
  for (const char* names :
       {"dog,cat", "names.txt", "data.yaml", "names.json"}) {
    EXPECT_EQ(evaluated(fmt::format("plain.h5 --class-names {}", names)),
              std::tuple(1, 0, 1.0))
        << names;
  }
  for (const char* names : {"dog", "dog,cat,emu", "dog,emu", "none.txt"}) {
    (void)refused(
        fmt::format("evaluate plain.h5 --data photos --class-names {}", names));
  }
}

TEST_F(PhotosCli, PredictsImagesAndFolders) {
  put("photos/a.png", {0, 255});
  put("photos/in/b.png", {255, 0});
  io::save_model(pixels(2), folder_ / "m.h5", {.classes = {"dog", "cat"}});
  EXPECT_THAT(done("predict m.h5 --input photos/a.png").output,
              AllOf(HasSubstr("1 image"), HasSubstr("photos/a.png: cat 1")));
  EXPECT_THAT(done("predict m.h5 --input photos --output r.csv").output,
              AllOf(HasSubstr("2 images"), HasSubstr("in/b.png: dog 1")));
  EXPECT_EQ(read_file(folder_ / "r.csv"),
            "file,output,class,score\nphotos/a.png,1,cat,1\n"
            "photos/in/b.png,0,dog,1\n");
  (void)done("predict m.h5 --input photos --output r.json");
  const Config json = io::from_json(read_file(folder_ / "r.json"));
  EXPECT_EQ(
      json.as_list()[1].at("classes").as_list()[0].at("class").as_string(),
      "dog");
  // An NCHW file with a fixed batch size.
  io::export_onnx(pixels(2), folder_ / "m.onnx", {.batch = 8});
  EXPECT_THAT(predicted("m.onnx --input photos"), ElementsAre(0, 1, 1, 0));
}

TEST_F(PhotosCli, RejectsOtherFiles) {
  io::save_model(pixels(2), folder_ / "m.h5");
  write_file(folder_ / "a.bmp", std::string("BM"));
  write_file(folder_ / "l.npy", std::string("x"));
  EXPECT_EQ(refused("predict m.h5 --input a.bmp"),
            (Failure{"unsupported_format", "a.bmp"}));
  put("a.png", {1, 2});
  EXPECT_EQ(refused("predict m.h5 --input a.png --labels l.npy"),
            (Failure{"conflicting_options", "--labels"}));
  io::write_npy(folder_ / "x.npy", Tensor::zeros({1, 1, 2, 1}));
  EXPECT_EQ(
      refused("predict m.h5 --input x.npy --output y.npy --resize nearest"),
      (Failure{"conflicting_options",
               "--preprocess, --resize, --crop, --pad, --skip-corrupt"}));
}

TEST_F(PhotosCli, CalibratesOnImagesInAnyFolder) {
  for (uint8_t i = 1; i <= 8; ++i) {
    put(fmt::format("yolo/images/{}.png", i),
        {i, static_cast<uint8_t>(30 * i), 9, 200});
  }
  std::filesystem::create_directories(folder_ / "yolo/labels");
  const auto x = input({4, 4, 1}, "x");
  const auto y = Conv2D({.filters = 2, .kernel_size = 3})(x);
  io::save_model(Model(x, Flatten()(y)), folder_ / "m.h5");
  (void)done("quantize m.h5 -o q.onnx --data yolo --resize bilinear --pad");
  EXPECT_EQ(io::trained_resize(folder_ / "q.onnx"), "bilinear pad 114");
  EXPECT_EQ(refused("evaluate m.h5 --data yolo"),
            (Failure{"malformed_file", "yolo/labels"}));
  // Folders that do not match the outputs of the model.
  for (uint8_t i = 1; i <= 4; ++i) {
    put(fmt::format("years/2021/{}.png", i), {i, 2, 90, 4});
    put(fmt::format("years/2022/{}.png", i), {1, i, 3, 200});
  }
  EXPECT_THAT(done("quantize m.h5 -o q.onnx --data years").warned(),
              ElementsAre("--data"));
}

}  // namespace
}  // namespace octet
