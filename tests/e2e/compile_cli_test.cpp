// octet compile: C code on this machine and on emulated ones.
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/octet.h>

#include "../testdata.h"
#include "octet_command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const char* const kMicrocontroller =
    OCTET_SOURCE_DIR "/examples/microcontroller";

// A machine that runs generated code: `build` makes `program` of model.c and
// model_test.c.
struct CTarget {
  std::string name, compiler, emulator, build, run;
};

constexpr const char* kStrict =
    "-std=c99 -O2 -Wall -Wextra -Wconversion -pedantic -Werror ";

// A Cortex-M in qemu. `library`: folder of CMSIS-NN, or empty.
CTarget cortex(const std::string& name, const std::string& cpu,
               const std::string& board, const std::string& library = "") {
  const std::string machine = fmt::format("-mcpu={} -mthumb ", cpu);
  std::string build, include, objects;
  if (!library.empty()) {
    build = fmt::format(
        "rm -rf nn && mkdir nn && (cd nn && arm-none-eabi-gcc {}-O2 "
        "-I{}/Include "
        "-c $(ls {}/Source/*/*.c | grep -Ev 'f16|f32|flt')) && ",
        machine, library, library);
    include = fmt::format("-isystem {}/Include ", library);
    objects = "nn/*.o ";
  }
  return CTarget{
      name, "arm-none-eabi-gcc", "qemu-system-arm",
      build +
          fmt::format("arm-none-eabi-gcc {}{}{}-c model.c -o model.o && ",
                      kStrict, machine, include) +
          fmt::format("arm-none-eabi-gcc {0}-O2 --specs=rdimon.specs -T "
                      "{1}/qemu/link.ld {1}/qemu/startup.c model.o "
                      "model_test.c {2}-o program",
                      machine, kMicrocontroller, objects),
      fmt::format("qemu-system-arm -M {} -nographic -semihosting -kernel "
                  "program </dev/null",
                  board)};
}

CTarget cortex_m4(const std::string& library = "") {
  return cortex("Cortex-M4", "cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16",
                "mps2-an386", library);
}
CTarget cortex_m55(const std::string& library = "") {
  return cortex("Cortex-M55", "cortex-m55 -mfloat-abi=hard", "mps3-an547",
                library);
}

std::vector<CTarget> c_targets() {
  const auto user = [&](const std::string& name, const std::string& compiler,
                        const std::string& emulator) {
    return CTarget{name, compiler, emulator,
                   fmt::format("{} {}-static model.c model_test.c -o program",
                               compiler, kStrict),
                   emulator + " ./program"};
  };
  return {
      cortex_m4(),
      cortex_m55(),
      user("RISC-V 64", "riscv64-linux-gnu-gcc", "qemu-riscv64"),
      {"RISC-V 64, vectors", "clang-16", "qemu-riscv64",
       std::string("clang-16 --target=riscv64-linux-gnu -march=rv64gcv "
                   "-static ") +
           kStrict + "model.c model_test.c -o program",
       "qemu-riscv64 -cpu rv64,v=true,vlen=128 ./program"},
      user("PowerPC, big-endian", "powerpc-linux-gnu-gcc", "qemu-ppc"),
      {"clang", "clang-16", "true",
       std::string("clang-16 ") + kStrict + "model.c model_test.c -o program",
       "./program"},
      {"sanitizers", "cc", "true",
       std::string("cc ") + kStrict +
           "-g -fsanitize=address,undefined -fno-sanitize-recover "
           "model.c model_test.c -o program",
       "./program"}};
}

bool exists(const std::string& program) {
  return run_command("command -v " + program).exit_code == 0;
}

