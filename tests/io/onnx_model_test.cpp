// Reference execution of ONNX files: inputs, outputs and rejected models.
#include <cmath>
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/quant/quant.h>
#include <octet/runtime/ops.h>

#include "../facts.h"
#include "../layers/golden.h"
#include "../support.h"
#include "onnx_run.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

TEST(OnnxReference, ReportsItsInputsAndOutputs) {
  onnx::ModelProto proto = conv_model();
  // Before IR 4 an initializer is an input, too.
  *proto.mutable_graph()->add_input() =
      model_of("g (float[4,3,3,3] w) => (float[4,3,3,3] y) {\n y = Relu (w)\n}")
          .graph()
          .input(0);
  const OnnxReference model = to_run(proto);
  ASSERT_EQ(model.inputs().size(), 1u);
  EXPECT_EQ(model.inputs()[0].name, "x");
  EXPECT_EQ(model.inputs()[0].type, "float32");
  EXPECT_EQ(to_string(model.inputs()[0].shape), "[N,3,8,8]");
  ASSERT_EQ(model.outputs().size(), 1u);
  EXPECT_EQ(to_string(model.outputs()[0].shape), "[N,4,6,6]");
  EXPECT_EQ(values(model.predict(Tensor::full({2, 3, 8, 8}, 1)))[7], 13.5f);
}

TEST(OnnxReference, NeedsAllInputsOfTheGraph) {
  const OnnxReference model = to_run(
      "(float[N,2] a, float[N,2] b) => (float[N,2] y)", "y = Add (a, b)");
  const Tensor x = Tensor::zeros({3, 2});
  EXPECT_EQ(failure_of<ValueError>([&] { model.predict(std::vector{x}); }),
            (Failure{"count_mismatch", "ONNX model"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)model.predict(x); }),
            (Failure{"count_mismatch", "ONNX model"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              model.predict(std::vector{x, Tensor()});
            }),
            (Failure{"missing_value", "input 'b'"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              model.predict(std::vector{x, Tensor::zeros({3, 2}, DType::i8)});
            }),
            (Failure{"dtype_mismatch", "input 'b'"}));
  EXPECT_EQ(model.predict(std::vector{x, x})[0].shape(), (Shape{3, 2}));
}

TEST(OnnxReference, HintsAtTransposingChannelsLastImages) {
  const OnnxReference model = to_run(conv_model());
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)model.predict(Tensor::zeros({2, 8, 8, 3}));
            }),
            (Failure{"shape_mismatch", "input 'x'"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)model.predict(Tensor::zeros({3, 8, 8}));
            }),
            (Failure{"shape_mismatch", "input 'x'"}));
}

TEST(OnnxReference, ChecksShapesAgainstTheGraph) {
  const OnnxReference model = to_run(
      "(float[N,2,M] a, float[N,M] b) => (float[N,2,M] y)", "y = Identity (a)");
  const auto refused = [&](const Shape& a, const Shape& b) {
    return failure_of<ShapeError>([&] {
      model.predict(std::vector{Tensor::zeros(a), Tensor::zeros(b)});
    });
  };
  EXPECT_EQ(refused({3, 2}, {3, 4}), (Failure{"shape_mismatch", "input 'a'"}));
  EXPECT_EQ(refused({3, 5, 4}, {3, 4}),
            (Failure{"shape_mismatch", "input 'a'"}));
  EXPECT_EQ(refused({3, 2, 4}, {3, 5}),
            (Failure{"shape_mismatch", "input 'b'"}));
  EXPECT_EQ(refused({3, 2, 4}, {3, 4}).code, "no error");
}

TEST(OnnxReference, ListsAllUnsupportedOperators) {
  onnx::ModelProto model = model_of(
      "g (float[2,2] x, double[2] h) => (float[2,2] y) {\n"
      "  a = Hardmax (x)\n"
      "  b = Hardmax (a)\n"
      "  c = Det (x)\n"
      "  d = Neg (h)\n"
      "  y = Identity (b)\n"
      "}");
  auto* node = model.mutable_graph()->add_node();
  node->set_name("mine");
  node->set_op_type("Gelu");
  node->set_domain("com.example");
  node->add_input("x");
  node->add_output("z");
  auto* domain = model.add_opset_import();
  domain->set_domain("com.example");
  domain->set_version(1);
  const Failure failure = failure_of<UnsupportedError>([&] { to_run(model); });
  EXPECT_EQ(failure, (Failure{"unsupported_operator", "ONNX model"}));
  EXPECT_THAT(quoted_names(failure.text()), IsSupersetOf({"c", "mine", "h"}));
}

