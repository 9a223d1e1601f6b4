#include <vector>

#include <gtest/gtest.h>

#include <octet/layers/inference_session.h>
#include <octet/runtime/error.h>

#include "support.h"

namespace octet {
namespace {

Model small(uint64_t seed) {
  const SymbolicTensor x = input({4, 4, 2}, "image");
  const SymbolicTensor y = BatchNormalization({.name = "norm"})(
      Conv2D({.filters = 3, .kernel_size = 3, .name = "stem"})(x));
  return {x, Dense({.units = 2, .name = "head"})(flatten(y)), {.seed = seed}};
}

TEST(StateDict, NamesParametersAsPyTorch) {
  const Model model = small(1);
  std::vector<std::string> found;
  for (const auto& [name, variable] : model.named_parameters()) {
    EXPECT_TRUE(variable.requires_grad()) << name;
    found.push_back(name);
  }
  EXPECT_EQ(found, (std::vector<std::string>{"stem.kernel", "stem.bias",
                                             "norm.gamma", "norm.beta",
                                             "head.kernel", "head.bias"}));
  const StateDict state = model.state_dict();
  EXPECT_EQ(state.size(), 8u);
  EXPECT_EQ(state.at("norm.moving_mean").shape(), (Shape{3}));
}

TEST(StateDict, RestoresAModel) {
  const Model from = small(1);
  shake(from);
  Model to = small(2);
  to.load_state_dict(from.state_dict());
  EXPECT_EQ(weight_bits(to), weight_bits(from));
}

TEST(StateDict, IsLoadedAsAWhole) {
  Model model = small(1);
  const auto before = weight_bits(model);
  StateDict state = small(2).state_dict();
  state["stem.weight"] = Tensor::zeros({3});
  EXPECT_EQ(failure_of<NotFoundError>([&] { model.load_state_dict(state); }),
            (Failure{"unknown_name", "state 'stem.weight'"}));
  state.erase("stem.weight");
  state["head.bias"] = Tensor::zeros({3});
  EXPECT_EQ(failure_of<ShapeError>([&] { model.load_state_dict(state); }),
            (Failure{"shape_mismatch", "state 'head.bias'"}));
  state.erase("head.bias");
  EXPECT_EQ(failure_of<NotFoundError>([&] { model.load_state_dict(state); }),
            (Failure{"missing_value", "state 'head.bias'"}));
  EXPECT_EQ(weight_bits(model), before);
  model.load_state_dict(state, StateMatch::partial);
  EXPECT_NE(weight_bits(model), before);
}

TEST(PrintLayers, FormatsModelsAndSymbolicTensors) {
  const Model model = small(1);
  std::ostringstream out;
  out << model;
  EXPECT_EQ(out.str(), model.summary());
  EXPECT_EQ(to_string(model.output("stem")), "[N,2,2,3] of Conv2D 'stem'");
  EXPECT_EQ(to_string(SymbolicTensor()), "empty symbolic tensor");
  std::ostringstream session;
  session << InferenceSession(model);
  EXPECT_NE(session.str().find("'stem'"), std::string::npos) << session.str();
}

}  // namespace
}  // namespace octet
