// Images: reading, resizing, preprocessing, folders and masks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

// Conversion of image bytes to network inputs.

/// y = (x - mean) * scale, for x in [0,255].
struct Preprocess {
  std::vector<float> mean = {0};            ///< one value, or one per channel
  std::vector<float> scale = {1 / 255.0f};  ///< likewise
  /// Channels (and mean and scale) in the order blue, green, red.
  bool bgr = false;
};

/// Returns a preprocessing by name. Keras' modes: "tf" maps to [-1,1]; "torch"
/// normalizes [0,1] by ImageNet's mean and deviation; "caffe" subtracts the
/// mean from blue, green, red. Also "unit", [0,1], and "none", bytes as
/// numbers. "0.485,0.456,0.406/0.229,0.224,0.225" (or "0.5/0.5" for all
/// channels), without spaces, is torchvision's Normalize(mean, std) of [0,1].
/// Source: keras/src/applications/imagenet_utils.py, preprocess_input.
/// Throws: ValueError for an unknown name, listing the known ones; for a mean
/// outside [0,1] or a deviation outside [0.001,1].
Preprocess preprocess_mode(std::string_view name);

/// Applies a preprocessing to images.
/// Shapes: u8 or f32 [...,c], of values in [0,255] -> f32 [...,c].
/// Throws: ValueError for mean or scale that is not finite or of another number
/// than the channels, or `bgr` without three channels; ShapeError.
Tensor preprocess_input(const Tensor& images, const Preprocess& preprocess);
Tensor preprocess_input(const Tensor& images, std::string_view mode);

/// Returns a copy of a model, quantized or not, whose input is bytes as
/// numbers, [0,255], and which preprocesses them itself: a Gather for `bgr`,
/// then a Rescaling. An exported file likewise needs only the camera's image.
/// Outputs differ only by the rounding of x * scale - mean * scale instead of
/// (x - mean) * scale.
/// Throws: as preprocess_input(); ValueError for a model of several inputs.
Model with_preprocessing(const Model& model, const Preprocess& preprocess);

// Resizing images of any size to the size of a model's input.
//
//   const Tensor photo = io::read_image("photo.jpg", 3);
//   // torchvision's Resize(256) and CenterCrop(224):
//   const Tensor x = io::resize_image(photo, {224, 224},
//                                     io::resize_mode("antialias crop 256"));

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

/// How images are resized to a given size.
struct Resize {
  ResizeFilter filter = ResizeFilter::antialias;  ///< interpolation
  ImageFit fit = ImageFit::stretch;  ///< fit of another aspect ratio
  /// For center_crop: length of the shorter side before the crop in pixels,
  /// from the longer side of the requested size to 100 times as much:
  /// torchvision's resize_size. 0: by crop_ratio.
  int64_t resize_size = 0;
  /// For center_crop: requested size / size before the crop, in [0.01,1]:
  /// timm's crop_pct.
  double crop_ratio = 1;
  int64_t pad_value = 114;  ///< for pad: value of all channels, [0,255]

  friend bool operator==(const Resize&, const Resize&) = default;
};

/// The text of a Resize, for files and messages: "bilinear",
/// "bilinear crop aspect", "antialias crop 256", "antialias crop 0.875",
/// "bilinear pad 114".
std::string to_string(const Resize& resize);

/// Parses the text of to_string(). Throws: ValueError, naming the filters.
Resize resize_mode(std::string_view text);

/// Resizes an image.
/// Shapes: u8 [h,w,c] -> u8 [size.h,size.w,c]. Values are rounded to nearest,
/// ties up.
/// Throws: ShapeError unless the image is [h,w,c] with at least 1 pixel;
/// ValueError for another type, a size out of the limits of an image file, or
/// fields of `resize` out of range.
Tensor resize_image(const Tensor& image, Size2 size, const Resize& resize = {});

/// Mapping of an image's coordinates to the result of resize_image(): x to
/// left + scale_x * x, and y to top + scale_y * y.
struct ImagePlacement {
  double left = 0;     ///< in pixels of the result; negative for crops
  double top = 0;      ///< as `left`
  double scale_x = 1;  ///< columns of the result per column
  double scale_y = 1;  ///< rows of the result per row
};

/// Returns the placement of an image of size `image`.
/// Throws: as resize_image().
ImagePlacement image_placement(Size2 image, Size2 size,
                               const Resize& resize = {});