// Arithmetic of generated code: "float", "fixed", "int16", or "cmsis-nn".
// Quantizes and compiles a model into folder/c.
void compile_int8(const TempFolder& folder, const std::string& model,
                  const std::string& samples,
                  const std::string& form = "float") {
  const bool fixed = form != "float";
  const std::string onnx =
      quoted(folder / (fixed ? "int8.tflite" : "int8.onnx"));
  const CommandResult quantized =
      run_octet("quantize " + model + " --data " + samples + " --accept -o " +
                onnx + (form == "int16" ? " --bits 8,16" : ""));
  ASSERT_EQ(quantized.exit_code, 0) << quantized.output;
  const CommandResult compiled =
      run_octet("compile " + onnx + " -o " + quoted(folder / "c") +
                (fixed ? " --arithmetic fixed" : "") +
                (form == "cmsis-nn" ? " --kernels cmsis-nn" : ""));
  ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
}

// Runs a command in folder/c.
CommandResult in_c(const TempFolder& folder, const std::string& command) {
  return run_command("cd " + quoted(folder / "c") + " && " + command);
}

std::string noise_file(const TempFolder& folder, const Shape& shape) {
  Tensor x(shape);
  Rng rng(5);
  rng.fill_normal(x, 0.0f, 1.0f);
  io::write_npy(folder / "x.npy", x);
  return quoted(folder / "x.npy");
}

TEST(OctetCompile, WritesCodeThatEqualsTheModel) {
  const TempFolder folder;
  compile_int8(folder, "zoo:ds_cnn", noise_file(folder, {16, 49, 10, 1}));
  const CommandResult result =
      in_c(folder,
           "cmake -S . -B build >/dev/null && cmake --build build "
           ">/dev/null && build/net_test");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, "net: 4 of 4 golden outputs are equal\n");
  const CommandResult json =
      run_octet("compile --json " + quoted(folder / "int8.onnx") + " -o " +
                quoted(folder / "c"));
  const Config report = json.json();
  EXPECT_EQ(report.at("arena").as_int(), 16000);
  EXPECT_EQ(report.at("multiply_adds").as_int(), 2656768);
}

// The code runs a sample per call, whatever batch size a file has.
TEST(OctetCompile, IgnoresTheBatchSizeOfAFile) {
  const TempFolder folder;
  const std::string file = quoted(folder / "batch.onnx");
  ASSERT_EQ(run_octet("convert zoo:lenet --batch 4 -o " + file).exit_code, 0);
  ASSERT_EQ(
      run_octet("compile " + file + " -o " + quoted(folder / "c")).exit_code,
      0);
  EXPECT_THAT(read_file(folder / "c" / "model.h"),
              HasSubstr("#define NET_INPUT_SIZE 784\n"));
}

TEST(OctetCompile, RejectsNamesAndModels) {
  const TempFolder folder;
  const std::string out = " -o " + quoted(folder / "c");
  const auto failure = [&](const std::string& arguments) {
    return run_octet("compile " + arguments + out).failure;
  };
  EXPECT_EQ(failure("zoo:lenet --name 2nd"), (Failure{"invalid_name", "name"}));
  EXPECT_EQ(failure("zoo:unet"), (Failure{"no_c_form", "C code"}));
  EXPECT_EQ(failure("zoo:lenet --kernels cmsis-nn"),
            (Failure{"conflicting_options", "kernels"}));
  EXPECT_EQ(failure("zoo:lenet --kernels other"),
            (Failure{"unknown_name", "kernels"}));
  EXPECT_EQ(failure("zoo:lenet --arithmetic fixed"),
            (Failure{"not_integer", "arithmetic"}));
  EXPECT_FALSE(std::filesystem::exists(folder / "c"));
  EXPECT_EQ(run_octet("compile zoo:lenet -o net.c").exit_code, 2);
  EXPECT_THAT(run_octet("compile zoo:lenet" + out).output,
              HasSubstr("has no INT8 values"));
}

