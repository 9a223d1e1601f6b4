// The `octet` program on Keras files.
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/octet.h>

#include "../io/keras_files.h"
#include "octet_command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string golden(const char* name) { return quoted(io::keras_golden(name)); }

TEST(OctetInspect, ShowsKerasModels) {
  for (const char* name : {"k2_functional.h5", "k3_functional.keras"}) {
    const CommandResult r = run_octet("inspect " + golden(name));
    EXPECT_EQ(r.exit_code, 0);
    EXPECT_THAT(r.output, AllOf(HasSubstr("middle/encoder/conv1"),
                                HasSubstr("ScaledDotProductAttention"),
                                HasSubstr("[N,3]")))
        << name;
  }
  const CommandResult json =
      run_octet("inspect --json " + golden("k2_functional.h5"));
  ASSERT_EQ(json.exit_code, 0);
  const Config model = io::from_json(json.output);
  EXPECT_EQ(model.at("name"), Config("outer"));
  EXPECT_EQ(model.at("inputs").as_list().size(), 2u);
  EXPECT_EQ(model.at("outputs").as_list().size(), 2u);
}

TEST(OctetInspect, DetectsFilesByTheirContents) {
  const TempFolder folder;
  write_file(folder / "model.onnx",
             read_file(io::keras_golden("k3_bfloat16.keras")));
  EXPECT_EQ(run_octet("inspect " + quoted(folder / "model.onnx")).exit_code, 0);
}

TEST(OctetInspect, ShowsOctetFiles) {
  const TempFolder folder;
  const Model model = quant::quantize_model(zoo::lenet());
  io::save_model(model, folder / "lenet.h5");
  const std::string file = quoted(folder / "lenet.h5");
  const CommandResult r = run_octet("inspect " + file);
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, StartsWith(model.summary()));
  EXPECT_THAT(r.output, HasSubstr("5 weights and 5 activations"));
  std::string bytes = read_file(folder / "lenet.h5");
  bytes[bytes.size() / 2] ^= 1;
  write_file(folder / "lenet.h5", bytes);
  const CommandResult damaged = run_octet("inspect " + file);
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_EQ(damaged.failure, (Failure{"checksum_mismatch", "checksum"}));
}

TEST(OctetInspect, ShowsTheScalesOfAQuantizedModel) {
  const std::string file = golden("toolkit_sequence.h5");
  const CommandResult r = run_octet("inspect " + file);
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, ContainsRegex("dense +input 0 +0\\.0[0-9]+ +int8"));
  EXPECT_THAT(r.output, ContainsRegex("conv +kernel .* \\.\\. .* \\(3\\)"));
  const Config json = io::from_json(run_octet("inspect --json " + file).output);
  EXPECT_EQ(json.at("qdq").as_list().size(), 4u);
  EXPECT_EQ(json.at("qdq").as_list()[1].at("scales").as_list().size(), 3u);
}

TEST(OctetInspect, LoadsTheArchitectureFromAnotherFile) {
  const std::string weights =
      "inspect " + golden("k2_functional.legacy_weights.h5");
  const CommandResult alone = run_octet(weights);
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_EQ(alone.failure, (Failure{"missing_value", "model_config"}));
  const CommandResult r = run_octet(weights + " --architecture " +
                                    golden("k2_functional.architecture.json"));
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("middle/encoder/conv1"));
  for (const char* other : {"zoo:", "zoo:lenet"}) {
    const CommandResult refused =
        run_octet(fmt::format("inspect {} --architecture a.json", other));
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_EQ(refused.failure,
              (Failure{"conflicting_options", "--architecture"}));
  }
}

TEST(OctetInspect, LoadsTheWeights) {
  // A value of the last kernel is NaN.
  std::string bytes = read_file(io::keras_golden("k1_tf.h5"));
  const Model model = io::load_keras(io::keras_golden("k1_tf.h5"));
  const Tensor kernel =
      model.layer("dense").parameter("kernel").variable.value();
  const size_t at =
      bytes.find(std::string(static_cast<const char*>(kernel.raw()), 16));
  ASSERT_NE(at, bytes.npos);
  const float nan = NAN;
  bytes.replace(at, 4, reinterpret_cast<const char*>(&nan), 4);
  const TempFolder folder;
  write_file(folder / "nan.h5", bytes);
  const CommandResult r = run_octet("inspect " + quoted(folder / "nan.h5"));
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_EQ(r.failure, (Failure{"not_finite", "values"}));
  EXPECT_THAT(r.failure.message,
              AllOf(HasSubstr("nan.h5"), HasSubstr("'dense'")));
}

TEST(OctetInspect, PrintsErrorsOnStandardError) {
  const TempFolder folder;
  write_file(folder / "empty.h5", "");
  const std::string command = fmt::format(
      "{} inspect {}", quoted(OCTET_BIN "/octet"), quoted(folder / "empty.h5"));
  const CommandResult errors = run_command("(" + command + " >/dev/null)");
  EXPECT_EQ(errors.exit_code, 1);
  EXPECT_EQ(errors.failure, (Failure{"unsupported_format", "file"}));
  EXPECT_THAT(errors.output, HasSubstr("empty.h5"));
  EXPECT_EQ(run_command("(" + command + " 2>/dev/null)").output, "");
}

