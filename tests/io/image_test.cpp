#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/image.h>
#include <octet/runtime/error.h>

#include "idx_files.h"
#include "image_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

Failure refusal(const std::string& bytes) {
  return failure_of<FormatError>([&] { (void)decode_image(bytes); });
}

/// A damaged file must be rejected or give an image of a sane size.
void read_or_refuse(const std::string& bytes) {
  try {
    const Tensor image = decode_image(bytes);
    EXPECT_LE(image.size(), 4 * kMostImagePixels);
  } catch (const FormatError&) {
  }
}

/// Truncates the file at every position and changes every byte in four ways.
void mutate_everywhere(const std::string& whole) {
  for (size_t i = 0; i < whole.size(); ++i) {
    read_or_refuse(whole.substr(0, i));
    for (const int change : {0x01, 0x80, 0xff, whole[i] & 0xff}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      read_or_refuse(damaged);
    }
  }
}

TEST(PngImage, ReadsGrayRgbAndRgbaAsStored) {
  const Tensor gray =
      decode_image(png_bytes({.width = 3, .height = 2}, {0, 1, 2, 3, 4, 255}));
  EXPECT_EQ(gray.shape(), Shape({2, 3, 1}));
  EXPECT_THAT(gray.data<uint8_t>(), ElementsAre(0, 1, 2, 3, 4, 255));
  const Tensor rgb = decode_image(
      png_bytes({.width = 2, .height = 1, .color = PNG_COLOR_TYPE_RGB},
                {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(rgb.shape(), Shape({1, 2, 3}));
  EXPECT_THAT(rgb.data<uint8_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  const Tensor rgba = decode_image(
      png_bytes({.color = PNG_COLOR_TYPE_RGB_ALPHA}, {9, 8, 7, 0}));
  EXPECT_EQ(rgba.shape(), Shape({1, 1, 4}));
  EXPECT_THAT(rgba.data<uint8_t>(), ElementsAre(9, 8, 7, 0));
}

TEST(PngImage, ScalesSixteenBitsToEightRounding) {
  const std::string bytes =
      png_bytes({.width = 3, .bits = 16}, {0xff, 0xff, 0x00, 0x81, 0x80, 0x00});
  // 255 * 0x0081 / 65535 = 0.502; 255 * 0x8000 / 65535 = 127.5.
  const Tensor image = decode_image(bytes);
  EXPECT_EQ(image.data<uint8_t>()[0], 255);
  EXPECT_EQ(image.data<uint8_t>()[1], 1);
  EXPECT_NEAR(image.data<uint8_t>()[2], 127.5, 0.5);
}

TEST(PngImage, ExpandsLowBitDepthsAndPalettes) {
  EXPECT_THAT(elements<uint8_t>(
                  decode_image(png_bytes({.width = 4, .bits = 1}, {0xa0}))),
              ElementsAre(255, 0, 255, 0));
  const PngSpec palette{.width = 2,
                        .color = PNG_COLOR_TYPE_PALETTE,
                        .palette = {{1, 2, 3}, {250, 251, 252}}};
  EXPECT_THAT(elements<uint8_t>(decode_image(png_bytes(palette, {1, 0}))),
              ElementsAre(250, 251, 252, 1, 2, 3));
  PngSpec transparent = palette;
  transparent.palette_alpha = {7};
  EXPECT_THAT(elements<uint8_t>(decode_image(png_bytes(transparent, {1, 0}))),
              ElementsAre(250, 251, 252, 255, 1, 2, 3, 7));
}

TEST(PngImage, ReadsInterlacedFiles) {
  PngSpec spec{.width = 13, .height = 9, .color = PNG_COLOR_TYPE_RGB};
  const std::vector<uint8_t> pixels = gradient_pixels(13, 9, 3);
  spec.interlaced = true;
  const Tensor image = decode_image(png_bytes(spec, pixels));
  EXPECT_THAT(image.data<uint8_t>(), ::testing::ElementsAreArray(pixels));
}

TEST(PngImage, ReadsOrRejectsEveryMutation) {
  mutate_everywhere(
      png_bytes({.width = 7, .height = 5, .color = PNG_COLOR_TYPE_RGB_ALPHA},
                gradient_pixels(7, 5, 4)));
  mutate_everywhere(png_bytes({.width = 9,
                               .height = 3,
                               .color = PNG_COLOR_TYPE_PALETTE,
                               .interlaced = true,
                               .palette = {{1, 2, 3}, {4, 5, 6}},
                               .palette_alpha = {7}},
                              std::vector<uint8_t>(27, 1)));
}

TEST(PngImage, RejectsEveryTruncation) {
  const std::string whole =
      png_bytes({.width = 7, .height = 5}, gradient_pixels(7, 5, 1));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(failed(refusal(whole.substr(0, size)))) << size;
  }
}

/// CRC-32 of a PNG chunk, as in zlib.
void set_size(std::string& png, uint32_t width, uint32_t height) {
  const auto put_big_endian = [&png](size_t at, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) {
      png[at + i] = static_cast<char>(value >> (24 - 8 * i) & 0xff);
    }
  };
  put_big_endian(16, width);
  put_big_endian(20, height);
  put_big_endian(29, static_cast<uint32_t>(crc32(
                         0, reinterpret_cast<const Bytef*>(&png[12]), 17)));
}

TEST(PngImage, RejectsSizesBeyondTheLimitsAndBombs) {
  std::string bytes = png_bytes({}, {0});
  set_size(bytes, 100000, 1);
  EXPECT_TRUE(failed(refusal(bytes)));
  set_size(bytes, 30000, 30000);
  EXPECT_EQ(refusal(bytes), (Failure{"size_limit", "PNG image"}));
  set_size(bytes, 8000, 8000);
  EXPECT_EQ(refusal(bytes), (Failure{"truncated_file", "PNG image"}));
  set_size(bytes, 0, 1);
  EXPECT_TRUE(failed(refusal(bytes)));
}

TEST(JpegImage, ReadsGrayAndColorApproximately) {
  for (const bool progressive : {false, true}) {
    for (const int channels : {1, 3}) {
      const std::vector<uint8_t> pixels = gradient_pixels(19, 11, channels);
      const Tensor image =
          decode_image(jpeg_bytes(19, 11, channels, pixels, progressive));
      ASSERT_EQ(image.shape(), Shape({11, 19, channels}));
      for (size_t i = 0; i < pixels.size(); ++i) {
        // Quality 95, with color at half the resolution.
        EXPECT_NEAR(image.data<uint8_t>()[i], pixels[i], 16) << i;
      }
    }
  }
}

TEST(JpegImage, ReadsOrRejectsEveryMutation) {
  mutate_everywhere(jpeg_bytes(9, 7, 3, gradient_pixels(9, 7, 3)));
  mutate_everywhere(jpeg_bytes(9, 7, 3, gradient_pixels(9, 7, 3), true));
}

TEST(JpegImage, RejectsTruncatedFiles) {
  for (const bool progressive : {false, true}) {
    const std::string whole =
        jpeg_bytes(33, 29, 3, gradient_pixels(33, 29, 3), progressive);
    for (size_t size = 0; size + 1 < whole.size(); ++size) {
      EXPECT_TRUE(failed(refusal(whole.substr(0, size)))) << size;
    }
  }
}

TEST(JpegImage, RejectsCmyk) {
  EXPECT_EQ(refusal(jpeg_bytes(8, 8, 4, gradient_pixels(8, 8, 4))),
            (Failure{"unsupported_type", "JPEG image"}));
}

TEST(JpegImage, RejectsSizesBeyondTheLimits) {
  std::string bytes = jpeg_bytes(8, 8, 1, gradient_pixels(8, 8, 1));
  const size_t frame = bytes.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  bytes.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  EXPECT_EQ(refusal(bytes), (Failure{"size_limit", "JPEG image"}));
}

TEST(JpegImage, RejectsFilesWithManyScans) {
  // Each coefficient of each channel in a separate scan: valid, and each takes
  // time for all pixels.
  std::vector<jpeg_scan_info> scans = {{3, {0, 1, 2, 0}, 0, 0, 0, 0}};
  for (int channel = 0; channel < 3; ++channel) {
    for (int k = 1; k < 64; ++k) {
      scans.push_back({1, {channel, 0, 0, 0}, k, k, 0, 0});
    }
  }
  const auto bytes = [](const std::vector<jpeg_scan_info>& some) {
    return jpeg_bytes(16, 16, 3, gradient_pixels(16, 16, 3), true, some);
  };
  EXPECT_EQ(refusal(bytes(scans)), (Failure{"malformed_file", "JPEG image"}));
  scans.resize(100);
  EXPECT_EQ(refusal(bytes(scans)), (Failure{"no error", ""}));
}

TEST(JpegImage, RejectsRepeatedScans) {
  const std::string whole =
      jpeg_bytes(16, 16, 1, gradient_pixels(16, 16, 1), true);
  const size_t first = whole.find("\xff\xda");
  const size_t second = whole.find("\xff\xc4", first);
  ASSERT_NE(second, std::string::npos);
  EXPECT_TRUE(failed(refusal(whole.substr(0, second) + whole.substr(first))));
}

TEST(ReadImage, ConvertsChannels) {
  const std::string rgba =
      png_bytes({.color = PNG_COLOR_TYPE_RGB_ALPHA}, {200, 100, 50, 9});
  // 0.299 * 200 + 0.587 * 100 + 0.114 * 50 = 124.2.
  EXPECT_THAT(elements<uint8_t>(decode_image(rgba, 1)), ElementsAre(124));
  EXPECT_THAT(elements<uint8_t>(decode_image(rgba, 3)),
              ElementsAre(200, 100, 50));
  EXPECT_THAT(elements<uint8_t>(decode_image(rgba, 4)),
              ElementsAre(200, 100, 50, 9));
  const std::string grey_alpha =
      png_bytes({.color = PNG_COLOR_TYPE_GRAY_ALPHA}, {77, 9});
  EXPECT_EQ(decode_image(grey_alpha).shape(), Shape({1, 1, 2}));
  EXPECT_THAT(elements<uint8_t>(decode_image(grey_alpha, 1)), ElementsAre(77));
  EXPECT_THAT(elements<uint8_t>(decode_image(grey_alpha, 3)),
              ElementsAre(77, 77, 77));
  EXPECT_THAT(elements<uint8_t>(decode_image(grey_alpha, 4)),
              ElementsAre(77, 77, 77, 9));
  EXPECT_THAT(elements<uint8_t>(decode_image(png_bytes({}, {5}), 4)),
              ElementsAre(5, 5, 5, 255));
  EXPECT_THROW(decode_image(rgba, 2), ValueError);
}

TEST(ReadImage, NamesTheFileAndTheReason) {
  const TempFolder folder;
  const auto message = [&](const std::string& contents) {
    put(folder / "picture.png", contents);
    return failure_of<FormatError>(
        [&] { (void)read_image(folder / "picture.png"); });
  };
  EXPECT_EQ(message(""), (Failure{"unsupported_format", "file"}));
  EXPECT_EQ(message("GIF89a"), (Failure{"unsupported_format", "file"}));
  EXPECT_EQ(message(png_bytes({}, {0}).substr(0, 30)),
            (Failure{"malformed_file", "PNG image"}));
  EXPECT_EQ(failure_of<IoError>([&] { (void)read_image(folder / "none.png"); }),
            (Failure{"file_not_found", (folder / "none.png").string()}));
  EXPECT_THROW(read_image(folder.path()), IoError);
}

}  // namespace
}  // namespace octet::io
