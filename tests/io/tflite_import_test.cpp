// Import of .tflite files, written by export.
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/tflite.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/file.h>

#include "support.h"
#include "tflite_file.h"

namespace octet::io {
namespace {

using ::testing::HasSubstr;

Tensor tflite_samples(const Model& model, int64_t count, uint64_t seed) {
  Tensor x(model.inputs()[0].shape().with(0, count));
  Rng(seed).fill_normal(x, 0.1f, 1);
  return x;
}

Model int8_for_tflite(const Model& model) {
  Model int8 = quant::quantize_model(model, {.policy = quant::Policy::tflite});
  quant::calibrate(
      int8, [](const Model& m) { (void)m(Variable(tflite_samples(m, 16, 1))); },
      {.method = quant::Calibration::max});
  return int8;
}

Model tflite_source() {
  const SymbolicTensor x = input({9, 7, 3}, "image");
  SymbolicTensor y =
      Conv2D({.filters = 4, .activation = "relu6", .name = "conv"})(x);
  const SymbolicTensor z = DepthwiseConv2D(
      {.kernel_size = 3, .padding = "same", .name = "depthwise"})(y);
  y = ReLU({.name = "relu"})(Add({.name = "sum"})({y, z}));
  const SymbolicTensor gate = Conv2D({.filters = 2,
                                      .kernel_size = 1,
                                      .activation = "sigmoid",
                                      .name = "gate"})(y);
  y = Concatenate({.name = "join"})({y, gate});
  y = AveragePooling2D({.pool_size = 3, .strides = 2, .name = "pool"})(y);
  y = ZeroPadding2D({.name = "pad"})(y);
  y = UpSampling2D({.name = "up"})(y);
  y = Flatten({.name = "flat"})(y);
  y = Dense({.units = 6, .name = "hidden"})(y);
  y = LeakyReLU({.negative_slope = 0.25f, .name = "leaky"})(y);
  y = Dense({.units = 3, .activation = "softmax", .name = "head"})(y);
  return Model(x, y, {.seed = 4});
}

TEST(TfliteImport, FloatModelsKeepTheirOutputs) {
  const Model model = tflite_source();
  const Model read = from_tflite(to_tflite(model).bytes);
  EXPECT_FALSE(quant::is_quantized(read));
  EXPECT_EQ(read.inputs()[0].node->layer->name(), "image");
  const Tensor x = tflite_samples(model, 3, 2);
  const auto expected = values(model.predict(x));
  const auto got = values(read.predict(x));
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], 1e-5f);
  }
}

TEST(TfliteImport, QuantizedModelsAreExportedAgain) {
  const std::string bytes = to_tflite(int8_for_tflite(tflite_source())).bytes;
  const Model read = from_tflite(bytes);
  EXPECT_TRUE(quant::is_quantized(read));
  const TfliteModel first = tflite_from_bytes(bytes);
  const TfliteModel second = tflite_from_bytes(to_tflite(read).bytes);
  EXPECT_EQ(second.inputs(), first.inputs());
  ASSERT_EQ(second.outputs().size(), 1u);
  EXPECT_EQ(second.outputs()[0].scale, first.outputs()[0].scale);
  Tensor x = Tensor::zeros({4, 9, 7, 3}, DType::i8);
  for (size_t i = 0; i < static_cast<size_t>(x.size()); ++i) {
    x.data<int8_t>()[i] = static_cast<int8_t>(i * 37 % 256 - 128);
  }
  EXPECT_EQ(elements<int8_t>(second.predict(x)),
            elements<int8_t>(first.predict(x)));
}

TEST(TfliteImport, EvaluatesLikeTheQuantizedModel) {
  const Model int8 = int8_for_tflite(tflite_source());
  const Model read = from_tflite(to_tflite(int8).bytes);
  const Tensor x = tflite_samples(int8, 8, 3);
  const auto expected = values(int8.predict(x));
  const auto got = values(read.predict(x));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], 1.01f / 256);
  }
}

// The concatenation requantizes the gate; the product has the gate's scale.
TEST(TfliteImport, RequantizedValuesKeepTheScaleOfOtherConsumers) {
  const SymbolicTensor x = input({5, 4, 3});
  const SymbolicTensor gate =
      Conv2D({.filters = 3, .kernel_size = 1, .activation = "sigmoid"})(x);
  const Model int8 = int8_for_tflite(
      Model(x, Concatenate()({Multiply()({x, gate}), gate}), {.seed = 4}));
  const Tensor input = tflite_samples(int8, 4, 2);
  const Model read = from_tflite(to_tflite(int8).bytes);
  EXPECT_EQ(values(read.predict(input)), values(int8.predict(input)));
}

