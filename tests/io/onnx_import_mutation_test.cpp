// Randomly changed ONNX files: each is imported or rejected in bounded time.
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>
#include <octet/runtime/rng.h>

#include "mutator.h"
#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

/// Changes sizes and attributes of a graph, so that it still parses.
class GraphMutator {
 public:
  explicit GraphMutator(uint64_t seed) : random_(seed) {}

  std::string damage(const std::string& bytes) {
    onnx::ModelProto model;
    model.ParseFromString(bytes);
    for (uint64_t i = 1 + below(4); i > 0; --i) change(*model.mutable_graph());
    return model.SerializeAsString();
  }

 private:
  uint64_t below(uint64_t end) { return end == 0 ? 0 : random_() % end; }
  int at(int size) {
    return static_cast<int>(below(static_cast<uint64_t>(size)));
  }
  int64_t number() {
    static constexpr int64_t kNumbers[] = {
        0, 1, -1, 2, 3, 7, 64, 1 << 20, INT32_MAX, INT64_MAX, INT64_MIN, -2};
    return kNumbers[below(std::size(kNumbers))];
  }

  void change(onnx::GraphProto& graph) {
    if (below(3) == 0 && graph.initializer_size() > 0) {
      auto& tensor = *graph.mutable_initializer(at(graph.initializer_size()));
      if (tensor.dims_size() > 1 && below(2) == 0) {
        tensor.mutable_dims()->SwapElements(0, 1);
      } else if (tensor.data_type() == onnx::TensorProto::INT64 &&
                 tensor.raw_data().size() >= 8) {
        const int64_t value = number();
        tensor.mutable_raw_data()->replace(
            0, 8, std::string(reinterpret_cast<const char*>(&value), 8));
      }
      return;
    }
    auto& node = *graph.mutable_node(at(graph.node_size()));
    if (node.attribute_size() > 0 && below(2) == 0) {
      auto& attribute = *node.mutable_attribute(at(node.attribute_size()));
      if (attribute.ints_size() > 0) {
        attribute.set_ints(at(attribute.ints_size()), number());
      } else {
        attribute.set_i(number());
      }
      return;
    }
    const auto& other = graph.node(at(graph.node_size()));
    switch (below(3)) {
      case 0:
        node.set_op_type(other.op_type());
        break;
      case 1:
        if (node.input_size() > 0 && other.input_size() > 0) {
          node.set_input(at(node.input_size()),
                         other.input(at(other.input_size())));
        }
        break;
      default:
        if (node.input_size() > 1) node.mutable_input()->RemoveLast();
    }
  }

  std::mt19937_64 random_;
};

std::vector<std::string> seeds() {
  std::vector<std::string> files;
  for (const char* name : {"lenet", "resnet8", "merry"}) {
    files.push_back(to_onnx(zoo::make(name, {})).bytes);
  }
  const auto x = input({8, 12, 3}, "x");
  auto y = Conv2D({.filters = 6, .kernel_size = 4, .strides = 4})(x);
  y = ClassToken()(Reshape({.target_shape = {6, 6}})(y));
  y = transformer_block(PositionEmbedding()(y),
                        {.num_heads = 2, .mlp_dim = 8, .name = "block"});
  files.push_back(
      to_onnx(Model(x, Dense({.units = 3})(SelectToken()(y)))).bytes);
  const Model model = zoo::make("resnet8", {});
  Model int8 = quant::quantize_model(model);
  Tensor images(model.inputs()[0].shape().with(0, 2));
  Rng(1).fill_uniform(images, 0, 1);
  quant::calibrate(int8, [&](const Model& m) { (void)m.predict(images); });
  files.push_back(to_onnx(int8).bytes);
  return files;
}

template <class Damage>
void read_all(const char* what, uint64_t count, Damage damage) {
  const std::vector<std::string> files = seeds();
  const WarningCapture warnings;
  int read = 0;
  int refused = 0;
  int unsupported = 0;
  uint64_t seed = 0;
  for (const FuzzRuns runs(count); runs.more(seed); ++seed) {
    SCOPED_TRACE(seed);
    const std::string bytes = damage(seed, files[seed % files.size()]);
    try {
      (void)from_onnx(bytes, {.limits = {.memory_limit = int64_t{1} << 30,
                                         .time_limit = 5}});
      ++read;
    } catch (const FormatError&) {
      ++refused;
    } catch (const UnsupportedError&) {
      ++unsupported;
    }
  }
  std::cout << fmt::format("{}: {} read, {} refused, {} unsupported\n", what,
                           read, refused, unsupported);
  EXPECT_GT(refused, 0);
}

TEST(OnnxImportMutation, OfBytesIsImportedOrRejected) {
  read_all("bytes", 300, [](uint64_t seed, const std::string& file) {
    return Mutator(seed).damage(file);
  });
}

TEST(OnnxImportMutation, OfAGraphIsImportedOrRejected) {
  read_all("graphs", 600, [](uint64_t seed, const std::string& file) {
    return GraphMutator(seed).damage(file);
  });
}

}  // namespace
}  // namespace octet::io
