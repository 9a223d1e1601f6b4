// Names, types and axis orders of inputs and outputs from ONNX to ONNX, and
// samples in either axis order.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/octet.h>

#include "../io/onnx_models.h"
#include "octet_command.h"

namespace octet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// A detector [batch,3,6,10] -> [batch,60,4] with concatenated anchors, as
/// exported by another framework; H, W and C differ.
class Layouts : public ::testing::Test {
 protected:
  Layouts() {
    onnx::ModelProto model = io::model_of(
        "g (float[batch,3,6,10] image) => (float[batch,60,4] boxes) {\n"
        "  map = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (image, w)\n"
        "  last = Transpose <perm = [0,2,3,1]> (map)\n"
        "  boxes = Reshape (last, sizes)\n"
        "}");
    Tensor w({108});
    Rng(3).fill_uniform(w, -0.3f, 0.3f);
    *model.mutable_graph()->add_initializer() =
        io::float_tensor("w", {4, 3, 3, 3}, {w.f32().begin(), w.f32().end()});
    auto& sizes = *model.mutable_graph()->add_initializer();
    sizes.set_name("sizes");
    sizes.set_data_type(onnx::TensorProto::INT64);
    sizes.add_dims(3);
    for (const int64_t size : {0, 60, 4}) sizes.add_int64_data(size);
    io::save(model, folder_ / "in.onnx");
    x_ = Tensor({40, 3, 6, 10});
    Rng(4).fill_normal(x_, 0, 1);
    y_ = io::load_onnx_reference(folder_ / "in.onnx").predict(x_);
    io::write_npy(folder_ / "x.npy", x_);
    io::write_npy(folder_ / "nhwc.npy", x_.transposed({0, 2, 3, 1}));
  }

  std::string file(const std::string& name) const {
    return quoted(folder_ / name);
  }
  /// Runs octet and expects success.
  CommandResult run(const std::string& arguments) const {
    CommandResult r = run_octet(arguments);
    EXPECT_EQ(r.exit_code, 0) << arguments << "\n" << r.output;
    return r;
  }
  /// Returns inputs and outputs of a file.
  std::vector<std::string> ports(const std::string& name) const {
    const io::OnnxSummary summary = io::inspect_onnx(folder_ / name);
    std::vector<std::string> result;
    for (const auto* list : {&summary.inputs, &summary.outputs}) {
      for (const io::OnnxTensorInfo& port : *list) {
        result.push_back(fmt::format("{} {} {}", port.name, port.type,
                                     io::to_string(port.shape)));
      }
    }
    return result;
  }
  /// Returns the noise power of another file's outputs relative to the signal
  /// power of the original.
  double noise_of(const std::string& name) const {
    const Tensor y = io::load_onnx_reference(folder_ / name).predict(x_);
    double signal = 0, noise = 0;
    for (size_t i = 0; i < y_.f32().size(); ++i) {
      const double e = y_.f32()[i];
      signal += e * e;
      noise += (e - y.f32()[i]) * (e - y.f32()[i]);
    }
    return noise / signal;
  }

  TempFolder folder_;
  Tensor x_, y_;
};

TEST_F(Layouts, AreKeptByEveryCommandThatWritesONNX) {
  const auto given =
      ElementsAre("image float32 [batch,3,6,10]", "boxes float32 [batch,60,4]");
  const std::string in = file("in.onnx"), out = file("out.onnx");
  const std::string data = " --data " + file("x.npy");
  io::write_npy(folder_ / "y.npy", y_);
  const std::string labels = " --labels " + file("y.npy");
  const std::string short_training =
      data + labels + " --epochs 1 --rate 1e-6 --loss mean_squared_error";
  for (const std::string& command :
       {"convert " + in + " " + out, "fold " + in + " -o " + out,
        "quantize " + in + " -o " + out + data,
        "train " + in + " -o " + out + short_training,
        "qat " + in + " -o " + out + short_training}) {
    std::filesystem::remove(folder_ / "out.onnx");
    EXPECT_THAT(run(command).output, Not(HasSubstr("--layout")));
    EXPECT_THAT(ports("out.onnx"), given) << command;
    EXPECT_LT(noise_of("out.onnx"), 0.01) << command;  // about 2 if permuted
  }
  run("fold " + in + " -o " + file("m.h5"));
  run("quantize " + file("m.h5") + " -o " + out + data);
  EXPECT_THAT(ports("out.onnx"), given);
  EXPECT_LT(noise_of("out.onnx"), 0.01);
}

