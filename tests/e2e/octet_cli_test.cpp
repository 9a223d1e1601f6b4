// The `octet` program.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <octet/io/json.h>
#include <octet/octet.h>

#include "octet_command.h"

namespace octet {
namespace {

// A small quantized model with H != W != C.
void export_small(const std::filesystem::path& path) {
  const auto image = input({6, 4, 3}, "image");
  auto x = Conv2D({.filters = 5, .padding = Padding::same})(image);
  x = ReLU()(x);
  x = Flatten()(x);
  const Model model(image, Dense({.units = 2})(x));
  Model qat = quant::quantize_model(model);
  Rng rng(1);
  Tensor inputs({4, 6, 4, 3});
  rng.fill_normal(inputs, 0, 1);
  quant::calibrate(qat, [&](const Model& m) { (void)m(Variable(inputs)); });
  io::export_onnx(qat, path);
}

/// Runs `octet inspect` on that model.
CommandResult inspect_small(const std::string& option = "") {
  const TempFolder folder;
  export_small(folder / "small.onnx");
  return run_octet(
      fmt::format("inspect {} {}", option, quoted(folder / "small.onnx")));
}

TEST(OctetProgram, PrintsItsVersion) {
  const CommandResult r = run_octet("--version");
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_NE(r.output.find(version()), std::string::npos) << r.output;
}

TEST(OctetProgram, ShowsAModelAsATable) {
  const CommandResult r = inspect_small();
  EXPECT_EQ(r.exit_code, 0);
  for (const char* word : {"[N,3,6,4]", "Conv", "Gemm", "QuantizeLinear",
                           "[N,5,6,4]", "int8", "4 Q/DQ pairs"}) {
    EXPECT_NE(r.output.find(word), std::string::npos) << word << r.output;
  }
}

TEST(OctetProgram, ShowsAModelAsJson) {
  const CommandResult r = inspect_small("--json");
  ASSERT_EQ(r.exit_code, 0);
  const Config summary = io::from_json(r.output);
  EXPECT_EQ(summary.at("opset").as_int(), 13);
  EXPECT_EQ(summary.at("qdq_pairs").as_list().size(), 4u);
  EXPECT_EQ(summary.at("inputs").as_list()[0].at("shape"),
            Config(Config::List{"N", 3, 6, 4}));
}

TEST(OctetProgram, ShowsANetworkOfTheZooAsATable) {
  const CommandResult r = run_octet("inspect zoo:resnet8");
  EXPECT_EQ(r.exit_code, 0);
  for (const char* word : {"conv2d_8", "Conv2D", "[N,32,32,3]", "[N,10]",
                           "78,666", "12,501,632"}) {
    EXPECT_NE(r.output.find(word), std::string::npos) << word << r.output;
  }
}

TEST(OctetProgram, ShowsANetworkOfTheZooAsJson) {
  const CommandResult r = run_octet("inspect zoo:lenet --json");
  ASSERT_EQ(r.exit_code, 0);
  const Config network = io::from_json(r.output);
  EXPECT_EQ(network.at("name").as_string(), "lenet");
  EXPECT_EQ(network.at("input"), Config(Config::List{"N", 28, 28, 1}));
  EXPECT_EQ(network.at("outputs"),
            Config(Config::List{Config(Config::List{"N", 10})}));
  EXPECT_EQ(network.at("parameters").as_int(), 61706);
  EXPECT_EQ(network.at("trainable").as_int(), 61706);
  EXPECT_EQ(network.at("multiply_adds").as_int(), 416520);
  const Config& conv1 = network.at("layers").as_list()[1];
  EXPECT_EQ(conv1.at("name").as_string(), "conv1");
  EXPECT_EQ(conv1.at("class").as_string(), "Conv2D");
  EXPECT_EQ(conv1.at("output"), Config(Config::List{"N", 28, 28, 6}));
  EXPECT_EQ(conv1.at("parameters").as_int(), 156);
  EXPECT_EQ(conv1.at("multiply_adds").as_int(), 117600);
}

TEST(OctetProgram, ListsTheZoo) {
  const CommandResult table = run_octet("inspect zoo:");
  EXPECT_EQ(table.exit_code, 0);
  const CommandResult json = run_octet("inspect zoo: --json");
  ASSERT_EQ(json.exit_code, 0);
  const Config networks = io::from_json(json.output);
  EXPECT_EQ(networks.as_list().size(), zoo::entries().size());
  for (const Config& network : networks.as_list()) {
    const std::string& name = network.at("name").as_string();
    EXPECT_NE(table.output.find(name), std::string::npos) << name;
    if (name == "resnet50") {
      EXPECT_EQ(network.at("parameters").as_int(), 25636712);
      EXPECT_EQ(network.at("input"), Config(Config::List{224, 224, 3}));
    }
  }
}

TEST(OctetProgram, ShowsFusedSteps) {
  const CommandResult r = run_octet("inspect zoo:resnet8 --fused --json");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  int convolutions = 0;
  int64_t multiply_adds = 0;
  for (const Config& step : io::from_json(r.output).as_list()) {
    convolutions += step.at("op").as_string() == "conv2d";
    multiply_adds += step.at("multiply_adds").as_int();
  }
  EXPECT_EQ(convolutions, 9);
  // Banbury et al., arXiv 2106.07597: 12.5 million.
  EXPECT_EQ(multiply_adds, 12501632);
  const CommandResult table = run_octet("inspect zoo:resnet8 --fused");
  EXPECT_NE(table.output.find("scale, add, clip"), std::string::npos)
      << table.output;
}

TEST(OctetProgram, MeasuresAModel) {
  const CommandResult r = run_octet(
      "bench zoo:resnet8 --int8 --batch 3 --threads 1 --seconds 0 "
      "--json 2>/dev/null");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const Config result = io::from_json(r.output);
  EXPECT_EQ(result.at("batch").as_int(), 3);
  EXPECT_EQ(result.at("threads").as_int(), 1);
  EXPECT_TRUE(result.at("int8").as_bool());
  EXPECT_GE(result.at("runs").as_int(), 20);
  EXPECT_LE(result.at("ms_best").as_number(),
            result.at("ms_median").as_number());
  EXPECT_LE(result.at("ms_median").as_number(),
            result.at("ms_p99").as_number());
  // The bytes of 9 convolutions and a dense layer, and padding of panels.
  EXPECT_GT(result.at("weight_bytes").as_int(), 77360);
  EXPECT_LT(result.at("weight_bytes").as_int(), 120000);
  const CommandResult table = run_octet("bench zoo:lobelia --seconds 0");
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(table.output.find("median"), std::string::npos) << table.output;
  EXPECT_EQ(run_octet("bench zoo:lobelia --batch 0").exit_code, 2);
  EXPECT_EQ(run_octet("bench").exit_code, 2);
}

TEST(OctetProgram, WritesTraces) {
  const TempFolder folder;
  const std::filesystem::path bench = folder / "bench.json";
  const CommandResult r =
      run_octet("bench zoo:lenet --seconds 0 --trace " + quoted(bench));
  ASSERT_EQ(r.exit_code, 0) << r.output;
  int convolutions = 0;
  for (const Config& event : io::from_json(read_file(bench)).as_list()) {
    EXPECT_EQ(event.at("ph").as_string(), "X");
    convolutions += event.at("name").as_string() == "conv2d";
  }
  EXPECT_EQ(convolutions, 20);  // two in each of ten runs
  const std::filesystem::path onnx = folder / "small.onnx";
  export_small(onnx);
  const CommandResult benched =
      run_command("OCTET_TRACE=import " + quoted(OCTET_BIN "/octet") +
                  " bench --seconds 0 " + quoted(onnx) + " 2>&1");
  EXPECT_NE(benched.output.find("import Conv '"), std::string::npos)
      << benched.output;
}

TEST(OctetProgram, SuggestsNetworksOfTheZoo) {
  const CommandResult r = run_octet("inspect zoo:resnet9");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_NE(r.output.find("did you mean"), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("'resnet8'"), std::string::npos) << r.output;
}

TEST(OctetProgram, NamesTheFileAtFault) {
  const TempFolder folder;
  write_file(folder / "text.onnx", "this is not a model");
  write_file(folder / "empty.onnx", "");
  for (const char* name : {"text.onnx", "empty.onnx", "missing.onnx"}) {
    const CommandResult r = run_octet("inspect " + quoted(folder / name));
    EXPECT_EQ(r.exit_code, 1) << name;
    EXPECT_NE(r.output.find("error: "), std::string::npos) << r.output;
    EXPECT_NE(r.output.find(name), std::string::npos) << r.output;
  }
}

TEST(OctetProgram, ReportsUsageErrorsWithCodeTwo) {
  for (const char* arguments : {"inspect", "--nonsense", "unknown x"}) {
    const CommandResult r = run_octet(arguments);
    EXPECT_EQ(r.exit_code, 2) << arguments << "\n" << r.output;
    EXPECT_FALSE(r.output.empty());
  }
}

}  // namespace
}  // namespace octet
