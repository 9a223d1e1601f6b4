// Embedding, masks and integer inputs. Keras' numbers are in tests/golden.
#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/embedding.h>
#include <octet/runtime/dataset.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "support.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kSteps = 6;

// Indices 1 to 9; those from `lengths` on are 0.
Tensor ids_of(const std::vector<int64_t>& lengths) {
  Tensor ids({std::ssize(lengths), kSteps});
  for (int64_t i = 0; i < ids.size(); ++i) {
    const bool counts = i % kSteps < lengths[static_cast<size_t>(i / kSteps)];
    ids.f32()[static_cast<size_t>(i)] =
        counts ? static_cast<float>(i * 7 % 9 + 1) : 0.0f;
  }
  return ids;
}

SymbolicTensor words(const SymbolicTensor& ids, bool mask_zero = true) {
  return Embedding({.input_dim = 10,
                    .output_dim = 4,
                    .mask_zero = mask_zero,
                    .name = "words"})(ids);
}

template <class Layers>
Model network(const Layers& layers, int64_t steps = kSteps) {
  const SymbolicTensor ids = input({steps}, "ids");
  Model model(ids, layers(words(ids)));
  shake(model);
  return model;
}

int64_t count_of(const Model& model, const std::string& class_name) {
  return std::ranges::count_if(model.layers(), [&](const auto& layer) {
    return layer->class_name() == class_name;
  });
}

std::string message_of(const Model& model, const Tensor& x) {
  try {
    (void)model.predict(x);
  } catch (const ValueError& error) {
    return error.message();
  }
  return "";
}

TEST(Embedding, ReturnsRowsOfItsTable) {
  const SymbolicTensor x = input({2}, "ids");
  const Embedding layer({.input_dim = 3, .output_dim = 2});
  const Model model(x, layer(x));
  layer->parameters()[0].variable.assign(
      tensor({3, 2}, {0, 1, 10, 11, 20, 21}));
  EXPECT_THAT(values(model.predict(tensor({1, 2}, {2, 0}))),
              ElementsAre(20, 21, 0, 1));
  const Tensor wide = Tensor::of<int64_t>({1, 2}, {1, 1});
  EXPECT_THAT(values(model.predict(wide)), ElementsAre(10, 11, 10, 11));
  const Tensor narrow = Tensor::of<int32_t>({1, 2}, {0, 2});
  EXPECT_THAT(values(InferenceSession(model).run(narrow)),
              ElementsAre(0, 1, 20, 21));
}

TEST(Embedding, RejectsIndicesThatItsTableLacks) {
  const Model model = network([](const SymbolicTensor& x) { return x; });
  const InferenceSession session(model);
  for (const float bad :
       {10.0f, -1.0f, 0.5f, std::numeric_limits<float>::quiet_NaN()}) {
    Tensor ids = ids_of({6, 6});
    ids.f32()[7] = bad;
    EXPECT_THAT(message_of(model, ids), HasSubstr("whole numbers in [0,10)"));
    EXPECT_THROW(session.run(ids), ValueError);
    // Large batches run a program.
    Tensor many = Tensor::zeros({64, kSteps});
    many.f32()[100] = bad;
    EXPECT_THAT(message_of(model, many), HasSubstr("whole numbers in [0,10)"));
  }
  Tensor large = Tensor::zeros({1, kSteps}, DType::i64);
  large.data<int64_t>()[3] = (int64_t{1} << 24) + 1;
  EXPECT_THAT(message_of(model, large), HasSubstr("float32 represents"));
  EXPECT_THROW(Dataset::unlabeled({large}), ValueError);
  EXPECT_THROW(
      Embedding({.input_dim = (int64_t{1} << 24) + 1, .output_dim = 1}),
      ValueError);
  EXPECT_THROW(Embedding({.input_dim = 0, .output_dim = 1}), ValueError);
}

TEST(Embedding, SumsGradientsOfEqualIndices) {
  const Variable table(Tensor::zeros({4, 2}), true);
  const Variable y = embedding(Variable(tensor({1, 3}, {3, 1, 3})), table);
  sum(y * Variable(tensor({1, 3, 2}, {1, 2, 3, 4, 5, 6}))).backward();
  EXPECT_THAT(values(table.grad()), ElementsAre(0, 0, 3, 4, 0, 0, 6, 8));
}

