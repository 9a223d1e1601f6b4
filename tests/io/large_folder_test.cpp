// A folder of images that exceeds the cache.
#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <octet/octet.h>

#include "idx_files.h"
#include "image_files.h"
#include "support.h"

namespace octet::io {
namespace {

/// Returns the resident memory of this process in MiB.
int64_t resident_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6)) >> 10;
  }
  return -1;
}

class Watcher final : public train::Callback {
 public:
  void on_step(const train::Progress&) override {
    most = std::max(most, resident_mib());
  }
  int64_t most = 0;
};

// 527 MiB as floats, 132 as bytes.
TEST(SlowLargeFolder, OfTwentyThousandImagesTrainsInBoundedMemory) {
#ifdef OCTET_EMULATED
  GTEST_SKIP() << "takes long in an emulator";
#endif
  constexpr int64_t kImages = 20000;
  const TempFolder folder;
  for (const char* name : {"dark", "light"}) {
    std::filesystem::create_directories(folder / name);
  }
  for (int64_t i = 0; i < kImages; ++i) {
    const bool light = i % 2 == 1;
    const auto shade = static_cast<uint8_t>((light ? 140 : 20) + i % 97);
    put(folder / fmt::format("{}/{}.png", light ? "light" : "dark", i),
        png_bytes({.width = 48, .height = 48},
                  std::vector<uint8_t>(48 * 48, shade)));
  }
  const ImageFolder images =
      load_image_folder(folder.path(), {.size = 48, .cache_bytes = 8 << 20});
  ASSERT_EQ(images.data.size(), kImages);
  const auto x = input(images.data.input_shape());
  auto y = Conv2D({.filters = 4, .kernel_size = 5, .strides = 4})(x);
  y = GlobalAveragePooling2D()(ReLU()(y));
  Model model(x, Dense({.units = 2})(y));
  const auto watcher = std::make_shared<Watcher>();
  const int64_t before = resident_mib();
  const train::History history =
      train::fit(model, images.data,
                 {.batch_size = 64,
                  .optimizer = train::Adam({.learning_rate = 1e-2f}),
                  .callbacks = {watcher},
                  .prefetch = 2});
  EXPECT_GT(history[0].accuracy, 0.9);
  std::printf("20,000 images: %lld MiB more while training\n",
              static_cast<long long>(watcher->most - before));
#ifndef OCTET_SANITIZED
  EXPECT_LT(watcher->most - before, 120);
#endif
}

}  // namespace
}  // namespace octet::io