/// Resizes a mask of class indices, always by the nearest pixel.
/// Shapes: u8 [h,w] -> u8 [size.h,size.w].
/// Throws: as resize_image(); ValueError for ImageFit::pad, since a border has
/// no class.
Tensor resize_mask(const Tensor& mask, Size2 size, const Resize& resize = {});

// Image files: PNG (libpng) and JPEG (libjpeg), as unsigned bytes.
//
// Stored values are used as they are: no gamma, color profile or orientation
// tag is applied. 16-bit values are scaled to 8 bits; palettes and grayscale of
// fewer bits are expanded.

/// Limits of an image's size; larger images are rejected before allocation.
inline constexpr int64_t kLargestImageSide = int64_t{1} << 15;
/// Limit of height * width.
inline constexpr int64_t kMostImagePixels = int64_t{1} << 26;

/// Reads an image.
/// Shapes: u8 [h,w,channels]. `channels` is 1 (gray), 3 (RGB), 4 (RGBA), or 0
/// for the file's own: 1, 2 (gray and alpha), 3 or 4. Color becomes gray as
/// 0.299 R + 0.587 G + 0.114 B, rounded to nearest; surplus alpha is dropped,
/// missing alpha is opaque.
/// Throws: IoError (missing, unreadable); FormatError, naming the file, if it
/// is not a valid image within the limits; UnsupportedError if Octet was built
/// without the library; ValueError for other `channels`.
Tensor read_image(const std::filesystem::path& path, int64_t channels = 0);

/// Reads a mask: the raw values of a PNG, which are palette indices or
/// grayscale of up to 8 bits.
/// Shapes: u8 [h,w].
/// Throws: as read_image(); FormatError for RGB, alpha or 16 bits, and for
/// JPEG, which is lossy.
Tensor read_mask(const std::filesystem::path& path);

/// Decodes the bytes of an image file. Throws: as read_image().
Tensor decode_image(std::string_view bytes, int64_t channels = 0);

/// Whether this build reads the format.
bool reads_png();
bool reads_jpeg();

// Image files as a Dataset, with separate labels.

/// Handling of files that are not valid images.
enum class CorruptFiles {
  refuse,  ///< throw
  skip,    ///< omit and list them; decodes every file once to find them
};

/// Options of image data sets.
/// Fields in order: size, resize, channels, preprocess, corrupt, eager,
/// cache_bytes, shuffle, seed, class_names
struct ImageOptions {
  Size2 size{256, 256};  ///< size after resizing, each side in [1, 32768]
  /// Resize method; the default is torchvision's. Keras' loaders: `.resize =
  /// resize_mode("bilinear")`.
  Resize resize = {};
  int64_t channels = 3;  ///< 1 (gray), 3 (RGB) or 4 (RGBA)
  /// Conversion of bytes to inputs. Keras' modes: `.preprocess =
  /// preprocess_mode("caffe")`.
  Preprocess preprocess = {};
  /// Handling of files that are not valid images.
  CorruptFiles corrupt = CorruptFiles::refuse;
  /// Decodes all files on loading. Otherwise each file is decoded when read.
  bool eager = false;
  /// Cache size for decoded images in bytes (h * w * channels per image), >= 0.
  /// Images beyond it are decoded in each epoch. Ignored if eager.
  int64_t cache_bytes = 0;
  /// Random order of samples, as in Keras, so that a part has images of all
  /// classes. Otherwise ordered by class and name.
  bool shuffle = true;
  uint64_t seed = 0;  ///< of the random order
  /// For load_image_folder(): subfolder names in the order of the model's
  /// outputs; label i is folder class_names[i]. Empty: sorted by name, as in
  /// Keras.
  std::vector<std::string> class_names = {};
};

/// Images of a list of files, with labels or masks if these were given.
struct ImageFiles {
  Dataset data;  ///< inputs f32 [n,h,w,channels]
  /// "<path>: <reason>" of each skipped file; its label is omitted, too.
  std::vector<std::string> skipped = {};
  /// The file of each sample of `data`.
  std::vector<std::filesystem::path> files = {};
};

/// Returns the image at `path`, or the .png, .jpg and .jpeg files in a folder
/// and its subfolders, sorted by path. Ignores hidden entries; warns about
/// image files of other formats. In a data set of YOLO's layout, only "images"
/// is searched.
/// Throws: IoError for a missing path; FormatError if there are no such files,
/// naming the formats found.
std::vector<std::filesystem::path> list_images(
    const std::filesystem::path& path);

