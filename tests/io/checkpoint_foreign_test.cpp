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
    for (const quant::NamedWeight& weight : state.weights) {
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
  Failure refusal(const std::string& contents) {
    write_file(folder_ / "a.h5", contents);
    return failure_of<E>([&] { (void)load_model(folder_ / "a.h5"); });
  }
  /// The file of a model with a changed graph.
  template <class E = FormatError>
  Failure graph_refusal(const std::function<void(Config&)>& change) {
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
  EXPECT_EQ(refusal<UnsupportedError>(with_attribute(branches(), "format", 2)),
            (Failure{"unsupported_version", "format version"}));
  EXPECT_EQ(refusal(with_attribute(branches(), "format", 0)),
            (Failure{"malformed_file", "format version"}));
  EXPECT_EQ(refusal(with_attribute(branches(), "format", "x")),
            (Failure{"invalid_value", "configuration"}));
}

TEST_F(ForeignFile, WithoutRequiredEntriesIsRejected) {
  Hdf5Writer writer;
  writer.dataset("weights", Tensor::zeros({3}));
  EXPECT_EQ(refusal(with_checksum(writer.finish())),
            (Failure{"unsupported_format", "file"}));
  EXPECT_EQ(refusal(with_checksum("no HDF5 at all")),
            (Failure{"unsupported_format", "HDF5 file"}));
  const std::string whole = file_of(quant::state_of(branches()));
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 1)),
            (Failure{"checksum_mismatch", "checksum"}));
  EXPECT_EQ(refusal("no model"), (Failure{"unsupported_format", "file"}));
  EXPECT_EQ(refusal(""), (Failure{"unsupported_format", "file"}));
  EXPECT_EQ(refusal("\x05"), (Failure{"truncated_file", "checksum"}));
  EXPECT_EQ(refusal(with_attribute(branches(), "graph", "{")),
            (Failure{"malformed_file", "JSON"}));
  EXPECT_EQ(refusal(with_attribute(branches(), "graph", "[]")),
            (Failure{"invalid_value", "configuration"}));
}

TEST_F(ForeignFile, WithAnInvalidGraphIsRejected) {
  const auto entry = [](Config& graph, const char* list,
                        size_t index) -> Config& {
    auto& entries = const_cast<Config::List&>(graph.at(list).as_list());
    return entries.at(index);
  };
  EXPECT_EQ(graph_refusal([&](Config& graph) {
              entry(graph, "calls", 0).set("layer", "nobody");
            }),
            (Failure{"unknown_name", "graph"}));
  EXPECT_EQ(graph_refusal([&](Config& graph) {
              entry(graph, "calls", 2).set("inputs", Config::List{99});
            }),
            (Failure{"out_of_range", "graph"}));
  EXPECT_EQ(graph_refusal([&](Config& graph) {
              entry(graph, "calls", 2).set("inputs", Config::List{-1});
            }),
            (Failure{"out_of_range", "graph"}));
  EXPECT_EQ(graph_refusal([&](Config& graph) {
              entry(graph, "layers", 2).set("name", "left");
            }),
            (Failure{"duplicate_name", "layers"}));
  EXPECT_EQ(graph_refusal(
                [&](Config& graph) { graph.set("outputs", Config::List{}); }),
            (Failure{"missing_value", "model"}));
  EXPECT_EQ(graph_refusal([&](Config& graph) {
              entry(graph, "layers", 7).set("shares", "shared");
            }),
            (Failure{"shape_mismatch", "Dense 'logits'"}));
  EXPECT_EQ(graph_refusal<UnsupportedError>([&](Config& graph) {
              entry(graph, "layers", 3).set("class_name", "Foo");
              entry(graph, "layers", 5).set("class_name", "Bar");
            }),
            (Failure{"unsupported_layer", "layers"}));
}

TEST_F(ForeignFile, WithMoreWeightsThanDataIsRejected) {
  // 2^35 elements, more than 100 GB.
  EXPECT_EQ(
      graph_refusal([&](Config& graph) {
        auto& layers = const_cast<Config::List&>(graph.at("layers").as_list());
        layers.at(7).set("config", Config().set("units", int64_t{1} << 30));
      }),
      (Failure{"size_limit", "parameters"}));
}

TEST_F(ForeignFile, WithAnInvalidStatusIsRejected) {
  const Model model = branches();
  Config status = quant::state_of(model).status;
  status.set("training_passes", "many");
  EXPECT_EQ(refusal(with_attribute(model, "status", to_text(status))),
            (Failure{"invalid_value", "configuration"}));
  EXPECT_EQ(refusal(with_attribute(model, "status", "{}")),
            (Failure{"unknown_name", "configuration"}));
}

}  // namespace
}  // namespace octet::io
