// Writers reject file names of other formats.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/checkpoint.h>
#include <octet/io/npy.h>
#include <octet/io/onnx.h>
#include <octet/io/placement_files.h>
#include <octet/layers/zoo.h>
#include <octet/train/callbacks.h>

#include "../support.h"
#include "../temp_folder.h"

namespace octet::io {
namespace {

using ::testing::HasSubstr;

TEST(FileName, OfAnotherFormatIsRejectedByEachWriter) {
  const TempFolder folder;
  const Model model = zoo::make("lenet");
  const auto refused = [&](const std::function<void()>& write,
                           const char* words) {
    EXPECT_THAT(error_of<ValueError>(write), HasSubstr(words));
  };
  refused([&] { save_model(model, folder / "m.onnx"); }, "io::export_onnx");
  refused([&] { save_model(model, folder / "m.keras"); }, "io::save_model");
  refused([&] { save_checkpoint({}, folder / "m.onnx"); }, ".h5");
  refused([&] { (void)export_onnx(model, folder / "m.engine"); }, "trtexec");
  refused([&] { (void)export_onnx(model, folder / "m.h5"); }, "io::save_model");
  refused([&] { write_npy(folder / "x.csv", Tensor::zeros({1})); }, ".npy");
  refused([&] { write_npy(folder / "x.npz", Tensor::zeros({1})); }, ".npy");
  refused([&] { save_spec({}, folder / "s.h5"); }, ".json");
  refused([&] { save_plan({}, folder / "p.toml"); }, ".json");
  refused([&] { (void)train::csv_log(folder / "l.json"); }, ".csv");
  EXPECT_TRUE(folder.empty());
  EXPECT_NO_THROW(write_npy(folder / "x", Tensor::zeros({1})));
  EXPECT_NO_THROW(save_model(model, folder / "m.model"));
}

}  // namespace
}  // namespace octet::io