class OctetCompileTargets
    : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void compile(const std::string& model, const std::string& form) const {
    if (model == "kws") {
      compile_int8(folder_,
                   quoted(testdata("models/kws_ref_model_converted.h5")),
                   noise_file(folder_, {16, 49, 10, 1}), form);
      return;
    }
    const Shape shape = zoo::make(model).inputs()[0].shape();
    compile_int8(folder_, "zoo:" + model, noise_file(folder_, shape.with(0, 8)),
                 form);
  }

  /// Returns the targets without a compiler or an emulator.
  std::string run_on(const std::vector<CTarget>& targets) const {
    std::string absent;
    for (const CTarget& target : targets) {
      if (!exists(target.compiler) || !exists(target.emulator)) {
        absent += " " + target.name;
        continue;
      }
      const CommandResult built = in_c(folder_, target.build);
      EXPECT_EQ(built.exit_code, 0) << target.name << built.output;
      EXPECT_THAT(in_c(folder_, target.run).output,
                  HasSubstr("net: 4 of 4 golden outputs are equal"))
          << target.name;
    }
    return absent;
  }

  TempFolder folder_;
};

TEST_P(OctetCompileTargets, GivesTheSameBytesOnAllMachines) {
  const auto& [model, form] = GetParam();
  if (model == "kws" && !std::filesystem::exists(testdata("kws01"))) {
    GTEST_SKIP() << testdata() << ": no shared test data";
  }
  compile(model, form);
  const std::string absent = run_on(c_targets());
  if (!absent.empty()) GTEST_SKIP() << "no compiler or emulator for" << absent;
}

INSTANTIATE_TEST_SUITE_P(
    Slow, OctetCompileTargets,
    ::testing::Combine(::testing::Values("kws", "ds_cnn", "resnet8",
                                         "mobilenet_v1_025"),
                       ::testing::Values("float", "fixed", "int16")));

// Golden outputs come from the same reference as those of portable code.
class OctetCompileCmsisNn : public OctetCompileTargets {};

TEST_P(OctetCompileCmsisNn, GivesTheSameBytesOnCortexM) {
  const auto& [model, form] = GetParam();
  const char* const library = std::getenv("OCTET_CMSIS_NN");
  if (library == nullptr) {
    GTEST_SKIP() << "OCTET_CMSIS_NN names no folder of CMSIS-NN";
  }
  compile(model, form);
  const std::string absent = run_on({cortex_m4(library), cortex_m55(library)});
  if (!absent.empty()) GTEST_SKIP() << "no compiler or emulator for" << absent;
}

INSTANTIATE_TEST_SUITE_P(
    Slow, OctetCompileCmsisNn,
    ::testing::Combine(::testing::Values("ds_cnn", "resnet8",
                                         "mobilenet_v1_025"),
                       ::testing::Values("cmsis-nn")));

TEST(SlowMicrocontroller, PrintsTheWords) {
  for (const char* program : {"arm-none-eabi-gcc", "qemu-system-arm"}) {
    if (!exists(program)) GTEST_SKIP() << program << " is not installed";
  }
  const std::filesystem::path features =
      testdata("kws01/features_int8_1000x49x10.bin");
  if (!std::filesystem::exists(features)) {
    GTEST_SKIP() << testdata() << ": no shared test data";
  }
  const TempFolder folder;
  const std::string bytes = read_file(features);
  Tensor x({200, 49, 10, 1});
  for (size_t i = 0; i < x.f32().size(); ++i) {
    x.f32()[i] =
        0.5847029f * static_cast<float>(static_cast<int8_t>(bytes[i]) - 83);
  }
  io::write_npy(folder / "x.npy", x);
  const CommandResult result = run_command(fmt::format(
      "OCTET={}/octet {}/keyword_spotting.sh {} {} {} {}", OCTET_BIN,
      kMicrocontroller, quoted(testdata("models/kws_ref_model_converted.h5")),
      quoted(folder / "x.npy"), quoted(features), quoted(folder / "out")));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(
      result.output,
      AllOf(HasSubstr("recording 0: stop\n"), HasSubstr("recording 1: left\n"),
            HasSubstr("recording 2: right\n"), HasSubstr("recording 3: up\n")));
}

}  // namespace
}  // namespace octet
