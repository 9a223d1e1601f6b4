// Octet's own files: models that come back, in Keras' layout.
#include <charconv>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/registry.h>
#include <octet/layers/zoo.h>
#include <octet/runtime/file.h>

#include "../e2e/command.h"
#include "checkpoint/seal.h"
#include "checkpoint/values.h"
#include "checkpoint_models.h"
#include "crc32c.h"
#include "hdf5/reader.h"
#include "hdf5/writer.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void expect_equal(const Model& loaded, const Model& model) {
  EXPECT_EQ(to_config(loaded), to_config(model));
  EXPECT_EQ(weight_bits(loaded), weight_bits(model));
  EXPECT_EQ(outputs_of(loaded), outputs_of(model));
  EXPECT_EQ(quant::state_of(loaded).status, quant::state_of(model).status);
  EXPECT_EQ(quant::plan_of(loaded), quant::plan_of(model));
  EXPECT_EQ(loaded.summary(), model.summary());
}

TEST(ModelFile, GivesAFloatModelBack) {
  const TempFolder folder;
  const Model model = branches();
  save_model(model, folder / "a.h5");
  expect_equal(load_model(folder / "a.h5"), model);
}

TEST(ModelFile, GivesAQuantizedModelBackWithItsSwitches) {
  const TempFolder folder;
  const Model model = quantized_branches();
  save_model(model, folder / "a.h5");
  const Model loaded = load_model(folder / "a.h5");
  expect_equal(loaded, model);
  EXPECT_FALSE(quant::quantizers(loaded)[0]->enabled());
  EXPECT_EQ(loaded.training_passes(), 1234u);
  EXPECT_TRUE(loaded.layer("quant_norm").statistics_frozen());
  EXPECT_FALSE(loaded.layer("quant_logits").trainable());
  // Random layers and the next pass in training are the same, too.
  const Tensor x = noise({2, 6, 5, 2});
  const Variable inputs[] = {Variable(x), Variable(x)};
  EXPECT_EQ(bits(loaded(inputs, Mode::training)[0]),
            bits(model(inputs, Mode::training)[0]));
}