TEST(IntegerInputs, AreReadAsFloats) {
  const Tensor ids = Tensor::of<int64_t>({2, 2}, {1, 2, 3, 1 << 24});
  const Dataset data(ids, Tensor::zeros({2}, DType::i64));
  EXPECT_EQ(data.input_specs()[0].dtype, DType::f32);
  EXPECT_THAT(values(data.batch(1, 1).input()), ElementsAre(3, 16777216));
}

TEST(IntegerInputs, HaveTheLimitOfTheSmallestTable) {
  const SymbolicTensor ids = input({4}, "ids");
  const SymbolicTensor other = input({4}, "other");
  const SymbolicTensor numbers = input({4, 3}, "numbers");
  const SymbolicTensor a = Embedding({.input_dim = 9, .output_dim = 3})(ids);
  const SymbolicTensor b = Embedding({.input_dim = 5, .output_dim = 3})(
      Reshape({.target_shape = {4}})(ids));
  const SymbolicTensor c = Embedding({.input_dim = 7, .output_dim = 3})(other);
  const Model model({ids, other, numbers}, {Add()({a, b, c, numbers})});
  EXPECT_THAT(index_limits(model), ElementsAre(5, 7, 0));
  EXPECT_NO_THROW(InferenceSession{model});
}

// Padding at the end changes nothing: the state is that of the last word.
TEST(Masks, LetRecurrentLayersIgnorePadding) {
  const Tensor ids = ids_of({4, 4});
  Tensor cut({2, 4});
  for (int64_t i = 0; i < 8; ++i) {
    cut.f32()[static_cast<size_t>(i)] =
        ids.f32()[static_cast<size_t>(i / 4 * kSteps + i % 4)];
  }
  const std::vector<std::function<SymbolicTensor(const SymbolicTensor&)>> all{
      [](const SymbolicTensor& x) { return LSTM({.units = 3})(x); },
      [](const SymbolicTensor& x) {
        return GRU({.units = 3, .reset_after = false})(x);
      },
      [](const SymbolicTensor& x) {
        return SimpleRNN({.units = 3, .go_backwards = true})(x);
      },
      [](const SymbolicTensor& x) {
        return LSTM({.units = 3})(
            bidirectional(x, GRU({.units = 2, .return_sequences = true})));
      },
      [](const SymbolicTensor& x) {
        return GlobalAveragePooling1D()(
            multi_head_attention(x, x, {.num_heads = 2, .key_dim = 3}));
      }};
  for (const auto& layers : all) {
    const Model padded = network(layers);
    Model whole = network(layers, 4);
    whole.load_state_dict(padded.state_dict());
    const Tensor y = padded.predict(ids);
    const Tensor expected = whole.predict(cut);
    for (size_t i = 0; i < y.f32().size(); ++i) {
      EXPECT_NEAR(y.f32()[i], expected.f32()[i], 1e-6f);
    }
    EXPECT_EQ(bits(InferenceSession(padded).run(ids)), bits(y));
    EXPECT_EQ(bits(padded.clone().predict(ids)), bits(y));
  }
}

TEST(Masks, PassLayersThatTreatStepsAlike) {
  const Model model = network([](const SymbolicTensor& x) {
    const SymbolicTensor y = LayerNormalization()(Dense({.units = 4})(x));
    return LSTM({.units = 2})(Add()({Dropout({.rate = 0.1f})(y), x}));
  });
  EXPECT_EQ(model.nodes().back()->inputs.size(), 2u);
}

TEST(Masks, AreComputedOnce) {
  const Model model = network([](SymbolicTensor x) {
    for (int i = 0; i < 3; ++i) {
      x = transformer_block(x, {.num_heads = 2, .mlp_dim = 6});
    }
    return GlobalAveragePooling1D()(x);
  });
  EXPECT_EQ(count_of(model, "Compare"), 1);
}

