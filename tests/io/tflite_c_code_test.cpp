// The fixed form of C code against the integer reference of .tflite files.
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <octet/io/tflite.h>
#include <octet/layers/layers.h>
#include <octet/runtime/error.h>

#include "../support.h"
#include "c_program.h"

namespace octet::io {
namespace {

Model small_network() {
  const auto x = input({9, 7, 3}, "image");
  auto y = Conv2D({.filters = 12, .padding = Padding::same})(x);
  y = ReLU({.max_value = 6})(BatchNormalization()(y));
  const auto left = y;
  y = DepthwiseConv2D({.kernel_size = {3, 3}, .padding = Padding::same})(y);
  y = ReLU()(Add()({y, left}));
  y = MaxPooling2D({.pool_size = {2, 2}})(y);
  y = Conv2D({.filters = 20, .kernel_size = {1, 1}})(y);
  y = AveragePooling2D({.pool_size = 2, .strides = 1})(y);
  y = GlobalAveragePooling2D()(y);
  return Model(x, Softmax()(Dense({.units = 10})(y)));
}

constexpr const char* kFileRunner = R"(#include <stdio.h>
#include "model.h"
static uint32_t arena[NET_ARENA_BYTES / 4];
static TYPE x[NET_INPUT_SIZE], y[NET_OUTPUT_SIZE];
int main(void) {
  FILE* from = fopen("x.bin", "rb");
  FILE* to = fopen("y.bin", "wb");
  while (fread(x, 1, sizeof(x), from) == sizeof(x)) {
    if (net_run(x, y, arena) != NET_OK) return 1;
    fwrite(y, 1, sizeof(y), to);
  }
  fclose(from);
  return fclose(to);
}
)";

std::string bytes_of(const Tensor& x) {
  return {static_cast<const char*>(x.raw()), static_cast<size_t>(x.bytes())};
}

// Outputs of the C code are those of the interpreter of the file. T: int8_t or
// int16_t.
template <class T>
void expect_the_file(const TempFolder& folder, const Model& quantized,
                     const COptions& options, const std::string& flags,
                     const std::string& libraries = "") {
  const TfliteModel file = tflite_from_bytes(to_tflite(quantized).bytes);
  (void)export_c(quantized, folder.path(), options);
  Tensor samples({20, 9, 7, 3}, DTypeOf<T>::value);
  Rng rng(4);
  constexpr int kValues = 1 << (8 * sizeof(T));
  for (T& q : samples.data<T>()) {
    q = static_cast<T>(rng.below(kValues) - kValues / 2);
  }
  write_file(folder / "x.bin", bytes_of(samples));
  write_file(folder / "run.c", std::string("#define TYPE ") +
                                   (sizeof(T) == 1 ? "int8_t\n" : "int16_t\n") +
                                   kFileRunner);
  const CommandResult result = run_c(folder, flags, "run.c", libraries);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(read_file(folder / "y.bin"), bytes_of(file.predict(samples)));
  const CommandResult golden = run_c(folder, flags, "model_test.c", libraries);
  EXPECT_EQ(golden.output, "net: 4 of 4 golden outputs are equal\n");
}

TEST_F(CCodeTest, TheFixedFormEqualsTheTfliteFile) {
  expect_the_file<int8_t>(
      folder_, int8_model(small_network(), {.policy = quant::Policy::tflite}),
      {.arithmetic = CArithmetic::fixed}, "-O1");
}

TEST_F(CCodeTest, ActivationsOf16BitsEqualTheTfliteFile) {
  const Model int16 =
      int8_model(small_network(),
                 {.policy = quant::Policy::tflite, .activation = {.bits = 16}});
  expect_the_file<int16_t>(folder_, int16, {.arithmetic = CArithmetic::fixed},
                           "-O1 -fsanitize=address,undefined "
                           "-fno-sanitize-recover");
  EXPECT_THAT(text("model.c"), ::testing::HasSubstr("int64_t"));
  const Failure failure =
      failure_of<UnsupportedError>([&] { (void)to_c(int16); });
  EXPECT_EQ(failure.code, "conflicting_options");
  EXPECT_EQ(failure.subject, "arithmetic");
  EXPECT_EQ(failure_of<UnsupportedError>([&] {
              (void)to_c(int16, {.arithmetic = CArithmetic::fixed,
                                 .kernels = CKernels::cmsis_nn});
            }).subject,
            "kernels");
}

// The sum of two convolutions has two consumers, which compute it twice.
TEST_F(CCodeTest, SumsWithTwoConsumersEqualTheTfliteFile) {
  const auto x = input({9, 7, 3});
  const Conv2DOptions half{.filters = 8, .strides = 2, .padding = "same"};
  const auto y = Conv2D({.filters = 4, .padding = "same"})(x);
  auto z = ReLU()(Add()({Conv2D(half)(y), Conv2D(half)(y)}));
  z = ReLU()(Add()({Conv2D({.filters = 8, .padding = "same"})(z), z}));
  const Model model(x, GlobalAveragePooling2D()(z));
  const COptions fixed{.arithmetic = CArithmetic::fixed};
  expect_the_file<int8_t>(folder_,
                          int8_model(model, {.policy = quant::Policy::tflite}),
                          fixed, "-O1");
  expect_the_file<int16_t>(folder_,
                           int8_model(model, {.policy = quant::Policy::tflite,
                                              .activation = {.bits = 16}}),
                           fixed, "-O1");
  expect_same_bits(int8_model(model));
}

const COptions kCmsisNn{.arithmetic = CArithmetic::fixed,
                        .kernels = CKernels::cmsis_nn};

TEST_F(CCodeTest, CallsCmsisNn) {
  const Model int8 =
      int8_model(small_network(), {.policy = quant::Policy::tflite});
  EXPECT_EQ(failure_of<UnsupportedError>([&] {
              (void)to_c(int8, {.kernels = CKernels::cmsis_nn});
            }).subject,
            "kernels");
  (void)export_c(int8, folder_.path(), kCmsisNn);
  for (const char* call :
       {"arm_convolve_wrapper_s8", "arm_depthwise_conv_wrapper_s8",
        "arm_fully_connected_wrapper_s8", "arm_elementwise_add_s8",
        "arm_max_pool_s8", "arm_avgpool_s8", "arm_softmax_s8"}) {
    EXPECT_THAT(text("model.c"), ::testing::HasSubstr(call));
  }
}

// Needs the sources of CMSIS-NN, which Debian does not have.
class SlowCCodeTest : public CCodeTest {};

TEST_F(SlowCCodeTest, CallsOfCmsisNnEqualTheTfliteFile) {
  const char* const library = std::getenv("OCTET_CMSIS_NN");
  if (library == nullptr) {
    GTEST_SKIP() << "OCTET_CMSIS_NN names no folder of CMSIS-NN";
  }
  const CommandResult built = run_command(fmt::format(
      "cd {} && cc -O1 -I{}/Include -c $(ls {}/Source/*/*.c | grep -Ev "
      "'f16|f32|flt') && ar rcs libcmsis.a *.o",
      quoted(folder_.path()), library, library));
  ASSERT_EQ(built.exit_code, 0) << built.output;
  expect_the_file<int8_t>(
      folder_, int8_model(small_network(), {.policy = quant::Policy::tflite}),
      kCmsisNn, fmt::format("-O1 -isystem {}/Include", library), "libcmsis.a");
}

}  // namespace
}  // namespace octet::io