TEST(TfliteImport, ReadsConvertedInputsAndOutputs) {
  const Model int8 = int8_for_tflite(tflite_source());
  const TfliteModel first = tflite_from_bytes(to_tflite(int8).bytes);
  for (const TfliteIo io : {TfliteIo::float32, TfliteIo::uint8}) {
    const Model read = from_tflite(to_tflite(int8, {.io = io}).bytes);
    const TfliteModel second = tflite_from_bytes(to_tflite(read).bytes);
    EXPECT_EQ(second.inputs()[0].scale, first.inputs()[0].scale);
    EXPECT_EQ(second.inputs()[0].zero_point, first.inputs()[0].zero_point);
    EXPECT_EQ(second.outputs()[0].scale, first.outputs()[0].scale);
  }
}

TEST(TfliteImport, DropsQuantizers) {
  const Model int8 = int8_for_tflite(tflite_source());
  const Model read =
      from_tflite(to_tflite(int8).bytes, {.drop_quantizers = true});
  EXPECT_FALSE(quant::is_quantized(read));
  // Quantized again.
  EXPECT_TRUE(quant::is_quantized(int8_for_tflite(read)));
}

TEST(TfliteImport, SequencesBecomeImages) {
  const SymbolicTensor x = input({12, 5}, "steps");
  SymbolicTensor y = Conv1D({.filters = 4, .kernel_size = 3})(x);
  y = MaxPooling1D({.pool_size = 2})(y);
  const Model model(x, GlobalAveragePooling1D()(y), {.seed = 2});
  const Model read = from_tflite(to_tflite(model).bytes);
  const Tensor samples = tflite_samples(model, 2, 3);
  const auto expected = values(model.predict(samples));
  const auto got = values(read.predict(samples));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], 1e-5f);
  }
}

// PADV2 before MAX_POOL_2D.
TEST(TfliteImport, PaddingOfMaximumPoolsIsPartOfTheLayer) {
  const SymbolicTensor x = input({7, 6, 2}, "x");
  const Model model(
      x, MaxPooling2D({.pool_size = 3, .strides = 2, .padding = 1})(x));
  const Model read = from_tflite(to_tflite(model).bytes);
  EXPECT_EQ(read.nodes().size(), 2u);
  const Tensor samples = tflite_samples(model, 2, 3);
  EXPECT_EQ(values(read.predict(samples)), values(model.predict(samples)));
  const Model int8 = int8_for_tflite(model);
  const Model int8_read = from_tflite(to_tflite(int8).bytes);
  EXPECT_EQ(values(int8_read.predict(samples)), values(int8.predict(samples)));
  EXPECT_TRUE(quant::is_quantized(int8_for_tflite(read)));
}

TEST(TfliteImport, SelectionsAndPaddingKeepTheirOutputs) {
  const SymbolicTensor x = input({5, 6, 4}, "x");
  SymbolicTensor y = Gather({.indices = {3, 0, -1}, .axis = 2})(x);
  // Outside of the range of the samples.
  y = Pad({.begin = {1, 0, 2}, .end = {0, 2, 1}, .value = -7.5f})(y);
  const Model model(x, Pad({.begin = {0, 0, 1}, .end = {0, 0, 0}})(y));
  const Tensor samples = tflite_samples(model, 2, 3);
  const std::string bytes = to_tflite(model).bytes;
  EXPECT_EQ(values(from_tflite(bytes).predict(samples)),
            values(model.predict(samples)));
  EXPECT_EQ(values(tflite_from_bytes(bytes).predict(samples)),
            values(model.predict(samples)));
  const Model int8 = int8_for_tflite(model);
  const std::string int8_bytes = to_tflite(int8).bytes;
  const TfliteModel file = tflite_from_bytes(int8_bytes);
  const auto expected = values(int8.predict(samples));
  const auto got = values(from_tflite(int8_bytes).predict(samples));
  EXPECT_EQ(got, expected);
  const Tensor q = file.inputs()[0].to_stored(samples);
  EXPECT_EQ(got, values(file.outputs()[0].to_real(file.predict(q))));
}

