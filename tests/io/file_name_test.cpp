// Writers reject file names of other formats.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/zoo.h>
#include <octet/train/callback.h>

#include "../support.h"
#include "../temp_folder.h"

namespace octet::io {
namespace {

TEST(FileName, OfAnotherFormatIsRejectedByEachWriter) {
  const TempFolder folder;
  const Model model = zoo::make("lenet");
  const auto refused = [&](const std::function<void()>& write) {
    EXPECT_EQ(failure_of<ValueError>(write).code, "unsupported_format");
  };
  refused([&] { save_model(model, folder / "m.onnx"); });
  refused([&] { save_model(model, folder / "m.keras"); });
  refused([&] { save_checkpoint({}, folder / "m.onnx"); });
  refused([&] { (void)export_onnx(model, folder / "m.engine"); });
  refused([&] { (void)export_onnx(model, folder / "m.h5"); });
  refused([&] { write_npy(folder / "x.csv", Tensor::zeros({1})); });
  refused([&] { write_npy(folder / "x.npz", Tensor::zeros({1})); });
  refused([&] { save_spec({}, folder / "s.h5"); });
  refused([&] { save_plan({}, folder / "p.toml"); });
  refused([&] { (void)train::csv_log(folder / "l.json"); });
  EXPECT_TRUE(folder.empty());
  EXPECT_NO_THROW(write_npy(folder / "x", Tensor::zeros({1})));
  EXPECT_NO_THROW(save_model(model, folder / "m.model"));
}

}  // namespace
}  // namespace octet::io
