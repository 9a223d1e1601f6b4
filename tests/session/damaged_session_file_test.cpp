// Damaged, malicious and newer session files are errors.
#include <cstring>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <octet/runtime/detail/crc32c.h>
#include <octet/session/detail/session_file.h>

#include "../../session/config_bytes.h"
#include "../../session/container.h"
#include "../../session/little_endian.h"
#include "session_files.h"

namespace octet::session {
namespace {

constexpr size_t kHeader = 64;

const std::string& whole() {
  static const std::string bytes =
      session_file_bytes(calibrated(two_branches()));
  return bytes;
}

Failure failure_of_file(const std::string& bytes) {
  return failure_of<FormatError>(
      [&] { (void)model_of(parse_session_file(bytes)); });
}

template <class T>
void put(std::string& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// Renews the checksums.
std::string sealed(std::string bytes) {
  put(bytes, 56, crc32c(std::string_view(bytes).substr(kHeader)));
  put(bytes, 60, crc32c(std::string_view(bytes).substr(0, 60)));
  return bytes;
}

// Returns a file with the changed configuration.
template <class Change>
std::string with_config(const Change& change) {
  const Container file = parse_container(whole());
  Config config = file.configuration;
  change(config);
  return container_bytes(config, file.weights);
}

// Replaces a value of the first weight.
std::string with_weight(const char* name, Config value) {
  return with_config([&](Config& config) {
    Config::List weights = config.at("weights").as_list();
    weights[0].set(name, std::move(value));
    config.set("weights", std::move(weights));
  });
}

TEST(DamagedSessionFile, IsValidBeforeDamage) {
  EXPECT_EQ(failure_of_file(whole()).code, "no error");
  EXPECT_EQ(failure_of_file(sealed(whole())).code, "no error");
  EXPECT_EQ(failure_of_file(with_config([](Config&) {})).code, "no error");
}

TEST(DamagedSessionFile, IsRejectedAtEveryTruncation) {
  for (size_t length = 0; length < whole().size(); ++length) {
    const Failure failure = failure_of_file(whole().substr(0, length));
    ASSERT_EQ(failure.code,
              length < kMagic.size() ? "unsupported_format" : "truncated_file")
        << length;
  }
  EXPECT_EQ(failure_of_file(whole() + '\0').code, "malformed_file");
}

TEST(DamagedSessionFile, IsRejectedWithAnyBitFlipped) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 3000; ++i) {
    std::string flipped = whole();
    const size_t at =
        i < 512 ? static_cast<size_t>(i) / 8 : random() % flipped.size();
    flipped[at] = static_cast<char>(flipped[at] ^ 1 << i % 8);
    EXPECT_THROW((void)parse_session_file(flipped), Error) << at;
  }
}

TEST(DamagedSessionFile, OfANewerVersionNamesTheCure) {
  std::string newer = whole();
  put(newer, 8, uint32_t{2});
  EXPECT_EQ(failure_of<UnsupportedError>(
                [&] { (void)parse_session_file(sealed(newer)); }),
            (Failure{"unsupported_version", "session file"}));
}

TEST(DamagedSessionFile, WithConvertedLineEndsNamesTheCause) {
  std::string converted = whole();
  converted.erase(6, 1);
  EXPECT_EQ(failure_of_file(converted),
            (Failure{"malformed_file", "session file"}));
}

TEST(DamagedSessionFile, WithAbsurdSizesIsRejected) {
  for (const size_t at : {24u, 32u, 40u, 48u}) {
    for (const uint64_t value : {uint64_t{1} << 20, ~uint64_t{0}}) {
      std::string bytes = whole();
      put(bytes, at, value);
      EXPECT_EQ(failure_of_file(sealed(bytes)).code, "malformed_file") << at;
    }
  }
}

TEST(DamagedSessionFile, WithAbsurdWeightsIsRejected) {
  const int64_t huge = int64_t{1} << 61;
  for (const Config& offset : {Config(-64), Config(1), Config(huge)}) {
    EXPECT_EQ(failure_of_file(with_weight("offset", offset)).code,
              "malformed_file");
  }
  const auto failure_of_shape = [](const Config::List& shape) {
    return failure_of_file(with_weight("shape", shape)).code;
  };
  EXPECT_EQ(failure_of_shape({huge, huge, 1, 17}), "invalid_shape");
  EXPECT_EQ(failure_of_shape({1 << 30, 1, 1, 17}), "malformed_file");
  EXPECT_EQ(failure_of_shape({1, 1, 1, huge}), "malformed_file");
  EXPECT_EQ(failure_of_shape({1, 1, -1, 17}), "out_of_range");
  EXPECT_EQ(failure_of_shape({1, 17}), "out_of_range");
  EXPECT_EQ(failure_of_file(with_weight("type", "f64")).code,
            "unsupported_type");
  EXPECT_EQ(failure_of_file(with_weight("axis", 4)).code, "out_of_range");
  EXPECT_EQ(failure_of_file(with_weight("layer", "other")).code,
            "count_mismatch");
}

// A small file may not need much memory.
TEST(DamagedSessionFile, WithOverlappingWeightsIsRejected) {
  EXPECT_EQ(failure_of_file(with_config([](Config& config) {
              Config::List weights = config.at("weights").as_list();
              weights.push_back(weights[0]);
              config.set("weights", std::move(weights));
            })).code,
            "malformed_file");
}

TEST(DamagedSessionFile, WithALargerLayerThanItsWeightsIsRejected) {
  EXPECT_NE(failure_of_file(with_config([](Config& config) {
              Config graph = config.at("graph");
              Config::List layers = graph.at("layers").as_list();
              for (Config& layer : layers) {
                if (layer.at("class_name").as_string() != "Dense") continue;
                Config options = layer.at("config");
                options.set("units", int64_t{1} << 40);
                layer.set("config", options);
              }
              graph.set("layers", std::move(layers));
              config.set("graph", std::move(graph));
            })).code,
            "no error");
}

TEST(ConfigBytes, RoundTrip) {
  const Config config =
      Config()
          .set("null", Config())
          .set("bools", Config::List{true, false})
          .set("integers", Config::List{int64_t{0}, INT64_MIN, INT64_MAX})
          .set("numbers", Config::List{0.1, -0.0, 1e308})
          .set("text", "a\0b\xff")
          .set("", Config(Config::Object{}))
          .set("empty", Config(Config::List{}));
  std::string bytes;
  append_config(bytes, config);
  EXPECT_EQ(parse_config(bytes), config);
}

TEST(ConfigBytes, RejectWhatDoesNotFit) {
  Config deep;
  for (int i = 0; i < 100; ++i) deep = Config::List{deep};
  std::string bytes;
  append_config(bytes, deep);
  EXPECT_EQ(parse_config(bytes), deep);
  EXPECT_EQ(failure_of<ValueError>([&] {
              append_config(bytes, Config::List{deep});
            }).code,
            "size_limit");
  const auto list = [](uint32_t count) {
    std::string text = "\x06";
    append_number(text, count);
    return text;
  };
  std::string nested;
  for (int i = 0; i < 200; ++i) nested += list(1);
  const std::string one_name = std::string("\x01\0\0\0a\0", 6);
  for (const std::string& malformed :
       {std::string(), std::string("\x09"), list(1), list(0xffffffff),
        std::string("\x05\xff\xff\xff\xff"), std::string("\0\0", 2), nested,
        "\x07" + std::string("\x02\0\0\0", 4) + one_name + one_name}) {
    EXPECT_EQ(failure_of<FormatError>([&] { (void)parse_config(malformed); }),
              (Failure{"malformed_file", "configuration"}));
  }
}

}  // namespace
}  // namespace octet::session
