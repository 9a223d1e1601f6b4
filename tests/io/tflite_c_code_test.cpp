// The fixed form of C code against the integer reference of .tflite files.
#include <gtest/gtest.h>

#include <octet/io/tflite.h>
#include <octet/layers/layers.h>

#include "c_program.h"

namespace octet::io {
namespace {

// Golden outputs of the C code, recomputed by the interpreter of the file.
TEST_F(CCodeTest, TheFixedFormEqualsTheTfliteFile) {
  const auto x = input({9, 7, 3}, "image");
  auto y = Conv2D({.filters = 12, .padding = Padding::same})(x);
  y = ReLU({.max_value = 6})(BatchNormalization()(y));
  const auto left = y;
  y = DepthwiseConv2D({.kernel_size = {3, 3}, .padding = Padding::same})(y);
  y = ReLU()(Add()({y, left}));
  y = MaxPooling2D({.pool_size = {2, 2}})(y);
  y = Conv2D({.filters = 20, .kernel_size = {1, 1}})(y);
  y = GlobalAveragePooling2D()(y);
  y = Softmax()(Dense({.units = 10})(y));
  const Model int8 = int8_model(Model(x, y), {.policy = quant::Policy::tflite});
  const TfliteModel file = tflite_from_bytes(to_tflite(int8).bytes);
  (void)export_c(int8, folder_.path(), {.arithmetic = CArithmetic::fixed});
  Tensor samples({20, 9, 7, 3}, DType::i8);
  Rng rng(4);
  for (int8_t& q : samples.data<int8_t>()) {
    q = static_cast<int8_t>(rng.below(256) - 128);
  }
  const Tensor expected = file.predict(samples);
  write_file(folder_ / "x.bin",
             std::string_view(static_cast<const char*>(samples.raw()),
                              static_cast<size_t>(samples.bytes())));
  write_file(folder_ / "run.c", R"(#include <stdio.h>
#include "model.h"
static uint32_t arena[NET_ARENA_BYTES / 4];
static int8_t x[NET_INPUT_SIZE], y[NET_OUTPUT_SIZE];
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
)");
  const CommandResult result = run_c(folder_, "-O1", "run.c");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(read_file(folder_ / "y.bin"),
            std::string(static_cast<const char*>(expected.raw()),
                        static_cast<size_t>(expected.bytes())));
}

}  // namespace
}  // namespace octet::io