TEST_F(Layouts, ChangeOnRequest) {
  run("convert " + file("in.onnx") + " " + file("last.onnx") +
      " --layout nhwc --batch 2");
  EXPECT_THAT(ports("last.onnx"), ElementsAre("image float32 [2,6,10,3]",
                                              "boxes float32 [2,60,4]"));
  run("convert " + file("last.onnx") + " " + file("first.onnx") +
      " --layout nchw --batch 0");
  EXPECT_THAT(ports("first.onnx"), ElementsAre("image float32 [N,3,6,10]",
                                               "boxes float32 [N,60,4]"));
}

TEST_F(Layouts, OfSamplesAndLabelsAreRecognized) {
  Tensor targets = y_.clone();
  for (float& v : targets.f32()) v += 0.5f;
  io::write_npy(folder_ / "boxes.npy", targets);
  io::write_npy(folder_ / "turned.npy", targets.transposed({0, 2, 1}));
  for (const char* x : {"x.npy", "nhwc.npy"}) {
    for (const char* labels : {"boxes.npy", "turned.npy"}) {
      // Mean of 0.5^2.
      const Config result =
          run("evaluate " + file("in.onnx") + " --data " + file(x) +
              " --labels " + file(labels) + " --loss mean_squared_error --json")
              .json();
      EXPECT_NEAR(result.at("loss").as_number(), 0.25, 1e-5)
          << x << " " << labels;
    }
    run("predict " + file("in.onnx") + " --input " + file(x) + " --output " +
        file("p.npy"));
    const Tensor p = io::read_npy(folder_ / "p.npy");
    EXPECT_TRUE(std::ranges::equal(p.f32(), y_.f32())) << x;
    const Config verified =
        run("verify " + file("in.onnx") + " --json --input " + file(x)).json();
    EXPECT_EQ(verified.at("comparison").as_string(), "float against float");
    const Config compared = run("compare " + file("in.onnx") + " " +
                                file("in.onnx") + " --json --data " + file(x))
                                .json();
    for (const Config& value : compared.at("values").as_list()) {
      EXPECT_TRUE(value.at("equal").as_bool()) << x;
    }
  }
}

/// Labels reshaped to the axes of the model would be scrambled.
TEST_F(Layouts, OfTheFileAreReportedForFlatLabels) {
  onnx::ModelProto model = io::model_of(
      "g (float[batch,3,6,10] image) => (float[batch,3,6,10] map) {\n"
      "  map = Relu (image)\n"
      "}");
  io::save(model, folder_ / "map.onnx");
  io::write_npy(folder_ / "flat.npy", Tensor::zeros({40, 180}));
  const CommandResult r =
      run_octet("evaluate " + file("map.onnx") + " --data " + file("x.npy") +
                " --labels " + file("flat.npy") + " --loss mean_squared_error");
  EXPECT_EQ(r.exit_code, 1) << r.output;
  EXPECT_EQ(r.failure, (Failure{"shape_mismatch", "--labels"}));
  EXPECT_THAT(r.failure.message, HasSubstr("(40, 3, 6, 10)"));
}

TEST_F(Layouts, SamplesOfIntegerInputsCalibrate) {
  onnx::ModelProto model = io::model_of(
      "g (float[N,4] x, bool[N,4] mask) => (float[N,2] y) {\n"
      "  f = Cast <to = 1> (mask)\n"
      "  m = Mul (x, f)\n"
      "  y = MatMul (m, w)\n"
      "}");
  *model.mutable_graph()->add_initializer() =
      io::float_tensor("w", {4, 2}, {1, 2, -1, 0, 3, -2, 1, 1});
  io::save(model, folder_ / "mask.onnx");
  Tensor x({32, 4});
  Tensor mask = Tensor::zeros({32, 4}, DType::boolean);
  Rng(1).fill_normal(x, 0, 1);
  for (size_t i = 0; i < 128; i += 3) mask.data<bool>()[i] = true;
  io::write_npy(folder_ / "a.npy", x);
  io::write_npy(folder_ / "mask.npy", mask);
  run("sensitivity " + file("mask.onnx") + " --data x=" + file("a.npy") +
      " --data mask=" + file("mask.npy"));
  const CommandResult other = run_octet("sensitivity " + file("mask.onnx") +
                                        " --data x=" + file("mask.npy") +
                                        " --data mask=" + file("mask.npy"));
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_EQ(other.failure,
            (Failure{"unsupported_type", (folder_ / "mask.npy").string()}));
}