/// Loads images without labels, for calibration or prediction:
///   const auto images = io::load_unlabeled_images(
///       io::list_images("photos"), {.size = 224, .shuffle = false});
///   const Tensor y = model.predict(images.data.batch(0, 8).input());
/// Throws: as load_images() below.
ImageFiles load_unlabeled_images(std::vector<std::filesystem::path> files,
                                 const ImageOptions& options = {});

/// Loads images of any folders with labels in the same order, such as numbers
/// of a CSV file:
///   const io::CsvTable table = io::load_csv("angles.csv");
///   std::vector<std::filesystem::path> files;
///   for (const auto& name : table.texts("file")) files.push_back(dir / name);
///   const Dataset data =
///       io::load_images(files, table.numbers({"angle"})).data;
/// Shapes: labels i64 [n] or f32 [n,...]; inputs f32 [n,h,w,channels].
/// Throws: ShapeError for a wrong number of labels; ValueError for no files,
/// labels of another type or options out of range; FormatError if no file is
/// valid; for a single invalid or missing file, as load_image_folder().
ImageFiles load_images(std::vector<std::filesystem::path> files, Tensor labels,
                       const ImageOptions& options = {});

// A folder of images as a Dataset: one subfolder per class.

/// Images of a folder, with their classes.
struct ImageFolder {
  Dataset data;  ///< inputs f32 [n,h,w,channels], labels i64 [n]
  std::vector<std::string> classes;  ///< name of label i
  /// "<path>: <reason>" of each skipped file.
  std::vector<std::string> skipped = {};
  /// The file of each sample of `data`.
  std::vector<std::filesystem::path> files = {};
};

/// Loads a folder of images. Its subfolders, sorted by name (bytewise), are the
/// classes; their .png, .jpg and .jpeg files are the images, in an order that
/// depends on `seed` alone. Inputs are f32 [n,h,w,channels], by default in
/// [0,1] (see `preprocess`); labels are i64. Ignores hidden entries; warns
/// about other files, images beside the class folders and nested folders.
/// Throws: IoError if the folder is missing; FormatError if it has no
/// subfolders, a subfolder has no (valid) images, as in the parent or child of
/// the intended folder, or a file is not a valid image (on loading if eager,
/// otherwise when the image is read); ValueError for options out of range;
/// UnsupportedError if a file's format is not part of the build.
ImageFolder load_image_folder(const std::filesystem::path& folder,
                              const ImageOptions& options = {});

// Images with a class per pixel, for segmentation networks.
//
//   const Dataset data =
//       io::load_segmentation_folders("JPEGImages", "SegmentationClass",
//                                     {.images = {.size = {128, 128}}}).data;
//   train::fit(model, data, {.loss = train::losses::
//       sparse_categorical_cross_entropy({.ignore_label = 255})});

/// Options of load_segmentation() and load_segmentation_folders().
/// Fields in order: images, values, mask_suffix
struct SegmentationOptions {
  /// Masks are cropped and resized with their images, by the nearest pixel.
  ImageOptions images = {};
  /// Mask values of class 0, 1, ..., unique, such as {0, 255} for
  /// black-and-white masks. Other values, of ignored pixels, do not change and
  /// must not be those of a class. Empty: value i is class i.
  std::vector<int64_t> values = {};
  /// For load_segmentation_folders(): suffix of mask names after that of the
  /// image, such as "_mask".
  std::string mask_suffix = "";
};

/// Loads images and their masks, in the same order. Inputs are f32
/// [n,h,w,channels], labels i64 [n,h,w].
/// Throws: ShapeError for a wrong number of masks; ValueError for no files or
/// options out of range; FormatError for a file that is not a valid image or
/// mask (see read_mask()), a mask whose size is not its image's, or a pixel of
/// another value: on loading if eager, otherwise when read.
ImageFiles load_segmentation(std::vector<std::filesystem::path> images,
                             std::vector<std::filesystem::path> masks,
                             const SegmentationOptions& options = {});

/// Loads the .png, .jpg and .jpeg files of a folder, sorted by name, with the
/// masks of the same name in another folder: "cat.jpg" and "cat.png". Warns
/// about masks without an image.
/// Throws: as load_segmentation(); IoError for a missing folder; FormatError
/// for images without a mask.
ImageFiles load_segmentation_folders(const std::filesystem::path& images,
                                     const std::filesystem::path& masks,
                                     const SegmentationOptions& options = {});

}  // namespace octet::io
