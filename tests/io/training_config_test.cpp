// Training configuration in Keras files.
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <octet/io/keras.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "../temp_folder.h"
#include "../testdata.h"
#include "hdf5/writer.h"

namespace octet::io {
namespace {

/// A file in h5py's form with this training_config.
std::optional<TrainingConfig> of_h5(const Config& training_config) {
  const TempFolder folder;
  Hdf5Writer writer;
  writer.attribute("", "training_config", training_config);
  write_file(folder / "m.h5", writer.finish());
  return io::training_config(folder / "m.h5");
}

std::optional<TrainingConfig> of_optimizer(const std::string& json) {
  return of_h5(R"({"loss": "mse", "optimizer_config": )" + json + "}");
}

TEST(TrainingConfig, ReadsOptimizersOfKeras) {
  EXPECT_EQ(of_optimizer(R"({"class_name": "Adam", "config":
                             {"learning_rate": 0.002, "beta_1": 0.9}})"),
            (TrainingConfig{"adam", 0.002, false}));
  EXPECT_EQ(of_optimizer(R"({"class_name": "SGD", "config": {"lr": 0.1}})"),
            (TrainingConfig{"sgd", 0.1, false}));
  EXPECT_EQ(of_optimizer(R"({"class_name": "Addons>AdamW", "config":
             {"learning_rate": {"class_name": "__numpy__",
                                "config": {"value": 0.25,
                                           "dtype": "float32"}}}})"),
            (TrainingConfig{"adamw", 0.25, false}));
  EXPECT_EQ(of_optimizer(R"({"class_name": "LossScaleOptimizer", "config":
             {"inner_optimizer": {"class_name": "RMSprop",
                                  "config": {"learning_rate": 0.5}}}})"),
            (TrainingConfig{"rmsprop", 0.5, false}));
  EXPECT_EQ(of_optimizer(R"("sgd")"), (TrainingConfig{"sgd", 0.01, false}));
}

TEST(TrainingConfig, UsesTheLargestRateOfASchedule) {
  const auto rate = [](const std::string& schedule) {
    return of_optimizer(
        R"({"class_name": "SGD", "config": {"learning_rate": )" + schedule +
        "}}");
  };
  EXPECT_EQ(rate(R"({"class_name": "ExponentialDecay", "config":
                     {"initial_learning_rate": 0.1, "decay_rate": 0.9}})"),
            (TrainingConfig{"sgd", 0.1, true}));
  EXPECT_EQ(rate(R"({"class_name": "CosineDecay", "config":
                     {"initial_learning_rate": 0.0, "decay_steps": 10,
                      "warmup_target": 0.2}})"),
            (TrainingConfig{"sgd", 0.2, true}));
  EXPECT_EQ(rate(R"({"class_name": "PiecewiseConstantDecay", "config":
                     {"boundaries": [1, 2], "values": [0.5, 1.0, 0.1]}})"),
            (TrainingConfig{"sgd", 1.0, true}));
}

TEST(TrainingConfig, IgnoresInvalidEntries) {
  for (const char* optimizer :
       {R"({"class_name": "Adam"})", R"({"config": {}})", "7", "[]", "null",
        R"({"class_name": 3, "config": {"learning_rate": 1}})",
        R"({"class_name": "Adam", "config": {"learning_rate": -1}})",
        R"({"class_name": "Adam", "config": {"learning_rate": 0}})",
        R"({"class_name": "Adam", "config": {"learning_rate": 1e999}})",
        R"({"class_name": "Adam", "config": {"learning_rate": "x"}})",
        R"({"class_name": "Adam", "config": {"learning_rate": {}}})",
        R"("my_own")"}) {
    EXPECT_EQ(of_optimizer(optimizer), std::nullopt) << optimizer;
  }
  EXPECT_EQ(of_h5("{"), std::nullopt);
  EXPECT_EQ(of_h5("[]"), std::nullopt);
  EXPECT_EQ(of_h5(int64_t{3}), std::nullopt);
  std::string deep = R"("sgd")";
  for (int i = 0; i < 100; ++i) {
    deep = R"({"class_name": "A", "config": {"optimizer": )" + deep + "}}";
  }
  EXPECT_EQ(of_optimizer(deep), std::nullopt);
}

void add_number(std::string& text, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    text.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

/// A ZIP archive of two stored members.
std::string archive_of(const std::string& config) {
  std::string archive, directory;
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>("config.json", config),
        {"model.weights.h5", "weights"}}) {
    const auto crc = ::crc32(0, reinterpret_cast<const Bytef*>(text.data()),
                             static_cast<uInt>(text.size()));
    std::string head;
    for (const auto& [value, bytes] : {std::pair<uint64_t, int>(20, 2),
                                       {0, 2},
                                       {0, 2},
                                       {0, 4},
                                       {crc, 4},
                                       {text.size(), 4},
                                       {text.size(), 4},
                                       {name.size(), 2},
                                       {0, 2}}) {
      add_number(head, value, bytes);
    }
    const size_t offset = archive.size();
    archive += "PK\x03\x04" + head + name + text;
    directory += std::string("PK\x01\x02\x14\0", 6) + head;
    for (const int bytes : {2, 2, 2, 4}) add_number(directory, 0, bytes);
    add_number(directory, offset, 4);
    directory += name;
  }
  std::string end("PK\x05\x06\0\0\0\0\x02\0\x02\0", 12);
  add_number(end, directory.size(), 4);
  add_number(end, archive.size(), 4);
  return archive + directory + end + std::string(2, '\0');
}

TEST(TrainingConfig, ReadsArchivesOfKeras) {
  const TempFolder folder;
  const auto read = [&](const std::string& compile_config) {
    write_file(folder / "m.keras",
               archive_of(R"({"compile_config": )" + compile_config + "}"));
    return io::training_config(folder / "m.keras");
  };
  EXPECT_EQ(read(R"({"optimizer": {"module": "keras.optimizers", "class_name":
                     "Adam", "config": {"learning_rate": 0.003}}})"),
            (TrainingConfig{"adam", 0.003, false}));
  EXPECT_EQ(read(R"({"optimizer": "rmsprop", "loss": "mse"})"),
            (TrainingConfig{"rmsprop", 0.001, false}));
  EXPECT_EQ(read("{}"), std::nullopt);
  EXPECT_EQ(read("null"), std::nullopt);
}

TEST(TrainingConfig, OfATrainedFileOfOthers) {
  const auto path = testdata("models/pretrainedResnet.h5");
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << testdata() << ": no shared test data";
  }
  const auto found = io::training_config(path);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->optimizer, "adam");
  EXPECT_NEAR(found->rate, 6.636851594521431e-06, 1e-12);
  EXPECT_EQ(io::training_config(testdata("models/kws_ref_model_converted.h5")),
            std::nullopt);
}

TEST(TrainingConfig, IsPreservedInOctetsFiles) {
  const TempFolder folder;
  const SymbolicTensor x = input({2}, "x");
  const Model model(x, Dense({.units = 3})(x));
  save_model(model, folder / "a.h5");
  EXPECT_EQ(io::training_config(folder / "a.h5"), std::nullopt);
  const TrainingConfig config{"adamw", 0.001, true};
  save_model(model, folder / "b.h5", {.training = config});
  EXPECT_EQ(io::training_config(folder / "b.h5"), config);
  export_onnx(model, folder / "c.onnx");
  EXPECT_EQ(io::training_config(folder / "c.onnx"), std::nullopt);
  EXPECT_THROW((void)io::training_config(folder / "none.h5"), IoError);
}

}  // namespace
}  // namespace octet::io