/// Runs `octet predict` on x and reads its output.
struct Predicted {
  CommandResult result;
  Tensor y;
};
Predicted predicted(const std::string& model, const Tensor& x,
                    const std::string& options = "") {
  const TempFolder folder;
  io::write_npy(folder / "x.npy", x);
  Predicted p{run_octet(fmt::format("predict {} --input {} --output {} {}",
                                    model, quoted(folder / "x.npy"),
                                    quoted(folder / "y.npy"), options)),
              {}};
  if (p.result.exit_code == 0) p.y = io::read_npy(folder / "y.npy");
  return p;
}

TEST(OctetPredict, MatchesKeras) {
  const io::KerasCase expected = io::keras_case("k2_sequence");
  for (const char* options : {"", "--batch 1"}) {
    const Predicted p =
        predicted(golden("k2_sequence.h5"), expected.inputs[0], options);
    ASSERT_EQ(p.result.exit_code, 0) << p.result.output;
    ASSERT_EQ(p.y.shape(), expected.outputs[0].shape());
    EXPECT_LE(io::largest_difference(p.y, expected.outputs[0]), 1e-5f);
  }
}

TEST(OctetPredict, ReproducesThePublishedAccuracyInBothFormats) {
  if (!std::filesystem::exists(testdata("kws01"))) {
    GTEST_SKIP() << testdata() << ": no shared test data";
  }
  const TempFolder folder;
  const io::Keywords words = io::keywords();
  io::write_npy(folder / "l.npy", words.labels);
  const std::string labels = "--labels " + quoted(folder / "l.npy");
  const std::string keras =
      quoted(testdata("models/kws_ref_model_converted.h5"));
  const Predicted float_model = predicted(keras, words.x, labels);
  EXPECT_THAT(float_model.result.output,
              HasSubstr("accuracy: 91.30 % (913 of 1000)"));
  const std::string onnx = quoted(folder / "kws.onnx");
  ASSERT_EQ(run_octet("convert " + keras + " " + onnx).exit_code, 0);
  const Predicted file =
      predicted(onnx, words.x.transposed({0, 3, 1, 2}), labels);
  EXPECT_THAT(file.result.output, HasSubstr("accuracy: 91.30 % (913 of 1000)"));
  EXPECT_LE(io::largest_difference(file.y, float_model.y), 1e-4f);
}

// ONNX Runtime's own quantization, with zero points: 32.5 dB.
TEST(KeywordNetwork, GetsZeroPointsForUint8Targets) {
  if (!std::filesystem::exists(testdata("kws01"))) {
    GTEST_SKIP() << testdata() << ": no shared test data";
  }
  const TempFolder folder;
  io::write_npy(folder / "x.npy", io::keywords().x);
  for (const char* target : {"onnxruntime", "openvino"}) {
    const CommandResult r = run_octet(fmt::format(
        "quantize {} --data {} -o {} --target {} --json",
        quoted(testdata("models/kws_ref_model_converted.h5")),
        quoted(folder / "x.npy"), quoted(folder / "int8.onnx"), target));
    ASSERT_EQ(r.exit_code, 0) << r.output;
    EXPECT_GT(io::from_json(r.output).at("sqnr_db").as_number(), 29) << target;
  }
}

TEST(OctetPredict, ExplainsWrongLabels) {
  const TempFolder folder;
  const Tensor x = io::keras_case("toolkit_sequence").inputs[0];
  const std::pair<Tensor, std::string> cases[] = {
      {Tensor::zeros({3}), "float32 [3]"},
      {Tensor::zeros({2}, DType::i64), "int64 [2]"},
      {Tensor::of<float>({3, 4}, {1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0}),
       "labels.argmax(1)"},
      {Tensor::zeros({3, 1}, DType::i32), "labels.reshape(-1)"},
      {Tensor::zeros({1, 3}, DType::i64), "int64 [1,3]"},
      {Tensor::zeros({3, 2, 2}, DType::i64), "octet evaluate"},
      {Tensor::of<int64_t>({3}, {0, 4, 0}), "[0,4)"},
      {Tensor::of<int64_t>({3}, {0, 1, -1}), "-1"},
  };
  for (const auto& [labels, fact] : cases) {
    io::write_npy(folder / "l.npy", labels);
    const Predicted p = predicted(golden("toolkit_sequence.h5"), x,
                                  "--labels " + quoted(folder / "l.npy"));
    EXPECT_EQ(p.result.exit_code, 1);
    const bool wrong_type =
        labels.shape() != Shape{3} || labels.dtype() != DType::i64;
    EXPECT_EQ(p.result.failure,
              (Failure{wrong_type ? "dtype_mismatch" : "out_of_range",
                       (folder / "l.npy").string()}));
    EXPECT_THAT(p.result.failure.message, HasSubstr(fact));
  }
}

