// Sound Keras files changed at random: each is read or refused, in time.
#include <algorithm>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>

#include "keras_files.h"
#include "support.h"

namespace octet::io {
namespace {

/// Bytes, pieces and copies of pieces of a sound file in other places.
std::string mutated(std::string bytes, Rng& rng) {
  const auto below = [&](size_t n) {
    return static_cast<size_t>(rng.below(static_cast<int64_t>(n)));
  };
  for (size_t k = 1 + below(8); k > 0; --k) {
    const size_t at = below(bytes.size());
    switch (below(4)) {
      case 0:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2: {
        const size_t from = below(bytes.size());
        const size_t n =
            std::min({1 + below(64), bytes.size() - at, bytes.size() - from});
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(from), n,
                    bytes.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      }
      default:
        if (bytes.size() > 64 && below(4) == 0) bytes.resize(bytes.size() - 32);
    }
  }
  return bytes;
}

class KerasMutations : public ::testing::TestWithParam<const char*> {};

TEST_P(KerasMutations, AreReadOrRefused) {
  const std::string sound = read_file(keras_golden(GetParam()));
  const TempFolder folder;
  const WarningSink sink = set_warning_sink([](std::string_view) {});
  Rng rng(7);
  for (int k = 0; k < 60; ++k) {
    write_file(folder / "m", mutated(sound, rng));
    try {
      // libhdf5 itself does not come to an end with some.
      (void)load_keras(folder / "m", {.limits = {.time_limit = 2}});
    } catch (const FormatError&) {
    } catch (const UnsupportedError&) {
    }
  }
  set_warning_sink(sink);
}

INSTANTIATE_TEST_SUITE_P(Files, KerasMutations,
                         ::testing::Values("k1_th.h5", "k2_functional.h5",
                                           "k3_bfloat16.keras",
                                           "k3_functional.keras"),
                         [](const auto& file) {
                           std::string name = file.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

/// Letters of an architecture changed, inside a sound file: what the parser
/// meets when the container is intact.
TEST(KerasArchitecture, MutationsAreReadOrRefused) {
  const std::string sound =
      read_file(keras_golden("k2_functional.architecture.json"));
  const TempFolder folder;
  Rng rng(11);
  for (int k = 0; k < 300; ++k) {
    write_file(folder / "m.json", mutated(sound, rng));
    try {
      (void)load_keras(keras_golden("k2_functional.legacy_weights.h5"),
                       {.architecture = folder / "m.json"});
    } catch (const FormatError&) {
    } catch (const UnsupportedError&) {
    }
  }
}

}  // namespace
}  // namespace octet::io
