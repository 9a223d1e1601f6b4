// Octet's own files: round trips of models, in Keras' layout.
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/zoo.h>
#include <octet/runtime/file.h>

#include "../e2e/command.h"
#include "checkpoint/values.h"
#include "checkpoint_models.h"
#include "hdf5/reader.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

TEST(ModelFile, RestoresAFloatModel) {
  const TempFolder folder;
  const Model model = branches();
  save_model(model, folder / "a.h5");
  expect_equal(load_model(folder / "a.h5"), model);
}

TEST(ModelFile, RestoresAQuantizedModelAndItsSwitches) {
  const TempFolder folder;
  Model model = quantized_branches();
  save_model(model, folder / "a.h5");
  Model loaded = load_model(folder / "a.h5");
  expect_equal(loaded, model);
  EXPECT_FALSE(quant::quantizers(loaded)[0]->enabled());
  EXPECT_EQ(loaded.training_passes(), 1234u);
  EXPECT_TRUE(loaded.layer("quant_norm").statistics_frozen());
  EXPECT_FALSE(loaded.layer("quant_logits").trainable());
  // Random layers and the next training pass are equal, too.
  const Tensor x = noise({2, 6, 5, 2});
  const Variable inputs[] = {Variable(x), Variable(x)};
  EXPECT_EQ(bits(loaded(inputs, Mode::training)[0]),
            bits(model(inputs, Mode::training)[0]));
}

TEST(ModelFile, IsASessionFileByItsExtension) {
  const TempFolder folder;
  const SaveModelOptions options{
      .classes = {"a", "b", "c"},
      .preprocess = "caffe",
      .resize = "nearest",
      .training = TrainingConfig{.optimizer = "adam", .rate = 0.01}};
  const Model model = quantized_branches();
  save_model(model, folder / "a.octet", options);
  EXPECT_TRUE(is_octet_file(folder / "a.octet"));
  const Model loaded = load_model(folder / "a.octet");
  EXPECT_EQ(to_config(loaded), to_config(model));
  EXPECT_EQ(outputs_of(loaded), outputs_of(model));
  EXPECT_EQ(class_names(folder / "a.octet"), options.classes);
  EXPECT_EQ(trained_preprocess(folder / "a.octet"), "caffe");
  EXPECT_EQ(trained_resize(folder / "a.octet"), "nearest");
  EXPECT_EQ(training_config(folder / "a.octet")->rate, 0.01);
  EXPECT_EQ(failure_of<FormatError>(
                [&] { (void)load_checkpoint(folder / "a.octet"); }),
            (Failure{"unsupported_format", "file"}));
}

TEST(ModelFile, PreservesFixedScalesPerChannel) {
  const TempFolder folder;
  Model model =
      quant::quantize_model(zoo::make("resnet8", {.input = {16, 16, 3}}));
  for (const auto& quantizer : quant::quantizers(model)) {
    if (!quantizer->calibrated()) quantizer->set_scale(0.05f);
  }
  const Model folded = quant::fold_batch_norm(model);
  save_model(folded, folder / "a.h5");
  const Model loaded = load_model(folder / "a.h5");
  const Tensor x = noise({2, 16, 16, 3});
  EXPECT_EQ(bits(Variable(loaded.predict(x))),
            bits(Variable(folded.predict(x))));
}

TEST(ModelFile, RestoresNetworksOfTheZoo) {
  const TempFolder folder;
  const std::pair<const char*, Shape> networks[] = {
      {"lenet", {28, 28, 1}},   {"resnet8", {32, 32, 3}},
      {"ds_cnn", {49, 10, 1}},  {"unet", {32, 32, 3}},
      {"merry", {28, 28}},      {"efficientnet_b0", {32, 32, 3}},
      {"vit_tiny", {32, 32, 3}}};
  for (const auto& [name, shape] : networks) {
    SCOPED_TRACE(name);
    const Model model = zoo::make(name, {.input = shape});
    const Model quantized = quant::quantize_model(model);
    save_model(quantized, folder / "a.h5");
    const Model loaded = load_model(folder / "a.h5");
    EXPECT_EQ(to_config(loaded), to_config(quantized));
    EXPECT_EQ(weight_bits(loaded), weight_bits(quantized));
  }
}