// A slice of half of the rows becomes SPLIT with two outputs.
TEST(TfliteImport, SplitsBecomeSlices) {
  const SymbolicTensor x = input({6, 4, 2}, "x");
  const SymbolicTensor y = x.index({Slice(), Slice(3, 6)});
  const Model model(x, ReLU({.name = "relu"})(y));
  const std::string bytes = edited(to_tflite(model).bytes, [](auto& m) {
    using namespace tflite::schema;
    auto& op = operator_of(m, Op::STRIDED_SLICE);
    auto& code = *m.operator_codes[op.opcode_index];
    code.builtin_code = Op::SPLIT;
    code.deprecated_builtin_code = static_cast<int8_t>(Op::SPLIT);
    auto& graph = *m.subgraphs[0];
    auto axis = std::make_unique<TensorT>();
    axis->type = TensorType::INT32;
    axis->shape = {1};
    m.buffers.push_back(std::make_unique<BufferT>());
    m.buffers.back()->data = {1, 0, 0, 0};
    axis->buffer = static_cast<uint32_t>(m.buffers.size() - 1);
    graph.tensors.push_back(std::move(axis));
    const auto places = static_cast<int32_t>(graph.tensors.size());
    auto first = std::make_unique<TensorT>();
    first->name = "first";
    first->shape = output_of(m, op).shape;
    graph.tensors.push_back(std::move(first));
    op.inputs = {places - 1, op.inputs[0]};
    op.outputs = {places, op.outputs[0]};
    SplitOptionsT options;
    options.num_splits = 2;
    op.builtin_options.Set(std::move(options));
  });
  const Tensor samples = tflite_samples(model, 3, 3);
  EXPECT_EQ(values(tflite_from_bytes(bytes).predict(samples)),
            values(model.predict(samples)));
  EXPECT_EQ(values(from_tflite(bytes).predict(samples)),
            values(model.predict(samples)));
}

// Sets the int32 values of a constant input of an operator.
void set_constant(tflite::schema::ModelT& model,
                  const tflite::schema::OperatorT& op, size_t input,
                  const std::vector<int32_t>& values) {
  auto& data = model.buffers[input_of(model, op, input).buffer]->data;
  data.resize(values.size() * sizeof(int32_t));
  std::memcpy(data.data(), values.data(), data.size());
}

// The rows would become samples; import flattened each sample.
TEST(TfliteImport, RejectsReshapesOfTheBatch) {
  const SymbolicTensor x = input({3, 4, 2}, "x");
  const Model model(x, Reshape({.target_shape = {6, 4}})(x));
  for (const std::vector<int32_t>& shape :
       {std::vector<int32_t>{-1, 4}, {-1, 2, 4}, {2, 3, 4}}) {
    const std::string bytes = edited(to_tflite(model).bytes, [&](auto& m) {
      auto& op = operator_of(m, tflite::schema::Op::RESHAPE);
      input_of(m, op, 1).shape = {static_cast<int32_t>(shape.size())};
      set_constant(m, op, 1, shape);
    });
    EXPECT_THAT(
        failure_of<UnsupportedError>([&] { (void)from_tflite(bytes); }).message,
        HasSubstr("moves the batch axis"));
  }
}

std::string edited_slice(
    const Model& model, const std::vector<int32_t>& steps,
    const std::function<void(tflite::schema::StridedSliceOptionsT&)>& change) {
  return edited(to_tflite(model).bytes, [&](auto& m) {
    auto& op = operator_of(m, tflite::schema::Op::STRIDED_SLICE);
    set_constant(m, op, 3, steps);
    change(*op.builtin_options.AsStridedSliceOptions());
  });
}

// A begin mask overrides the begin of an index; without begin and end, negative
// steps reverse the axis.
TEST(TfliteImport, SlicesFollowTheirMasks) {
  const SymbolicTensor x = input({5, 3}, "x");
  const Model model(x, x.index({Slice(), 2}));
  const Tensor samples = tflite_samples(model, 2, 3);
  const std::string first =
      edited_slice(model, {1, 1, 1}, [](auto& o) { o.begin_mask |= 2; });
  EXPECT_EQ(values(from_tflite(first).predict(samples)),
            values(Model(x, x.index({Slice(), 0})).predict(samples)));
  EXPECT_EQ(values(from_tflite(first).predict(samples)),
            values(tflite_from_bytes(first).predict(samples)));
  const std::string reversed = edited_slice(model, {1, -1, 1}, [](auto& o) {
    o.begin_mask = o.end_mask = 7;
    o.shrink_axis_mask = 0;
  });
  EXPECT_EQ(
      values(from_tflite(reversed).predict(samples)),
      values(Model(x, x.index({Slice(), Slice({}, {}, -1)})).predict(samples)));
  EXPECT_EQ(values(from_tflite(reversed).predict(samples)),
            values(tflite_from_bytes(reversed).predict(samples)));
  for (const std::string& bytes :
       {edited_slice(model, {1, 1, 1}, [](auto& o) { o.offset = true; }),
        edited_slice(model, {1, 1, 1},
                     [](auto& o) { o.shrink_axis_mask |= 1; })}) {
    EXPECT_THAT(
        failure_of<UnsupportedError>([&] { (void)from_tflite(bytes); }).message,
        HasSubstr("whole batches"));
  }
}

