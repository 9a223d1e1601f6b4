// Every network against Keras and the publications: names, classes, shapes,
// parameters and multiply-adds.
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <octet/layers/zoo.h>

#include "support.h"

namespace octet {
namespace {

using ::testing::TestWithParam;
using ::testing::ValuesIn;

using Json = nlohmann::ordered_json;

Json golden(const std::string& name) {
  const std::string path =
      fmt::format("{}/tests/golden/zoo/{}.json", OCTET_SOURCE_DIR, name);
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  return Json::parse(file);
}

int64_t multiply_adds(const Model& model) {
  int64_t sum = 0;
  for (const NodeSize& size : model.sizes()) sum += size.multiply_adds;
  return sum;
}

int64_t trainable(const Model& model) {
  int64_t sum = 0;
  for (const NodeSize& size : model.sizes()) sum += size.trainable;
  return sum;
}

// "class, [shape], parameters".
std::string described(const std::string& class_name, const Shape& output,
                      int64_t parameters) {
  return fmt::format("{}, {}, {}", class_name, output.to_string(), parameters);
}

class KerasApplication : public TestWithParam<std::string> {};

TEST_P(KerasApplication, HasTheSameLayers) {
  const Json keras = golden(GetParam());
  const Model model = zoo::make(GetParam());
  std::map<std::string, std::string> expected;
  const int64_t total = keras["parameters"];
  for (const Json& layer : keras["layers"]) {
    std::vector<int64_t> dims;
    for (const Json& dim : layer["output"]) {
      dims.push_back(dim.is_null() ? Shape::kAnySize : dim.get<int64_t>());
    }
    expected[layer["name"]] = described(layer["class"], Shape(dims),
                                        layer["parameters"].get<int64_t>());
  }
  std::map<std::string, std::string> actual;
  const std::vector<NodeSize> sizes = model.sizes();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const GraphNode& node = *model.nodes()[i];
    actual[node.layer->name()] =
        described(node.layer->class_name(), node.shape, sizes[i].parameters);
  }
  EXPECT_EQ(expected.size(), keras["layers"].size());
  EXPECT_EQ(actual.size(), sizes.size());
  for (const auto& [name, layer] : expected) {
    EXPECT_TRUE(actual.contains(name)) << name;
    EXPECT_EQ(actual[name], layer) << name;
  }
  for (const auto& [name, layer] : actual) {
    EXPECT_TRUE(expected.contains(name)) << name;
  }
  EXPECT_EQ(model.parameter_count(), total);
  EXPECT_EQ(trainable(model), keras["trainable"].get<int64_t>());
}

INSTANTIATE_TEST_SUITE_P(Zoo, KerasApplication,
                         ValuesIn(std::vector<std::string>{
                             "densenet121", "efficientnet_b0",
                             "efficientnet_b3", "inception_v3", "mobilenet",
                             "mobilenet_v2", "resnet101", "resnet101_v2",
                             "resnet50", "resnet50_v2"}),
                         [](const auto& test) { return test.param; });

TEST(Zoo, HasThePublishedNumbersOfParameters) {
  // Source: keras.io/api/applications; for MLPerf Tiny the files and
  // Banbury et al., arXiv 2106.07597; LeNet-5 of LeCun et al. with full
  // connections between its convolutions; torchvision's resnet18 counts no
  // statistics; DeiT-Ti of Touvron et al.; DenseNet-BC (40, 12) as counted by
  // several re-implementations (Huang et al. do not print it); Zhang et al.,
  // table 1 (Inception).
  const std::vector<std::pair<std::string, int64_t>> published{
      {"lenet", 61'706},
      {"resnet8", 78'666},
      {"resnet20", 274'442},
      {"ds_cnn", 24'908},
      {"densenet40",
       176'122 + 5'088},  // with the statistics {"inception_small", 1'649'402 +
                          // 3'424},  // with the statistics
      {"mobilenet_v1_025", 221'794},
      {"mobilenet", 4'253'864},
      {"mobilenet_v2", 3'538'984},
      {"efficientnet_b0", 5'330'571},
      {"efficientnet_b3", 12'320'535},
      {"vit_tiny", 5'717'416},
      {"densenet121", 8'062'504},
      {"resnet18", 11'689'512 + 2 * 4'800},  // with the statistics
      {"inception_v3", 23'851'784},
      {"resnet50", 25'636'712},
      {"resnet50_v2", 25'613'800},
      {"resnet101", 44'707'176},
      {"resnet101_v2", 44'675'560},
  };
  for (const auto& [name, parameters] : published) {
    EXPECT_EQ(zoo::make(name).parameter_count(), parameters) << name;
  }
}

TEST(Zoo, HasThePublishedMultiplyAdds) {
  // Millions of multiply-adds. Sources: Howard et al., table 4 (MobileNet);
  // Sandler et al., table 4; He et al., table 1, there rounded to 1.8, 3.8 and
  // 7.6 billion; Szegedy et al., section 10 (5 billion, with another count of
  // the stem); Tan and Le, table 2 (0.39 billion).
  const std::vector<std::pair<std::string, double>> published{
      {"mobilenet", 569},    {"mobilenet_v2", 300}, {"resnet18", 1800},
      {"resnet50", 3800},    {"resnet101", 7600},   {"efficientnet_b0", 390},
      {"inception_v3", 5700}};
  for (const auto& [name, millions] : published) {
    const double work =
        static_cast<double>(multiply_adds(zoo::make(name))) / 1e6;
    EXPECT_NEAR(work, millions, 0.02 * millions) << name;
  }
}

}  // namespace
}  // namespace octet
