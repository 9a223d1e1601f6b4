// Builds and runs generated C code on this machine.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include <octet/io/c_code.h>
#include <octet/quant/quant.h>
#include <octet/runtime/file.h>
#include <octet/runtime/rng.h>

#include "../e2e/command.h"
#include "../temp_folder.h"

namespace octet::io {

/// Flags under which generated code has no warnings.
inline constexpr const char* kCFlags =
    "-std=c99 -Wall -Wextra -Wconversion -pedantic -Werror";

/// Compiles a program of model.c, `test` and libraries in `folder`, and runs
/// it.
inline CommandResult run_c(const TempFolder& folder,
                           const std::string& flags = "-O1",
                           const std::string& test = "model_test.c",
                           const std::string& libraries = "") {
  return run_command("cd " + quoted(folder.path()) + " && cc " + kCFlags + " " +
                     flags + " model.c " + test + " " + libraries +
                     " -o program && ./program");
}

/// Quantizes a model and calibrates it with random samples.
inline Model int8_model(const Model& model,
                        const quant::QuantizeOptions& options = {}) {
  Model int8 = quant::quantize_model(model, options);
  std::vector<Variable> inputs;
  Rng rng(3);
  for (const SymbolicTensor& input : model.inputs()) {
    Tensor x(input.shape().with(0, 8));
    rng.fill_normal(x, 0.0f, 1.0f);
    inputs.emplace_back(x);
  }
  quant::calibrate(int8, [&](const Model& m) { (void)m(inputs); });
  return int8;
}

/// Generated code of a model in a temporary folder.
class CCodeTest : public ::testing::Test {
 protected:
  /// Expects that the code computes the outputs of the model, bit for bit.
  void expect_same_bits(const Model& model, const COptions& options = {}) {
    report_ = export_c(model, folder_.path(), options);
    const CommandResult result = run_c(folder_);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_EQ(result.output,
              options.name + ": 4 of 4 golden outputs are equal\n");
  }
  std::string text(const std::string& name) const {
    return read_file(folder_ / name);
  }

  TempFolder folder_;
  CReport report_;
};

}  // namespace octet::io