TEST(ModelFile, PreservesSharingBetweenNestedModels) {
  const SymbolicTensor a = input({4}, "a");
  Model encoder(a, Dense({.units = 4, .name = "d"})(a), {.name = "encoder"});
  const SymbolicTensor x = input({4}, "x");
  const SymbolicTensor y = Dense({.units = 4, .name = "d"})(x);
  const Model model(x, encoder(encoder(y)), {.name = "outer"});
  const TempFolder folder;
  save_model(model, folder / "a.h5");
  const Model loaded = load_model(folder / "a.h5");
  expect_equal(loaded, model);
  EXPECT_EQ(loaded.parameter_count(), model.parameter_count());
}

TEST(ModelFile, IsLoadedWithinTheGivenLimits) {
  const TempFolder folder;
  Model model = quantized_branches();
  save_model(model, folder / "a.h5");
  expect_equal(load_model(folder / "a.h5", {.isolation = Isolation::none}),
               model);
  const FileLimits no_time{.time_limit = 1e-9};
  EXPECT_EQ(failure_of<FormatError>(
                [&] { (void)load_model(folder / "a.h5", no_time); }),
            (Failure{"time_limit", "HDF5 file"}));
  EXPECT_EQ(failure_of<FormatError>(
                [&] { load_weights(model, folder / "a.h5", no_time); }),
            (Failure{"time_limit", "HDF5 file"}));
}

TEST(ModelFile, IsReproducible) {
  const TempFolder folder;
  save_model(quantized_branches(), folder / "a.h5");
  save_model(quantized_branches(), folder / "b.h5");
  EXPECT_EQ(read_file(folder / "a.h5"), read_file(folder / "b.h5"));
}

TEST(ModelFile, IsWrittenBySeveralThreadsAtOnce) {
  const TempFolder folder;
  const Model model = branches();
  save_model(model, folder / "a.h5");
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        save_model(model, folder / fmt::format("{}.h5", i));
        expect_equal(load_model(folder / fmt::format("{}.h5", i)), model);
      });
    }
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(read_file(folder / fmt::format("{}.h5", i)),
              read_file(folder / "a.h5"));
  }
}

TEST(ModelFile, IsReadableByH5pyInKerasLayout) {
  const TempFolder folder;
  const Model model = quantized_branches();
  save_model(model, folder / "a.h5");
  const CommandResult result =
      run_h5py_script("read_checkpoint.py", folder / "a.h5");
  if (result.exit_code == 77) GTEST_SKIP() << result.output;
  ASSERT_EQ(result.exit_code, 0) << result.output;
  std::istringstream lines(result.output);
  std::vector<std::string> paths;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string layer, path, type;
    words >> layer >> path >> type;
    EXPECT_EQ(type, "<f4");
    paths.push_back(path);
    const size_t slash = path.rfind('/');
    const std::string name = path.substr(slash + 1, path.size() - slash - 3);
    const auto wanted = [&] {
      for (const auto& each : model.layers()) {
        if (quant::float_layer(*each).name() == layer) {
          return each->parameter(name).variable.value();
        }
      }
      throw NotFoundError("unknown_name", layer, "no such layer");
    }();
    std::string word;
    std::getline(words, word, ']');
    std::string shape;
    for (const char c : word.substr(word.find('['))) {
      if (c != ' ') shape += c;
    }
    EXPECT_EQ(shape + "]", wanted.shape().to_string()) << path;
    std::vector<float> numbers;
    while (words >> word) {
      numbers.push_back(std::strtof(word.c_str(), nullptr));
    }
    EXPECT_EQ(numbers, values(wanted)) << path;
  }
  EXPECT_THAT(paths, ElementsAre("shared/kernel:0", "shared/bias:0",
                                 "norm/gamma:0", "norm/beta:0",
                                 "norm/moving_mean:0", "norm/moving_variance:0",
                                 "logits/kernel:0", "logits/bias:0"));
}