TEST_F(Layouts, FromBytesMakesTheInputUint8) {
  const std::string out = file("bytes.onnx");
  run("convert " + file("in.onnx") + " " + out +
      " --from-bytes unit --golden --batches 1,8,8");
  EXPECT_THAT(ports("bytes.onnx"), ElementsAre("image uint8 [batch,3,6,10]",
                                               "boxes float32 [batch,60,4]"));
  const Tensor x = io::read_npy(folder_ / "bytes.golden" / "input_0.npy");
  EXPECT_EQ(x.dtype(), DType::u8);
  EXPECT_EQ(std::filesystem::file_size(folder_ / "bytes.golden/input_0.raw"),
            8u * 3 * 6 * 10);
  EXPECT_THAT(read_file(folder_ / "bytes.commands.sh"),
              HasSubstr("bytes.golden/load_inputs.py"));
  // Octet imports the file with its type.
  run("convert " + out + " " + file("again.onnx"));
  EXPECT_THAT(ports("again.onnx"), ElementsAre("image uint8 [batch,3,6,10]",
                                               "boxes float32 [batch,60,4]"));
  run("verify " + file("again.onnx") + " --input " +
      quoted(folder_ / "bytes.golden" / "input_0.npy"));
  run("quantize " + out + " -o " + file("int8.onnx") + " --data " +
      quoted(folder_ / "bytes.golden" / "input_0.npy"));
  EXPECT_EQ(run_octet("convert " + out + " " + file("twice.onnx") +
                      " --from-bytes unit")
                .failure,
            (Failure{"conflicting_options", "--from-bytes"}));
}

TEST_F(Layouts, Uint8InputsRejectOtherValues) {
  run("convert " + file("in.onnx") + " " + file("bytes.onnx") +
      " --from-bytes unit");
  const Shape shape{8, 3, 6, 10};
  io::write_npy(folder_ / "floats.npy", Tensor::full(shape, 0.5f));
  Tensor whole(shape);
  for (size_t i = 0; i < whole.f32().size(); ++i) {
    whole.f32()[i] = static_cast<float>(i % 256);
  }
  io::write_npy(folder_ / "whole.npy", whole);
  for (const char* command :
       {"evaluate ", "sensitivity ", "quantize -o q.onnx "}) {
    const CommandResult r = run_octet(command + file("bytes.onnx") +
                                      " --data " + file("floats.npy"));
    EXPECT_EQ(r.exit_code, 1) << command;
    EXPECT_EQ(r.failure,
              (Failure{"out_of_range", (folder_ / "floats.npy").string()}));
    EXPECT_THAT(r.failure.message, HasSubstr("0.5"));
  }
  run("quantize " + file("bytes.onnx") + " -o " + file("q.onnx") + " --data " +
      file("whole.npy") + " --accept");
}

TEST_F(Layouts, SamplesOfAnotherRangeAreReported) {
  const SymbolicTensor x = input({6, 10, 3}, "x");
  const SymbolicTensor scaled = Rescaling({.scale = {1.0f / 255}})(x);
  io::save_model(Model(x, Dense({.units = 2})(Flatten()(scaled))),
                 folder_ / "bytes.h5");
  io::save_model(Model(x, Dense({.units = 2})(Flatten()(x))),
                 folder_ / "unit.h5", {.preprocess = "unit"});
  Tensor samples({8, 6, 10, 3});
  Rng(5).fill_uniform(samples, 0, 1);
  io::write_npy(folder_ / "unit.npy", samples);
  for (float& v : samples.f32()) v *= 255;
  io::write_npy(folder_ / "bytes.npy", samples);
  const auto quantized = [&](const char* model, const char* data) {
    return run(fmt::format("quantize {} -o {} --accept --data {}", file(model),
                           file("q.onnx"), file(data)));
  };
  EXPECT_THAT(quantized("bytes.h5", "unit.npy").warned(), Contains("--data"));
  const CommandResult bytes = quantized("unit.h5", "bytes.npy");
  EXPECT_THAT(bytes.warned(), Contains("--data"));
  EXPECT_THAT(bytes.output, HasSubstr("'unit'"));
  for (const auto& [model, data] :
       {std::pair{"bytes.h5", "bytes.npy"}, std::pair{"unit.h5", "unit.npy"}}) {
    EXPECT_THAT(quantized(model, data).warned(), Not(Contains("--data")));
  }
}

TEST_F(Layouts, FloatModelsRejectBytes) {
  io::save_model(io::load_onnx(folder_ / "in.onnx"), folder_ / "in.h5");
  run("convert " + file("in.onnx") + " " + file("bytes.onnx") +
      " --from-bytes unit");
  Tensor x({8, 3, 6, 10}, DType::u8);
  io::write_npy(folder_ / "x.npy", x);
  for (const std::string& command :
       {"verify " + file("bytes.onnx") + " --reference " + file("in.h5") +
            " --input ",
        "compare " + file("in.h5") + " " + file("bytes.onnx") + " --data "}) {
    const CommandResult r = run_octet(command + file("x.npy"));
    EXPECT_EQ(r.exit_code, 1) << command;
    EXPECT_EQ(r.failure,
              (Failure{"dtype_mismatch", (folder_ / "in.h5").string()}));
  }
}

}  // namespace
}  // namespace octet