TEST(OctetPredict, ExplainsWrongInputs) {
  const struct {
    Tensor x;
    const char* code;
    const char* fact;
  } cases[] = {
      {Tensor::zeros({2, 3, 6, 8}), "shape_mismatch", "[2,3,6,8]"},
      {Tensor::zeros({2, 6, 8, 3}), "shape_mismatch", "[2,6,8,3]"},
      {Tensor::zeros({8, 6, 3}), "shape_mismatch", "x[None]"},
      {Tensor::zeros({2, 5}), "shape_mismatch", "[N,8,6,3]"},
      {Tensor::zeros({2, 8, 6, 3}, DType::u8), "dtype_mismatch",
       "x.astype(\"float32\")"},
      {Tensor::zeros({2, 144}), "shape_mismatch", "x.reshape(-1, 8, 6, 3)"},
      {Tensor::zeros({0, 8, 6, 3}), "invalid_shape", ""},
  };
  for (const auto& [x, code, fact] : cases) {
    const CommandResult r = predicted(golden("k2_sequence.h5"), x).result;
    EXPECT_EQ(r.exit_code, 1);
    EXPECT_EQ(r.failure.code, code) << r.output;
    EXPECT_THAT(r.failure.subject, EndsWith("x.npy"));
    EXPECT_THAT(r.failure.message, HasSubstr(fact));
  }
}

TEST(OctetPredict, ReportsUnwritableOutputsFirst) {
  const TempFolder folder;
  const CommandResult r =
      run_octet(fmt::format("predict none.h5 --input none.npy --output {}",
                            quoted(folder / "none/y.npy")));
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_EQ(r.failure,
            (Failure{"file_not_found", (folder / "none/y.npy").string()}));
}

TEST(OctetPredict, WarnsOfUntrainedNetworks) {
  const Predicted p = predicted("zoo:lenet", Tensor::zeros({1, 28, 28, 1}));
  EXPECT_EQ(p.result.exit_code, 0);
  EXPECT_THAT(p.result.warned(), ElementsAre("zoo:lenet"));
}

TEST(OctetInspect, NamesTheKindOfOtherFiles) {
  const TempFolder folder;
  write_file(folder / "notes", "words");
  io::write_npy(folder / "x.npy", Tensor::zeros({2}));
  std::filesystem::create_directory(folder / "saved");
  write_file(folder / "saved/saved_model.pb", "\x08\x01");
  const struct {
    const char* command;
    const char* file;
    const char* kind;
  } cases[] = {{"inspect", "notes", "text"},
               {"inspect", "x.npy", "NumPy"},
               {"inspect", "saved", "SavedModel"},
               {"plan", "saved", "SavedModel"}};
  for (const auto& [command, file, kind] : cases) {
    const Failure failure =
        run_octet(fmt::format("{} {}", command, quoted(folder / file))).failure;
    EXPECT_EQ(failure,
              (Failure{"unsupported_format", (folder / file).string()}));
    EXPECT_THAT(failure.message, HasSubstr(kind));
  }
}

TEST(OctetPredict, RejectsInputsWithoutNames) {
  const Predicted several =
      predicted(golden("k2_functional.h5"), Tensor::zeros({1, 6, 5, 3}));
  EXPECT_EQ(several.result.exit_code, 1);
  EXPECT_EQ(several.result.failure, (Failure{"unknown_name", "--input"}));
  EXPECT_EQ(run_octet("predict " + golden("k2_sequence.h5")).exit_code, 2);
  EXPECT_EQ(run_octet(fmt::format("predict {} --input x --output y --batch 0",
                                  golden("k2_sequence.h5")))
                .exit_code,
            2);
}

TEST(OctetConvert, WritesOnnx) {
  const TempFolder folder;
  const std::string out = quoted(folder / "m.onnx");
  const CommandResult r =
      run_octet(fmt::format("convert {} {}", golden("k2_sequence.h5"), out));
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_EQ(run_octet("inspect " + out).exit_code, 0);
  EXPECT_EQ(run_octet(fmt::format("convert {} {}", golden("k2_sequence.h5"),
                                  quoted(folder / "m.txt")))
                .exit_code,
            2);
  write_file(folder / "bad.h5", "no model");
  const CommandResult bad =
      run_octet(fmt::format("convert {} {}", quoted(folder / "bad.h5"), out));
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_EQ(bad.failure, (Failure{"unsupported_format", "file"}));
  EXPECT_THAT(bad.failure.message, HasSubstr("bad.h5"));
}

TEST(OctetInspect, LoadsOrRejectsTheCorpusOfBadFiles) {
  const auto folder = testdata("bad_inputs");
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << testdata() << ": no shared test data";
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".h5")) continue;
    const CommandResult r = run_octet("inspect " + quoted(entry.path()));
    EXPECT_LE(r.exit_code, 1) << name;
    if (!name.starts_with("fuzz_")) {
      EXPECT_EQ(r.exit_code, name.starts_with("ok_") ? 0 : 1) << name;
    }
    EXPECT_EQ(r.output.starts_with("error: "), r.exit_code == 1) << r.output;
  }
}

}  // namespace
}  // namespace octet
