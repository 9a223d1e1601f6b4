#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/zoo.h>
#include <octet/runtime/error.h>

#include "support.h"

namespace octet::io {
namespace {

using ::testing::IsEmpty;

TEST(ClassNames, AreKeptInModelsAndOnnxFiles) {
  const TempFolder folder;
  const Model model = zoo::make("lenet", {.classes = 3});
  const std::vector<std::string> names = {"cat", "\"dog\", \xc3\xa4", ""};
  save_model(model, folder / "with.h5", {.classes = names});
  save_model(model, folder / "without.h5");
  export_onnx(model, folder / "with.onnx", {.classes = names});
  export_onnx(model, folder / "without.onnx");
  EXPECT_EQ(class_names(folder / "with.h5"), names);
  EXPECT_EQ(class_names(folder / "with.onnx"), names);
  EXPECT_THAT(class_names(folder / "without.h5"), IsEmpty());
  EXPECT_THAT(class_names(folder / "without.onnx"), IsEmpty());
  EXPECT_EQ(load_model(folder / "with.h5").parameter_count(),
            model.parameter_count());
  EXPECT_THROW(save_model(model, folder / "with.h5", {.classes = {"a", "b"}}),
               ValueError);
  EXPECT_EQ(class_names(folder / "with.h5"), names);
}

TEST(TrainedPreprocess, IsKeptInModelsAndOnnxFiles) {
  const TempFolder folder;
  const Model model = zoo::make("lenet", {.classes = 3});
  save_model(model, folder / "with.h5", {.preprocess = "caffe"});
  save_model(model, folder / "without.h5");
  export_onnx(model, folder / "with.onnx", {.preprocess = "torch"});
  export_onnx(model, folder / "without.onnx");
  EXPECT_EQ(trained_preprocess(folder / "with.h5"), "caffe");
  EXPECT_EQ(trained_preprocess(folder / "with.onnx"), "torch");
  EXPECT_EQ(trained_preprocess(folder / "without.h5"), "");
  EXPECT_EQ(trained_preprocess(folder / "without.onnx"), "");
  EXPECT_THROW(save_model(model, folder / "with.h5", {.preprocess = "Torch!"}),
               ValueError);
  EXPECT_EQ(trained_preprocess(folder / "with.h5"), "caffe");
  EXPECT_THROW((void)to_onnx(model, {.preprocess = "Torch!"}), ValueError);
}

TEST(TrainedResize, IsKeptInModelsAndOnnxFiles) {
  const TempFolder folder;
  const Model model = zoo::make("lenet", {.classes = 3});
  save_model(model, folder / "with.h5", {.resize = "bilinear pad 114"});
  save_model(model, folder / "without.h5");
  export_onnx(model, folder / "with.onnx", {.resize = "antialias crop 256"});
  export_onnx(model, folder / "without.onnx");
  EXPECT_EQ(trained_resize(folder / "with.h5"), "bilinear pad 114");
  EXPECT_EQ(trained_resize(folder / "with.onnx"), "antialias crop 256");
  EXPECT_EQ(trained_resize(folder / "without.h5"), "");
  EXPECT_EQ(trained_resize(folder / "without.onnx"), "");
  EXPECT_THROW(save_model(model, folder / "with.h5", {.resize = "area"}),
               ValueError);
  EXPECT_THROW((void)to_onnx(model, {.resize = "area"}), ValueError);
}

}  // namespace
}  // namespace octet::io