TEST(OnnxReference, SumsProductsByLetters) {
  const auto run = [](const std::string& equation,
                      const std::vector<Tensor>& inputs) {
    std::string ends, names;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      std::string sizes;
      for (const int64_t size : inputs[i].shape().dims()) {
        sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
      }
      ends += (i == 0 ? "float[" : ", float[") + sizes + "] " + name;
      names += (i == 0 ? "" : ", ") + name;
    }
    const OnnxReference model =
        to_run("(" + ends + ") => (float[] y)",
               "y = Einsum <equation = \"" + equation + "\"> (" + names + ")");
    return values_of(model.predict(inputs)[0]);
  };
  const Tensor a = numbers({2, 2}, {1, 2, 3, 4});
  const Tensor b = numbers({2, 2}, {5, -6, 7, 8});
  EXPECT_THAT(run("ij,jk->ik", {a, b}), ElementsAre(19, 10, 43, 14));
  EXPECT_THAT(run("ij , jk", {a, b}), ElementsAre(19, 10, 43, 14));
  EXPECT_THAT(run("ii->i", {a}), ElementsAre(1, 4));
  EXPECT_THAT(run("ij->", {b}), ElementsAre(14));
  EXPECT_THAT(run("...j,j->j...", {a, numbers({2, 3})}),
              ElementsAre(2, 6, 6, 12));
  EXPECT_THAT(
      run("i,j,i->ij", {numbers({1, 2}), numbers({3, 4}), numbers({5, 6})}),
      ElementsAre(15, 20, 36, 48));
  EXPECT_EQ(refusal(to_run("(float[2,2] a) => (float[] y)",
                           "y = Einsum <equation = \"ij->ik\"> (a)"),
                    {a})
                .code,
            "invalid_graph");
}

TEST(OnnxReference, RejectsInvalidFiles) {
  EXPECT_EQ(failure_of<FormatError>([] { onnx_reference_from_bytes(""); }),
            (Failure{"unsupported_format", "file"}));
  const TempFolder folder;
  write_file(folder / "m.onnx", "no model");
  EXPECT_EQ(
      failure_of<FormatError>([&] { load_onnx_reference(folder / "m.onnx"); }),
      (Failure{"unsupported_format", "file"}));
  EXPECT_EQ(failure_of<IoError>([&] {
              load_onnx_reference(folder / "none.onnx");
            }).code,
            "file_not_found");
  EXPECT_FALSE(is_onnx_file(folder / "m.onnx"));
  EXPECT_FALSE(is_onnx_file(folder / "none.onnx"));
  save(conv_model(), folder / "model");
  EXPECT_TRUE(is_onnx_file(folder / "model"));
}

TEST(OnnxReference, ClampsStartsOfReversedSlices) {
  const OnnxReference slice = to_run(
      "(float[5] x, int64[1] s, int64[1] e, int64[1] a, int64[1] p) => "
      "(float[N] y)",
      "y = Slice (x, s, e, a, p)");
  const auto sliced = [&](int64_t start, int64_t end, int64_t step) {
    return values_of(slice.predict(std::vector<Tensor>{
        numbers({0, 1, 2, 3, 4}), integers({start}), integers({end}),
        integers({0}), integers({step})})[0]);
  };
  // ONNX Runtime clamps starts to [0, size - 1].
  EXPECT_THAT(sliced(-100, -200, -1), ElementsAre(0));
  EXPECT_THAT(sliced(-100, INT64_MIN, -2), ElementsAre(0));
  EXPECT_THAT(sliced(100, INT64_MIN, -2), ElementsAre(4, 2, 0));
  EXPECT_THAT(sliced(3, 0, -1), ElementsAre(3, 2, 1));
  EXPECT_THAT(sliced(-100, 2, 1), ElementsAre(0, 1));
}

TEST(OnnxReference, AlignsTheSecondOperandAtItsAxisBeforeOpset7) {
  const OnnxReference less =
      to_run("(float[2,3] x, float[2] k) => (bool[2,3] y)",
             "y = Less <broadcast = 1, axis = 0> (x, k)", 6);
  const Tensor y = less.predict(std::vector<Tensor>{
      numbers(Shape{2, 3}, {0, 0, 0, 0, 0, 0}), numbers({-1, 1})})[0];
  EXPECT_THAT(y.data<bool>(),
              ElementsAre(false, false, false, true, true, true));
}

TEST(OnnxReference, SkipsTheTermOfGemmIfBetaIsZero) {
  const OnnxReference gemm =
      to_run("(float[1,2] a, float[2,1] b, float[1,1] c) => (float[1,1] y)",
             "y = Gemm <beta = 0.0> (a, b, c)");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(values_of(gemm.predict(std::vector<Tensor>{
                  numbers(Shape{1, 2}, {1, 2}), numbers(Shape{2, 1}, {3, 4}),
                  numbers(Shape{1, 1}, {nan})})[0]),
              ElementsAre(11));
}

TEST(OnnxReference, ReturnsOutputsWithoutSharedMemory) {
  const OnnxReference model = to_run(
      "(float[2] x) => (float[2] same, float[2] twice, float[2] constant)",
      "c = Constant <value = float[2] {1.0, 2.0}> ()\n"
      "same = Identity (x)\n"
      "twice = Identity (same)\n"
      "constant = Identity (c)");
  const Tensor x = numbers({3, 4});
  std::vector<Tensor> y = model.predict(std::vector{x});
  for (Tensor& output : y) output.f32()[0] = 99;
  EXPECT_THAT(values_of(x), ElementsAre(3, 4));
  y = model.predict(std::vector{x});
  EXPECT_THAT(values_of(y[0]), ElementsAre(3, 4));
  EXPECT_THAT(values_of(y[1]), ElementsAre(3, 4));
  EXPECT_THAT(values_of(y[2]), ElementsAre(1, 2));
}