TEST(TfliteImport, RejectsWeightsThatAreNotConstantOrDoNotFit) {
  const SymbolicTensor x = input({6}, "x");
  const Model model(x, Dense({.units = 4, .name = "d"})(x));
  const std::string bytes = to_tflite(model).bytes;
  const auto reason = [&](const auto& change) {
    return failure_of<UnsupportedError>([&] {
             (void)from_tflite(edited(bytes, [&](auto& m) {
               auto& op = operator_of(m, tflite::schema::Op::FULLY_CONNECTED);
               change(m, op);
             }));
           })
        .message;
  };
  // 8 GiB, if they were allocated.
  EXPECT_THAT(reason([](auto& m, auto& op) {
                auto& x_info = input_of(m, op, 0);
                x_info.shape = {1, 1 << 30};
                op.inputs[1] = op.inputs[0];
              }),
              HasSubstr("must be constant"));
  EXPECT_THAT(reason([](auto& m, auto& op) {
                input_of(m, op, 1).shape = {8, 3};
              }),
              HasSubstr("weights [8,3] for [N,6]"));
}

TEST(TfliteImport, ListsOperatorsWithoutLayers) {
  const SymbolicTensor x = input({6, 6, 2}, "x");
  const Model model(x, ReLU()(x));
  const std::string bytes = edited(to_tflite(model).bytes, [](auto& m) {
    m.operator_codes[0]->builtin_code = tflite::schema::Op::REDUCE_MAX;
  });
  const Failure failure =
      failure_of<UnsupportedError>([&] { (void)from_tflite(bytes); });
  EXPECT_EQ(failure, (Failure{"unsupported_operator", "tflite import"}));
  EXPECT_THAT(failure.message, HasSubstr("REDUCE_MAX"));
}

// Weights of other integer types were read as zeros.
TEST(TfliteImport, ReadsWeightsOfUint8) {
  const SymbolicTensor x = input({6, 5, 2}, "x");
  const Model model(x, Conv2D({.filters = 3, .name = "conv"})(x), {.seed = 4});
  const std::string bytes = to_tflite(int8_for_tflite(model)).bytes;
  const std::string shifted = edited(bytes, [](auto& m) {
    auto& w = input_of(m, operator_of(m, tflite::schema::Op::CONV_2D), 1);
    w.type = tflite::schema::TensorType::UINT8;
    for (uint8_t& q : m.buffers[w.buffer]->data) {
      q = static_cast<uint8_t>(q + 128);
    }
    for (int64_t& zero : w.quantization->zero_point) zero = 128;
  });
  const Tensor samples = tflite_samples(model, 2, 3);
  EXPECT_EQ(
      values(from_tflite(shifted, {.drop_quantizers = true}).predict(samples)),
      values(from_tflite(bytes, {.drop_quantizers = true}).predict(samples)));
  EXPECT_EQ(
      failure_of<UnsupportedError>([&] { (void)from_tflite(shifted); }).code,
      "unsupported_type");
}

