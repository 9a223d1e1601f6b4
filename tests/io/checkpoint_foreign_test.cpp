// Files in Octet's format from other programs.
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/file.h>

#include "checkpoint/checksum.h"
#include "checkpoint/file.h"
#include "checkpoint/values.h"
#include "checkpoint_models.h"
#include "hdf5/writer.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Octet's file with one attribute of `octet` replaced.
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
  return with_checksum(writer.finish());
}

class ForeignFile : public ::testing::Test {
 protected:
  template <class E = FormatError>
  std::string refusal(const std::string& contents) {
    write_file(folder_ / "a.h5", contents);
    return error_of<E>([&] { (void)load_model(folder_ / "a.h5"); });
  }
  /// The file of a model with a changed graph.
  template <class E = FormatError>
  std::string graph_refusal(const std::function<void(Config&)>& change) {
    Config graph = to_config(branches());
    change(graph);
    return refusal<E>(with_attribute(branches(), "graph", to_text(graph)));
  }

  TempFolder folder_;
};

TEST_F(ForeignFile, IsLoadedIfItFollowsTheFormat) {
  write_file(folder_ / "a.h5", with_attribute(branches(), "", {}));
  expect_equal(load_model(folder_ / "a.h5"), branches());
}

TEST_F(ForeignFile, OfANewerVersionIsReported) {
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

TEST_F(ForeignFile, WithoutRequiredEntriesIsRejected) {
  Hdf5Writer writer;
  writer.dataset("weights", Tensor::zeros({3}));
  EXPECT_THAT(refusal(with_checksum(writer.finish())),
              HasSubstr("expected a group 'octet', got none"));
  EXPECT_THAT(refusal(with_checksum("no HDF5 at all")), HasSubstr("HDF5"));
  const std::string whole = file_of(quant::state_of(branches()));
  EXPECT_THAT(refusal(whole.substr(0, whole.size() - 1)),
              HasSubstr("checksum: expected one at the end of the file"));
  EXPECT_THAT(refusal("no model"), HasSubstr("got a text file"));
  EXPECT_THAT(refusal(""), HasSubstr("got an empty file"));
  EXPECT_THAT(refusal("\x05"), HasSubstr("of at least 20 bytes, got 1"));
  EXPECT_THAT(
      refusal(with_attribute(branches(), "graph", "{")),
      AllOf(HasSubstr("JSON, line 1"), HasSubstr("in 'graph' of 'octet'")));
  EXPECT_THAT(refusal(with_attribute(branches(), "graph", "[]")),
              HasSubstr("expected an object"));
}

TEST_F(ForeignFile, WithAnInvalidGraphIsRejected) {
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

TEST_F(ForeignFile, WithMoreWeightsThanDataIsRejected) {
  // 2^35 elements, more than 100 GB.
  EXPECT_THAT(
      graph_refusal([&](Config& graph) {
        auto& layers = const_cast<Config::List&>(graph.at("layers").as_list());
        layers.at(7).set("config", Config().set("units", int64_t{1} << 30));
      }),
      AllOf(HasSubstr("parameters: expected at most"),
            HasSubstr("in layer 'logits' (Dense)")));
}

TEST_F(ForeignFile, WithAnInvalidStatusIsRejected) {
  const Model model = branches();
  Config status = quant::state_of(model).status;
  status.set("training_passes", "many");
  EXPECT_THAT(refusal(with_attribute(model, "status", to_text(status))),
              HasSubstr("expected an integer, got a string"));
  EXPECT_THAT(refusal(with_attribute(model, "status", "{}")),
              HasSubstr("expected an entry 'training_passes'"));
}

}  // namespace
}  // namespace octet::io
