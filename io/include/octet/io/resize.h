// Resizing images of any size to the size of a model's input.
//
//   const Tensor photo = io::read_image("photo.jpg", 3);
//   // torchvision's Resize(256) and CenterCrop(224):
//   const Tensor x = io::resize_image(photo, {224, 224},
//                                     io::resize_mode("antialias crop 256"));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <octet/runtime/tensor.h>

namespace octet::io {

/// How the pixels of a resized image are computed. Pixel centers are at i + 0.5
/// in all of them.
enum class ResizeFilter {
  /// Linear between the two nearest pixels of each axis: Keras' loaders,
  /// tf.image.resize, and OpenCV's INTER_LINEAR. Results are rounded once; at
  /// most 0.5 of 255 from those of tf.image.resize, which are not rounded.
  bilinear,
  /// Linear, with a filter that widens as the image shrinks: torchvision's
  /// BILINEAR of PIL images. Bit-identical to Pillow.
  antialias,
  /// Cubic (a = -0.5), widened likewise: torchvision's BICUBIC, Pillow's.
  bicubic,
  /// Cubic (a = -0.5) of the four nearest pixels: Keras' "bicubic".
  keras_bicubic,
  nearest,  ///< the pixel that contains the new center
};

/// How an image is fitted to a size of another aspect ratio.
enum class ImageFit {
  stretch,  ///< each axis is scaled separately
  /// Crops the largest centered part of the requested aspect ratio, then
  /// resizes it: Keras' crop_to_aspect_ratio.
  crop,
  /// Resizes, keeping the aspect ratio, then crops the center: torchvision's
  /// Resize and CenterCrop.
  center_crop,
  /// Resizes until the image fits, then pads both sides: the letterbox of
  /// YOLO; Keras' pad_to_aspect_ratio with pad_value 0.
  pad,
};

/// Fields in this order: {.filter, .fit, .resize_size, .crop_ratio,
/// .pad_value}.
struct Resize {
  ResizeFilter filter = ResizeFilter::antialias;
  ImageFit fit = ImageFit::stretch;
  /// Of center_crop: length of the shorter side before the crop, in pixels:
  /// torchvision's resize_size. 0: by crop_ratio.
  int64_t resize_size = 0;
  /// Of center_crop: requested size / size before the crop, in (0,1]: timm's
  /// crop_pct.
  double crop_ratio = 1;
  int64_t pad_value = 114;  ///< of pad: value of all channels, 0 to 255

  friend bool operator==(const Resize&, const Resize&) = default;
};

/// The text of a Resize, for files and messages: "bilinear",
/// "bilinear crop aspect", "antialias crop 256", "antialias crop 0.875",
/// "bilinear pad 114".
std::string to_string(const Resize& resize);

/// Parses the text of to_string(). Throws: ValueError, naming the filters.
Resize resize_mode(std::string_view text);

/// Checks the options of resizing to `size`.
/// Throws: ValueError, naming `subject`, for fields out of range, or a
/// resize_size below `size`.
void check_resize(std::string_view subject, Size2 size, const Resize& resize);

/// Resizes an image.
/// Shapes: u8 [h,w,c] -> u8 [size.h,size.w,c]. Values are rounded to nearest,
/// ties up.
/// Throws: ShapeError unless the image is [h,w,c] with at least 1 pixel;
/// ValueError for another type or a size out of the limits of image.h, and as
/// check_resize().
Tensor resize_image(const Tensor& image, Size2 size, const Resize& resize = {});

/// Resizes a mask of class indices, always by the nearest pixel.
/// Shapes: u8 [h,w] -> u8 [size.h,size.w].
/// Throws: as resize_image(); ValueError for ImageFit::pad, since a border has
/// no class.
Tensor resize_mask(const Tensor& mask, Size2 size, const Resize& resize = {});

}  // namespace octet::io