TEST(TfliteImport, KeepsActivationsOf16Bits) {
  const SymbolicTensor x = input({6, 5, 2}, "x");
  SymbolicTensor y = Conv2D({.filters = 3, .activation = "relu"})(x);
  y = Dense({.units = 4, .name = "head"})(Flatten()(y));
  const Model model(x, Softmax()(y), {.seed = 4});
  Model int16 = quant::quantize_model(
      model, {.policy = quant::Policy::tflite, .activation = {.bits = 16}});
  quant::calibrate(
      int16,
      [](const Model& m) { (void)m(Variable(tflite_samples(m, 16, 1))); },
      {.method = quant::Calibration::max});
  const std::string bytes = to_tflite(int16).bytes;
  const Model read = from_tflite(bytes);
  const Tensor samples = tflite_samples(model, 4, 3);
  const Model again = from_tflite(to_tflite(read).bytes);
  const auto stored = values(int16.predict(samples));
  for (const Model* copy : {&read, &again}) {
    const auto got = values(copy->predict(samples));
    // Biases are rounded.
    for (size_t i = 0; i < stored.size(); ++i) {
      EXPECT_NEAR(got[i], stored[i], 1e-4f);
    }
  }
  // The integer arithmetic, in steps of the output.
  const TfliteModel file = tflite_from_bytes(bytes);
  EXPECT_EQ(file.inputs()[0].dtype, DType::i16);
  const Tensor q = file.predict(file.inputs()[0].to_stored(samples));
  const auto integers = values(file.outputs()[0].to_real(q));
  for (size_t i = 0; i < stored.size(); ++i) {
    EXPECT_NEAR(integers[i], stored[i], 8 * file.outputs()[0].scale);
  }
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)to_tflite(int16, {.io = TfliteIo::uint8});
            }).code,
            "unsupported_value");
  // Near the float model: 16 bits, weights of 8.
  const auto expected = values(model.predict(samples));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(stored[i], expected[i], 0.02f);
  }
}

TEST(TfliteImport, RejectsZeroPointsOf16Bits) {
  const SymbolicTensor x = input({6}, "x");
  const Model model(x, Dense({.units = 4})(x));
  Model int16 = quant::quantize_model(
      model, {.policy = quant::Policy::tflite, .activation = {.bits = 16}});
  quant::calibrate(int16, [](const Model& m) {
    (void)m(Variable(tflite_samples(m, 16, 1)));
  });
  const std::string shifted =
      edited(to_tflite(int16).bytes, [](tflite::schema::ModelT& file) {
        auto& graph = *file.subgraphs[0];
        const auto input = static_cast<size_t>(graph.inputs[0]);
        graph.tensors[input]->quantization->zero_point = {5};
      });
  const TfliteModel file = tflite_from_bytes(shifted);
  EXPECT_THAT(failure_of<FormatError>([&] {
                (void)file.predict(Tensor::zeros({1, 6}, DType::i16));
              }).message,
              HasSubstr("must have zero point 0, got 5"));
}

TEST(TfliteExport, NamesOperatorsWithoutAFormOf16Bits) {
  const SymbolicTensor x = input({6, 5, 2}, "x");
  const Model model(
      x, Activation({.activation = "hard_silu", .name = "swish"})(x));
  Model int16 = quant::quantize_model(
      model, {.policy = quant::Policy::tflite, .activation = {.bits = 16}});
  quant::calibrate(int16, [](const Model& m) {
    (void)m(Variable(tflite_samples(m, 16, 1)));
  });
  const Failure failure =
      failure_of<UnsupportedError>([&] { (void)to_tflite(int16); });
  EXPECT_EQ(failure.code, "unsupported_layer");
  EXPECT_THAT(failure.message, HasSubstr("'swish'"));
  EXPECT_THAT(failure.message, HasSubstr("HARD_SWISH"));
}

TEST(TfliteImport, RejectsOtherBatchSizes) {
  const std::string bytes =
      edited(to_tflite(tflite_source()).bytes, [](auto& m) {
        auto& graph = *m.subgraphs[0];
        graph.tensors[static_cast<size_t>(graph.inputs[0])]->shape[0] = 2;
      });
  const Failure failure =
      failure_of<UnsupportedError>([&] { (void)from_tflite(bytes); });
  EXPECT_EQ(failure, (Failure{"unsupported_model", "input 'image'"}));
  EXPECT_THAT(failure.message, HasSubstr("batch of 1"));
}

TEST(TfliteImport, NamesDamagedFiles) {
  const TempFolder folder;
  write_file(folder / "m.tflite", "TFL3TFL3TFL3");
  EXPECT_EQ(failure_of<FormatError>([&] {
              (void)load_tflite(folder / "m.tflite");
            }).code,
            "invalid_file");
  EXPECT_TRUE(is_tflite_file(folder / "m.tflite"));
  EXPECT_FALSE(is_tflite_file(folder / "missing.tflite"));
  EXPECT_THROW((void)load_tflite(folder / "missing.tflite"), IoError);
}

}  // namespace
}  // namespace octet::io