TEST(OnnxReference, SkipsUnnamedInputsAndOutputs) {
  const OnnxReference model = to_run("(float[3] x) => (float[3] y)",
                                     "m = Constant <value_float = 1.5> ()\n"
                                     "y = Clip (x, , m)");
  EXPECT_THAT(values_of(model.predict(numbers({-9, 1, 9}))),
              ElementsAre(-9, 1, 1.5f));
}

TEST(OnnxReference, AcceptsEmptyTensors) {
  const OnnxReference model = to_run(
      "(float[N,4] x) => (float[N,3] y, float[M,4] z, float[1,4] s)",
      "r = Relu (x)\n"
      "w = Constant <value = float[4,3] {1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,"
      "1.0,1.0,1.0}> ()\n"
      "m = MatMul (r, w)\n"
      "y = Softmax (m)\n"
      "z = Concat <axis = 0> (x, r)\n"
      "a = Constant <value = int64[1] {0}> ()\n"
      "s = ReduceSum (x, a)");
  const auto y = model.predict(std::vector{Tensor::zeros({0, 4})});
  EXPECT_EQ(y[0].shape(), (Shape{0, 3}));
  EXPECT_EQ(y[1].shape(), (Shape{0, 4}));
  EXPECT_THAT(values_of(y[2]), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(to_run(conv_model()).predict(Tensor::zeros({0, 3, 8, 8})).shape(),
            (Shape{0, 4, 6, 6}));
}

TEST(OnnxReference, MatchesKerasForEachExportedLayer) {
  // Transposes sequences unless they have the required size.
  const auto turned = [](const Tensor& x, std::initializer_list<int> order,
                         int64_t rows) {
    if (x.shape().rank() == 3 && x.shape()[1] != rows) {
      return x.transposed({0, 2, 1});
    }
    return x.shape().rank() == 4 ? x.transposed(order) : x;
  };
  int run = 0;
  for (const auto& path : golden_files("layers")) {
    SCOPED_TRACE(path.filename().string());
    const GoldenCase c = read_golden(path);
    const OnnxReference model =
        onnx_reference_from_bytes(to_onnx(golden_model(c)).bytes);
    std::vector<Tensor> inputs;
    for (const GoldenArray& x : c.inputs) {
      const OnnxTensorInfo& info = model.inputs()[inputs.size()];
      Tensor input = x.value;
      if (input.shape().rank() > 2) {
        const auto rows = std::get<int64_t>(info.shape->at(1));
        input = turned(input, {0, 3, 1, 2}, rows);
      }
      inputs.push_back(info.type == "int64" ? cast(input, DType::i64) : input);
    }
    const Tensor y =
        turned(model.predict(inputs).at(0), {0, 2, 3, 1}, c.output.shape()[1]);
    ASSERT_EQ(y.shape(), c.output.shape());
    float largest = 1;
    for (const float e : c.output.f32()) {
      largest = std::max(largest, std::fabs(e));
    }
    for (size_t i = 0; i < y.f32().size(); ++i) {
      // Float32 against Keras' float64, as in tests/oracle/compare_layers.py.
      ASSERT_LE(std::fabs(y.f32()[i] - c.output.f32()[i]), 1e-5f * largest);
    }
    ++run;
  }
  EXPECT_GT(run, 100);
}

// A convolution, a product and a mean, large enough for several tasks.
Model wide() {
  const auto image = input({17, 19, 3}, "image");
  auto x = Conv2D({.filters = 23, .kernel_size = {3, 3}})(image);
  x = BatchNormalization()(ReLU()(x));
  x = Flatten()(AveragePooling2D({.pool_size = {2, 2}})(x));
  return Model(image, Dense({.units = 700})(x));
}

TEST(OnnxReference, GivesTheSameBitsForAnyNumberOfThreads) {
  const ThreadCountGuard restored;
  const OnnxReference model = onnx_reference_from_bytes(to_onnx(wide()).bytes);
  Tensor x({3, 3, 17, 19});
  Rng(1).fill_normal(x, 0, 1);
  set_num_threads(1);
  const std::vector<float> expected = values_of(model.predict(x));
  for (const int threads : {2, 3, 5}) {
    set_num_threads(threads);
    EXPECT_EQ(values_of(model.predict(x)), expected) << threads;
  }
}

TEST(OnnxReference, RunsInSeveralThreadsAtOnce) {
  const OnnxReference model = onnx_reference_from_bytes(to_onnx(wide()).bytes);
  Tensor x({1, 3, 17, 19});
  Rng(1).fill_normal(x, 0, 1);
  const std::vector<float> expected = values_of(model.predict(x));
  std::vector<std::vector<float>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] { result = values_of(model.predict(x)); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace octet::io
