// Mutants of files that once caused faults, in everything that parses ONNX
// files: each gives an Error or an output.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <octet/io/compare.h>
#include <octet/io/lint.h>
#include <octet/io/onnx.h>
#include <octet/io/report.h>
#include <octet/layers/inference_session.h>
#include <octet/quant/quantize_model.h>

#include "../testdata.h"
#include "lint_models.h"
#include "model_mutator.h"
#include "mutator.h"
#include "onnx_run.h"

namespace octet::io {
namespace {

std::vector<std::string> seeds() {
  std::vector<std::string> models{
      conv_model().SerializeAsString(), quantized_model().SerializeAsString(),
      lint_model("(float[N,3,8,8] x) => (float[N,4,6,6] y)",
                 pair("x", "xd") + pair("w", "wd", "s4", "z4", "<axis = 0>") +
                     "c = Conv (xd, wd, b)\nr = Relu (c)\n" + pair("r", "y"))
          .SerializeAsString()};
  std::vector<std::filesystem::path> paths;
  for (const char* folder : {"faults/robust", "faults/onnx"}) {
    if (!std::filesystem::exists(testdata(folder))) continue;
    for (const auto& entry :
         std::filesystem::directory_iterator(testdata(folder))) {
      const bool small = entry.file_size() < 20'000;
      if (entry.path().extension() == ".onnx" && small) {
        paths.push_back(entry.path());
      }
    }
  }
  std::ranges::sort(paths);
  for (const auto& path : paths) models.push_back(read_file(path));
  return models;
}

template <class Body>
void expect_error_or_answer(const char* what, const Body& body) {
  try {
    body();
  } catch (const Error&) {
  } catch (const std::exception& error) {
    ADD_FAILURE() << what << ": " << error.what();
  }
}

TEST(OnnxSeedFuzz, MutantsOfFaultsAreAcceptedOrRejected) {
  const WarningSink sink = set_warning_sink([](const Warning&) {});
  const FileLimits limits{.memory_limit = 64 << 20, .time_limit = 2};
  const TempFolder folder;
  const std::filesystem::path path = folder / "m.onnx";
  const std::vector<std::string> models = seeds();
  const FuzzRuns runs(400);
  const char* first = std::getenv("OCTET_FUZZ_SEED");
  const uint64_t begin =
      first == nullptr ? 0 : std::strtoull(first, nullptr, 10);
  for (uint64_t run = 0; runs.more(run) && !::testing::Test::HasFailure();
       ++run) {
    const uint64_t seed = begin + run;
    const std::string& original = models[seed % models.size()];
    std::string bytes = original;
    if (run >= models.size()) {
      if (seed % 4 == 0) {
        bytes = Mutator(seed).damage(bytes);
      } else {
        onnx::ModelProto model;
        ASSERT_TRUE(model.ParseFromString(bytes));
        ModelMutator(seed).damage(model);
        bytes = model.SerializeAsString();
      }
    }
    write_file(path, bytes);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_error_or_answer("inspect", [&] { (void)inspect_onnx(path); });
    expect_error_or_answer("lint", [&] {
      for (const Target target : {Target::tensorrt8, Target::onnxruntime}) {
        (void)lint_onnx(path, {.target = target, .limits = limits}).to_string();
      }
    });
    expect_error_or_answer("fix", [&] {
      (void)fix_onnx(path, {.target = Target::tensorrt8, .limits = limits});
    });
    expect_error_or_answer("draw", [&] {
      const Drawing drawing = draw_onnx(path, {.limits = limits});
      (void)to_svg(drawing);
      (void)to_dot(drawing);
    });
    expect_error_or_answer("trace",
                           [&] { (void)TracedModel::from_onnx(path, limits); });
    expect_error_or_answer("reference",
                           [&] { (void)load_onnx_reference(path, limits); });
    expect_error_or_answer("layers", [&] {
      const Model model = load_onnx(path, {.limits = limits});
      (void)to_onnx(model);
      const InferenceSession session(
          model, {.memory_limit = 64 << 20, .time_limit = 2});
      (void)quant::quantize_model(model);
    });
  }
  set_warning_sink(sink);
}

}  // namespace
}  // namespace octet::io