TEST(ModelFile, KeepsFixedScalesPerChannel) {
  const TempFolder folder;
  const Model model =
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

TEST(ModelFile, GivesNetworksOfTheZooBack) {
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

TEST(ModelFile, KeepsWhatNestedModelsHaveInCommon) {
  const SymbolicTensor a = input({4}, "a");
  const Model encoder(a, Dense({.units = 4, .name = "d"})(a),
                      {.name = "encoder"});
  const SymbolicTensor x = input({4}, "x");
  const SymbolicTensor y = Dense({.units = 4, .name = "d"})(x);
  const Model model(x, encoder(encoder(y)), {.name = "outer"});
  const TempFolder folder;
  save_model(model, folder / "a.h5");
  const Model loaded = load_model(folder / "a.h5");
  expect_equal(loaded, model);
  EXPECT_EQ(loaded.parameter_count(), model.parameter_count());
}

TEST(ModelFile, IsReadWithinTheLimitsThatAreGiven) {
  const TempFolder folder;
  const Model model = quantized_branches();
  save_model(model, folder / "a.h5");
  expect_equal(load_model(folder / "a.h5", {.isolation = Isolation::none}),
               model);
  const FileLimits no_time{.time_limit = 1e-9};
  EXPECT_THAT(error_of<FormatError>(
                  [&] { (void)load_model(folder / "a.h5", no_time); }),
              HasSubstr("took more than 1e-09 s"));
  EXPECT_THAT(error_of<FormatError>(
                  [&] { load_weights(model, folder / "a.h5", no_time); }),
              HasSubstr("took more than 1e-09 s"));
}

TEST(ModelFile, IsTheSameBytesForTheSameModel) {
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

TEST(ModelFile, IsReadByH5pyTheWayKerasDoes) {
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
      throw NotFoundError("test: no layer " + layer);
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
  // The checksum behind the image does not disturb the library.
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

TEST(LoadWeights, TakesThoseOfAFloatOrAQuantizedTwin) {
  const TempFolder folder;
  const Model trained = branches();
  save_model(trained, folder / "float.h5");
  save_model(quantized_branches(), folder / "int8.h5");
  for (const char* name : {"float.h5", "int8.h5"}) {
    Model fresh = trained.clone();
    for (const Parameter& p : fresh.parameters()) {
      p.variable.assign(Tensor::zeros(p.variable.shape()));
    }
    const Model quantized = quant::quantize_model(fresh);
    load_weights(fresh, folder / name);
    load_weights(quantized, folder / name);
    EXPECT_EQ(weight_bits(fresh), weight_bits(trained)) << name;
    EXPECT_EQ(weight_bits(quantized), weight_bits(trained)) << name;
    EXPECT_FALSE(quant::quantizers(quantized)[0]->scale()) << name;
  }
}

TEST(LoadWeights, ChangesNothingWhereSomethingDoesNotFit) {
  const TempFolder folder;
  save_model(branches(), folder / "a.h5");
  const SymbolicTensor x = input({6, 5, 2}, "x");
  const Model other(
      x, Dense({.units = 4, .name = "head"})(Flatten({.name = "flat"})(
             Conv2D({.filters = 3, .name = "shared"})(x))));
  const auto before = weight_bits(other);
  EXPECT_THAT(
      error_of<ValueError>([&] { load_weights(other, folder / "a.h5"); }),
      AllOf(HasSubstr("weights: expected those of model 'model', got none for "
                      "'head/kernel', 'head/bias', got others for "
                      "'logits/bias', 'logits/kernel', 'norm/beta'"),
            HasSubstr("a.h5'")));
  EXPECT_EQ(weight_bits(other), before);
  const Model wider(x, Conv2D({.filters = 4, .name = "shared"})(x));
  save_model(wider, folder / "wider.h5");
  const Model narrow(x, Conv2D({.filters = 3, .name = "shared"})(x));
  EXPECT_THAT(
      error_of<ShapeError>([&] { load_weights(narrow, folder / "wider.h5"); }),
      HasSubstr("weight 'shared/kernel': expected f32 [3,3,2,3], got f32 "
                "[3,3,2,4]"));
}

TEST(ModelFile, RefusesNamesThatItCannotHold) {
  const TempFolder folder;
  const auto refusal = [&](const std::string& name) {
    const SymbolicTensor x = input({4}, "x");
    const Model model(x, Dense({.units = 2, .name = name})(x));
    return error_of<ValueError>([&] { save_model(model, folder / "a.h5"); });
  };
  EXPECT_THAT(refusal(".."), HasSubstr("expected names between slashes"));
  EXPECT_THAT(refusal("a//b"), HasSubstr("expected names between slashes"));
  EXPECT_THAT(refusal("caf\xe9"),
              HasSubstr("expected names and text in UTF-8"));
  EXPECT_THAT(refusal(std::string("a\0b", 3)), HasSubstr("no byte of 0"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.h5"));
  EXPECT_EQ(refusal("caf\xc3\xa9 0 ' \" \n"), "");
  EXPECT_EQ(load_model(folder / "a.h5").layers()[1]->name(),
            "caf\xc3\xa9 0 ' \" \n");
}

// ---- files that others made

/// A sealed file of Octet's with one attribute of `octet` replaced.
std::string with_attribute(const Model& model, const std::string& name,
                           const Config& value) {
  const quant::ModelState state = quant::state_of(model);
  Hdf5Writer writer;
  writer.group("model_weights");
  Config::List layers;
  for (const Config& layer : state.graph.at("layers").as_list()) {
    const std::string& layer_name = layer.at("name").as_string();
    Config::List names;
    for (const quant::Weight& weight : state.weights) {
      if (weight.layer != layer_name) continue;
      const std::string path =
          fmt::format("{}/{}:0", weight.layer, weight.name);
      names.emplace_back(path);
      writer.dataset(fmt::format("model_weights/{}/{}", layer_name, path),
                     weight.value);
    }
    writer.group("model_weights/" + layer_name);
    writer.attribute("model_weights/" + layer_name, "weight_names", names);
    layers.emplace_back(layer_name);
  }
  writer.attribute("model_weights", "layer_names", layers);
  writer.group("octet");
  const auto put = [&](const std::string& key, const Config& otherwise) {
    writer.attribute("octet", key, key == name ? value : otherwise);
  };
  put("format", 1);
  put("version", "0.1.0");
  put("graph", to_text(state.graph));
  put("status", to_text(state.status));
  return sealed(writer.finish());
}

class ForeignFile : public ::testing::Test {
 protected:
  template <class E = FormatError>
  std::string refusal(const std::string& contents) {
    write_file(folder_ / "a.h5", contents);
    return error_of<E>([&] { (void)load_model(folder_ / "a.h5"); });
  }
  /// Of a model with a changed graph.
  template <class E = FormatError>
  std::string graph_refusal(const std::function<void(Config&)>& change) {
    Config graph = to_config(branches());
    change(graph);
    return refusal<E>(with_attribute(branches(), "graph", to_text(graph)));
  }

  TempFolder folder_;
};

TEST_F(ForeignFile, IsReadIfItIsAsDocumented) {
  write_file(folder_ / "a.h5", with_attribute(branches(), "", {}));
  expect_equal(load_model(folder_ / "a.h5"), branches());
}

TEST_F(ForeignFile, OfANewerVersionIsToldApart) {
  EXPECT_THAT(
      refusal<UnsupportedError>(with_attribute(branches(), "format", 2)),
      AllOf(HasSubstr("format: expected at most 1, got 2, which Octet "
                      "0.1.0 wrote"),
            HasSubstr("a.h5")));
  EXPECT_THAT(refusal(with_attribute(branches(), "format", 0)),
              HasSubstr("format: expected a number from 1 on, got 0"));
  EXPECT_THAT(refusal(with_attribute(branches(), "format", "x")),
              HasSubstr("expected an integer"));
}

TEST_F(ForeignFile, WithoutWhatIsNeededIsRefused) {
  Hdf5Writer writer;
  writer.dataset("weights", Tensor::zeros({3}));
  EXPECT_THAT(refusal(sealed(writer.finish())),
              HasSubstr("expected a group 'octet', got none"));
  EXPECT_THAT(refusal(sealed("no HDF5 at all")), HasSubstr("HDF5"));
  EXPECT_THAT(refusal("no HDF5 at all, and no checksum"),
              HasSubstr("checksum: expected one at the end of the file"));
  EXPECT_THAT(refusal(""), HasSubstr("of at least 20 bytes, got 0"));
  EXPECT_THAT(
      refusal(with_attribute(branches(), "graph", "{")),
      AllOf(HasSubstr("JSON, line 1"), HasSubstr("in 'graph' of 'octet'")));
  EXPECT_THAT(refusal(with_attribute(branches(), "graph", "[]")),
              HasSubstr("expected an object"));
}

TEST_F(ForeignFile, WithAGraphThatCannotBeIsRefused) {
  const auto entry = [](Config& graph, const char* list,
                        size_t index) -> Config& {
    auto& entries = const_cast<Config::List&>(graph.at(list).as_list());
    return entries.at(index);
  };
  EXPECT_THAT(graph_refusal([&](Config& graph) {
                entry(graph, "calls", 0).set("layer", "nobody");
              }),
              HasSubstr("expected a layer of the list, got 'nobody'"));
  EXPECT_THAT(graph_refusal([&](Config& graph) {
                entry(graph, "calls", 2).set("inputs", Config::List{99});
              }),
              HasSubstr("expected the index of a call in [0,2), got 99"));
  EXPECT_THAT(graph_refusal([&](Config& graph) {
                entry(graph, "calls", 2).set("inputs", Config::List{-1});
              }),
              HasSubstr("got -1"));
  EXPECT_THAT(graph_refusal([&](Config& graph) {
                entry(graph, "layers", 2).set("name", "left");
              }),
              HasSubstr("expected a name of its own for each, got 'left'"));
  EXPECT_THAT(graph_refusal(
                  [&](Config& graph) { graph.set("outputs", Config::List{}); }),
              HasSubstr("at least one input and one output"));
  EXPECT_THAT(graph_refusal([&](Config& graph) {
                entry(graph, "layers", 7).set("shares", "shared");
              }),
              HasSubstr("expected the parameters of an earlier layer of equal "
                        "shapes, got those of 'shared'"));
  EXPECT_THAT(graph_refusal<UnsupportedError>([&](Config& graph) {
                entry(graph, "layers", 3).set("class_name", "Foo");
                entry(graph, "layers", 5).set("class_name", "Bar");
              }),
              HasSubstr("got 'add' (Foo), 'relu' (Bar)"));
}

TEST_F(ForeignFile, ThatAsksForMoreWeightsThanItHasIsRefused) {
  // 2^35 elements, more than 100 GB.
  EXPECT_THAT(
      graph_refusal([&](Config& graph) {
        auto& layers = const_cast<Config::List&>(graph.at("layers").as_list());
        layers.at(7).set("config", Config().set("units", int64_t{1} << 30));
      }),
      AllOf(HasSubstr("parameters: expected at most"),
            HasSubstr("in layer 'logits' (Dense)")));
}

TEST_F(ForeignFile, WithAStatusThatCannotBeIsRefused) {
  const Model model = branches();
  Config status = quant::state_of(model).status;
  status.set("training_passes", "many");
  EXPECT_THAT(refusal(with_attribute(model, "status", to_text(status))),
              HasSubstr("expected an integer, got a string"));
  EXPECT_THAT(refusal(with_attribute(model, "status", "{}")),
              HasSubstr("expected an entry 'training_passes'"));
}

// ---- values

TEST(CheckpointValues, ReadBackAsTheSameBits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const Config values =
      Config()
          .set("nan", nan)
          .set("list", Config::List{inf, -inf, 0.1, -0.0, 1, 1.0, 5e-324})
          .set("text", "caf\xc3\xa9 \"\n\t")
          .set("none", Config())
          .set("empty", Config::Object{})
          .set("int", std::numeric_limits<int64_t>::min());
  const Config back = from_text(to_text(values));
  EXPECT_TRUE(std::isnan(back.at("nan").as_number()));
  const Config::List& list = back.at("list").as_list();
  EXPECT_EQ(list[0].as_number(), inf);
  EXPECT_EQ(list[1].as_number(), -inf);
  EXPECT_EQ(list[2].as_number(), 0.1);
  EXPECT_TRUE(std::signbit(list[3].as_number()));
  EXPECT_TRUE(list[4].is_int());
  EXPECT_FALSE(list[5].is_int());
  EXPECT_EQ(list[6].as_number(), 5e-324);
  EXPECT_EQ(back.at("text"), values.at("text"));
  EXPECT_TRUE(back.at("none").is_null());
  EXPECT_EQ(back.at("empty"), values.at("empty"));
  EXPECT_EQ(back.at("int"), values.at("int"));
}

TEST(CheckpointValues, LeaveOtherObjectsAlone) {
  const Config values =
      Config()
          .set("a", Config().set("number", "seven"))
          .set("b", Config().set("number", 7))
          .set("c", Config().set("number", "nan").set("x", 1));
  EXPECT_EQ(from_text(to_text(values)), values);
}

TEST(Seal, IsTheOneThatIsDocumented) {
  const std::string contents = sealed("image");
  EXPECT_EQ(contents.substr(0, 5), "image");
  EXPECT_EQ(contents.substr(5, 16),
            std::string("OCTETSUM\5\0\0\0\0\0\0\0", 16));
  const uint32_t sum = crc32c(contents.substr(0, 21));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(static_cast<unsigned char>(contents[21 + i]),
              sum >> 8 * i & 0xff);
  }
  EXPECT_EQ(unsealed(contents), "image");
}

TEST(Crc32c, TakesEightBytesAtATimeAsOneByOne) {
  std::string bytes;
  uint32_t crc = ~0u;
  for (int i = 0; i < 100; ++i) {
    bytes += static_cast<char>(i * 37);
    crc ^= static_cast<unsigned char>(bytes.back());
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    }
    EXPECT_EQ(crc32c(bytes), ~crc) << i;
  }
}

}  // namespace
}  // namespace octet::io