TEST(Masks, ComeFromStepsOfOneValue) {
  const SymbolicTensor x = input({3, 2}, "x");
  const Model model(x, GlobalAveragePooling1D()(Masking({.mask_value = 7})(x)));
  EXPECT_THAT(values(model.predict(tensor({1, 3, 2}, {1, 2, 7, 7, 3, 7}))),
              ElementsAre(2, 4.5f));
}

TEST(Masks, AreLostWithAWarning) {
  std::string warnings;
  const auto before = set_warning_sink(
      [&](const Warning& warning) { warnings += warning.message; });
  (void)network([](const SymbolicTensor& x) {
    return GRU({.units = 2})(Conv1D({.filters = 3, .kernel_size = 1})(x));
  });
  set_warning_sink(before);
  EXPECT_THAT(warnings, HasSubstr("does not support masks"));
}

TEST(Masks, OfOtherShapesAreRejected) {
  const SymbolicTensor x = input({5, 3}, "x");
  const SymbolicTensor mask = input({4}, "mask");
  EXPECT_THROW(LSTM({.units = 2})({x, mask}), ShapeError);
  EXPECT_THROW(GlobalAveragePooling1D()({x, mask}), ShapeError);
  EXPECT_THROW(ScaledDotProductAttention()({x, x, x, mask}), ShapeError);
}

TEST(InitialStates, OfOtherShapesAreRejected) {
  const SymbolicTensor x = input({5, 3}, "x");
  const SymbolicTensor h = input({2}, "h");
  const SymbolicTensor wrong = input({4}, "wrong");
  const LSTM layer({.units = 2, .initial_state = true});
  EXPECT_NO_THROW(layer({x, h, h}));
  EXPECT_THROW(layer({x, h, wrong}), ShapeError);
  EXPECT_THROW(layer({x, h}), ValueError);
  EXPECT_THROW(GRU({.units = 2})({x, h, h}), ValueError);
}

// The second half continues with the states after the first.
TEST(InitialStates, ContinueASequence) {
  const SymbolicTensor x = input({6, 3}, "x");
  const LSTM layer({.units = 2, .return_cell = true});
  const Model whole(x, layer(x));
  shake(whole);
  const Tensor values = noise({2, 6, 3});
  const Tensor expected = whole.predict(values);
  const auto state = [](const Shape& sample, bool initial) {
    const LSTM part(
        {.units = 2, .initial_state = initial, .return_cell = true});
    std::vector<SymbolicTensor> inputs{input(sample, "x")};
    if (initial) {
      inputs.push_back(input({2}, "h"));
      inputs.push_back(input({2}, "c"));
    }
    return Model(inputs, {part(inputs)});
  };
  const Model first = state({4, 3}, false);
  const Model second = state({2, 3}, true);
  for (const Model* part : {&first, &second}) {
    for (size_t i = 0; i < 3; ++i) {
      part->layers().back()->parameters()[i].variable.assign(
          layer->parameters()[i].variable.value());
    }
  }
  const Tensor middle = first.predict(values.index({Slice(), Slice(0, 4)}));
  const std::vector<Tensor> inputs{values.index({Slice(), Slice(4)}),
                                   middle.index({Slice(), Slice(0, 2)}),
                                   middle.index({Slice(), Slice(2)})};
  const Tensor y = second.predict(inputs)[0];
  for (size_t i = 0; i < y.f32().size(); ++i) {
    EXPECT_NEAR(y.f32()[i], expected.f32()[i], 1e-6f);
  }
}

// A second length was an error, also of the mask of a recurrent layer.
TEST(Embedding, IsSharedBySequencesOfAllLengths) {
  const SymbolicTensor a = input({5}, "a");
  const SymbolicTensor b = input({3}, "b");
  const Embedding words(
      {.input_dim = 7, .output_dim = 4, .mask_zero = true, .name = "words"});
  const LSTM memory({.units = 2, .name = "memory"});
  const Model model({a, b}, {memory(words(a)), memory(words(b))}, {.seed = 1});
  const Tensor padded = Tensor::of<float>({1, 5}, {3, 1, 6, 0, 0});
  const Tensor whole = Tensor::of<float>({1, 3}, {3, 1, 6});
  const auto y = model.predict(std::vector<Tensor>{padded, whole});
  EXPECT_EQ(values(y[0]), values(y[1]));
}

}  // namespace
}  // namespace octet