TEST(ModelFile, HasAttributesThatOtherProgramsCanRead) {
  const TempFolder folder;
  save_model(quantized_branches(), folder / "a.h5");
  // The HDF5 library ignores the checksum after the image.
  const Hdf5Reader reader(read_file(folder / "a.h5"), "a.h5");
  EXPECT_EQ(reader.attribute("model_weights", "keras_version"),
            Config("2.15.0"));
  EXPECT_EQ(reader.attribute("model_weights", "backend"), Config("tensorflow"));
  EXPECT_EQ(reader.strings("model_weights", "layer_names"),
            (std::vector<std::string>{"left", "right", "shared", "add", "norm",
                                      "relu", "flat", "logits"}));
  EXPECT_EQ(reader.strings("model_weights/add", "weight_names"),
            std::vector<std::string>());
  EXPECT_EQ(reader.attribute("octet", "format"), Config(1));
  const Config status =
      from_text(reader.attribute("octet", "status")->as_string());
  EXPECT_EQ(status.at("frozen_statistics").as_list().size(), 1u);
}

TEST(LoadWeights, AcceptsFloatAndQuantizedCounterparts) {
  const TempFolder folder;
  const Model trained = branches();
  save_model(trained, folder / "float.h5");
  save_model(quantized_branches(), folder / "int8.h5");
  for (const char* name : {"float.h5", "int8.h5"}) {
    Model fresh = trained.clone();
    for (const Parameter& p : fresh.parameters()) {
      p.variable.assign(Tensor::zeros(p.variable.shape()));
    }
    Model quantized = quant::quantize_model(fresh);
    load_weights(fresh, folder / name);
    load_weights(quantized, folder / name);
    EXPECT_EQ(weight_bits(fresh), weight_bits(trained)) << name;
    EXPECT_EQ(weight_bits(quantized), weight_bits(trained)) << name;
    EXPECT_FALSE(quant::quantizers(quantized)[0]->scale()) << name;
  }
}

TEST(LoadWeights, ChangesNothingOnAMismatch) {
  const TempFolder folder;
  save_model(branches(), folder / "a.h5");
  const SymbolicTensor x = input({6, 5, 2}, "x");
  Model other(x, Dense({.units = 4, .name = "head"})(Flatten({.name = "flat"})(
                     Conv2D({.filters = 3, .name = "shared"})(x))));
  const auto before = weight_bits(other);
  EXPECT_EQ(
      failure_of<ValueError>([&] { load_weights(other, folder / "a.h5"); }),
      (Failure{"count_mismatch", "model 'model'"}));
  EXPECT_EQ(weight_bits(other), before);
  const Model wider(x, Conv2D({.filters = 4, .name = "shared"})(x));
  save_model(wider, folder / "wider.h5");
  Model narrow(x, Conv2D({.filters = 3, .name = "shared"})(x));
  EXPECT_EQ(failure_of<ShapeError>(
                [&] { load_weights(narrow, folder / "wider.h5"); }),
            (Failure{"shape_mismatch", "weight 'shared/kernel'"}));
}

TEST(ModelFile, RejectsNamesThatItCannotStore) {
  const TempFolder folder;
  const auto refusal = [&](const std::string& name) {
    const SymbolicTensor x = input({4}, "x");
    const Model model(x, Dense({.units = 2, .name = name})(x));
    return failure_of<ValueError>([&] { save_model(model, folder / "a.h5"); });
  };
  EXPECT_EQ(refusal(".."),
            (Failure{"invalid_value", "HDF5 path 'model_weights/..'"}));
  EXPECT_EQ(refusal("a//b"),
            (Failure{"invalid_value", "HDF5 path 'model_weights/a//b'"}));
  EXPECT_EQ(refusal("caf\xe9"), (Failure{"invalid_value", "checkpoint"}));
  EXPECT_EQ(refusal(std::string("a\0b", 3)),
            (Failure{"invalid_value", "HDF5 path"}));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.h5"));
  EXPECT_EQ(refusal("caf\xc3\xa9 0 ' \" \n"), (Failure{"no error", ""}));
  EXPECT_EQ(load_model(folder / "a.h5").layers()[1]->name(),
            "caf\xc3\xa9 0 ' \" \n");
}

}  // namespace
}  // namespace octet::io
