// Data sets from files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/io/image.h>
#include <octet/runtime/dataset.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

// NPY, NumPy's file format for an array.
//
// Source: NumPy documentation, "numpy.lib.format", format versions 1.0 to 3.0.

/// Reads f2, f4, f8, i1, u1, i4, i8 and booleans of either byte order. f2 and
/// f8 become f32; f8 is rounded to nearest, ties to even, and overflows to
/// infinity. Fortran order becomes C order.
/// Throws: IoError (missing, unreadable); FormatError for a damaged header,
/// another element type (objects, strings, records), more than 2^31 elements or
/// eight dimensions, or a data size other than the header's.
Tensor read_npy(const std::filesystem::path& path);

/// Writes version 1.0, little-endian, C order; equal tensors give equal bytes.
/// Throws: IoError; ValueError for an empty tensor.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

/// A data set with training and test parts.
struct TrainTest {
  Dataset train;  ///< training part
  Dataset test;   ///< test part
};

// IDX, the file format of MNIST, plain or gzip-compressed.
//
// Format: two zero bytes, an element type (0x08: unsigned byte), the rank,
// one big-endian 32-bit size per dimension, then the elements.
// Source: Y. LeCun, "The MNIST database", file formats.

/// Reads unsigned bytes as u8.
/// Throws: IoError (missing, unreadable); FormatError (truncated or corrupt
/// gzip, wrong magic number, another element type, a number of elements other
/// than the header's, more than 2^31 elements).
Tensor read_idx(const std::filesystem::path& path);

// CSV tables as written by spreadsheets and pandas.
//
//   const io::CsvTable table = io::load_csv("flowers.csv");
//   const auto [labels, names] = table.classes("species");
//   const Dataset data(table.numbers(table.columns_but({"species"})), labels);

/// Options of load_csv().
/// Fields in order: separator, header, missing
struct CsvOptions {
  char separator = ',';  ///< not a quote, a space, a line end or NUL
  /// Whether the first row has the column names; otherwise they are "0", "1",
  /// ...
  bool header = true;
  /// Value of missing cells (empty, NA, NaN, null) in numbers(). Without it,
  /// missing cells are errors.
  std::optional<float> missing = {};
};

/// A column as class labels.
struct CsvClasses {
  Tensor labels;                   ///< i64 [rows]
  std::vector<std::string> names;  ///< text of class i, sorted
};

/// Rows of text cells, all of the same number. Copies share the data.
class CsvTable {
 public:
  /// Returns the number of rows, without the header.
  int64_t rows() const;
  /// Returns the names of the columns, in the file's order.
  const std::vector<std::string>& columns() const;
  /// Returns the names of all columns except `left_out`.
  /// Throws: NotFoundError with the nearest name.
  std::vector<std::string> columns_but(
      const std::vector<std::string>& left_out) const;

  /// Returns the line of the file in which a row begins; the first line is 1.
  /// Throws: ValueError for a row outside [0, rows()).
  int64_t line(int64_t row) const;
  /// Returns a cell. Throws: NotFoundError for the column; ValueError for a row
  /// outside [0, rows()).
  std::string_view text(int64_t row, std::string_view column) const;
  /// Returns the cells of a column. Throws: NotFoundError.
  std::vector<std::string> texts(std::string_view column) const;

  /// Returns columns as numbers, in the given order. Parses as C does in the
  /// "C" locale; ignores surrounding spaces.
  /// Shapes: -> f32 [rows, columns].
  /// Throws: NotFoundError; FormatError naming file, row and column of a cell
  /// that is missing, not a finite number or outside float32; ValueError for no
  /// columns.
  Tensor numbers(const std::vector<std::string>& columns) const;
  /// Returns a column as classes, numbered in the order of their texts, or
  /// numerically if all are integers ("10" after "9").
  /// Throws: NotFoundError; FormatError for an empty cell.
  CsvClasses classes(std::string_view column) const;

 private:
  friend CsvTable load_csv(const std::filesystem::path& path,
                           const CsvOptions& options);
  struct Contents;
  explicit CsvTable(std::shared_ptr<const Contents> contents)
      : contents_(std::move(contents)) {}

  std::shared_ptr<const Contents> contents_;
};

/// Reads a CSV file (RFC 4180): cells that contain separators, quotes or line
/// ends are quoted. UTF-8, with or without byte order mark; empty lines are
/// skipped. Warns if the header looks like a row of numbers.
/// Throws: IoError; FormatError for a row whose number of cells differs from
/// the first row's, broken quotes, empty or duplicate column names, or no rows;
/// ValueError for a separator that is a quote, a space, a line end or NUL.
CsvTable load_csv(const std::filesystem::path& path,
                  const CsvOptions& options = {});

// Images listed in a CSV file.
//
//   file,label,certainty,split
//   images/cell1.png,defective,1,train
//   images/cell2.png,functional,0.5,test
//
//   const io::ImageTable cells = io::load_image_table(
//       "cells.csv", {.columns = {.weight = "certainty"},
//                     .images = {.size = 224}});

/// Columns of a table of images. Empty names are chosen from the header, in any
/// case and with any separators.
/// Fields in order: path, label, weight, split
struct ImageColumns {
  /// Image file, relative to the folder of the table. Default: path, file,
  /// filename, image or image_path.
  std::string path = {};
  /// Class name or index, or a number to predict. Default: label, class or
  /// target.
  std::string label = {};
  /// Weight of the sample in the loss, >= 0. Default: sample_weight.
  std::string weight = {};
  /// Part: train, or test, val, valid, validation. Default: split.
  std::string split = {};
};

/// Options of load_image_table().
/// Fields in order: columns, images, labels_optional
struct ImageTableOptions {
  ImageColumns columns = {};     ///< names of the columns
  ImageOptions images = {};      ///< decoding, order and class names
  bool labels_optional = false;  ///< accept a table without labels
};

/// Images of a table.
struct ImageTable {
  /// Inputs f32 [n,h,w,channels]. Labels: i64 [n] for class names and integers,
  /// f32 [n] if all labels are numbers but not all integers. All samples if no
  /// column names parts.
  Dataset train;
  std::optional<Dataset> test = {};  ///< test part, or else validation part
  /// Name of label i: images.class_names, or the names in the table, sorted.
  /// Empty if labels are numbers.
  std::vector<std::string> classes = {};
  std::vector<std::string> files = {};  ///< of each sample of `train`
  ImageColumns columns = {};            ///< the columns used; "" for none
};

/// Loads images listed in a CSV file (load_csv(); .tsv: separated by tabs).
/// Integer labels are class indices; numbers are class names only if
/// images.class_names has them all.
/// Throws: as load_csv() and load_images(); NotFoundError for a column;
/// FormatError, naming the line, for a missing image, label or part, a label
/// that is not UTF-8, not in images.class_names or negative, a weight that is
/// negative or not finite, and a part of another name; for columns that are
/// missing or ambiguous, parts without samples, and training weights that are
/// all 0. Warns of an image in both parts, with several labels, or repeated
/// without parts.
ImageTable load_image_table(const std::filesystem::path& path,
                            const ImageTableOptions& options = {});

// CIFAR-10 and CIFAR-100 in their binary version: 50,000 training and 10,000
// test images, 32x32 RGB.
//
// Format: records without a header; a record is its labels (CIFAR-10: one byte;
// CIFAR-100: coarse, then fine) and 3072 bytes, the red, green and blue planes
// in row-major order.
// Source: A. Krizhevsky, https://www.cs.toronto.edu/~kriz/cifar.html,
// "Binary version".

/// Class names of CIFAR-10, by label.
inline constexpr std::array<std::string_view, 10> kCifar10Classes = {
    "airplane", "automobile", "bird",  "cat",  "deer",
    "dog",      "frog",       "horse", "ship", "truck"};

/// Label of a CIFAR-100 image: 100 classes (fine) or 20 superclasses (coarse).
enum class Cifar100Labels { fine, coarse };

/// Reads data_batch_1.bin to data_batch_5.bin and test_batch.bin, in `folder`
/// or in its subfolder cifar-10-batches-bin. Inputs are f32 [n,32,32,3] in
/// [0,1], labels i64 in [0,9].
/// Throws: IoError if a file is missing; FormatError if its size is not a
/// multiple of the record size or a label is out of range.
TrainTest load_cifar10(const std::filesystem::path& folder);

/// Reads train.bin and test.bin, in `folder` or in its subfolder
/// cifar-100-binary. Labels are in [0,99] (fine) or [0,19] (coarse).
/// Throws: as load_cifar10().
TrainTest load_cifar100(const std::filesystem::path& folder,
                        Cifar100Labels labels = Cifar100Labels::fine);

/// Reads one file or the concatenation of several.
/// Throws: as load_cifar10(); ValueError for an empty list.
Dataset read_cifar10(const std::filesystem::path& file);
Dataset read_cifar10(std::span<const std::filesystem::path> files);
Dataset read_cifar100(const std::filesystem::path& file,
                      Cifar100Labels labels = Cifar100Labels::fine);
Dataset read_cifar100(std::span<const std::filesystem::path> files,
                      Cifar100Labels labels = Cifar100Labels::fine);

// Fashion-MNIST: 60,000 training and 10,000 test images of clothing, 28x28
// grayscale, ten classes.
// Source: Xiao, Rasul and Vollgraf, arXiv 1708.07747.

/// Install path of Debian's package dataset-fashion-mnist.
inline constexpr std::string_view kFashionMnistFolder =
    "/usr/share/datasets/fashion-mnist";

/// Class names of Fashion-MNIST, by label.
inline constexpr std::array<std::string_view, 10> kFashionMnistClasses = {
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
    "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};

/// Reads {train,t10k}-{images-idx3,labels-idx1}-ubyte.gz. Inputs are f32
/// [n,28,28,1] in [0,1], labels i64 in [0,9].
/// Throws: IoError, naming the package to install if the folder or a file is
/// missing; FormatError for damaged files, different numbers of images and
/// labels, images that are not 28x28, or labels above 9.
TrainTest fashion_mnist(
    const std::filesystem::path& folder = kFashionMnistFolder);

// Opens a data set of any supported format: --data of all octet commands.

/// Options of open_data().
/// Fields in order: labels, image, preprocess, usual, takes_bytes,
/// takes_numbers, corrupt, resize, class_names, labels_optional, columns
struct OpenDataOptions {
  /// .npy file with the labels of a single .npy file of inputs: integers [n]
  /// (classes) or f32 [n,...] (targets).
  std::filesystem::path labels = {};
  /// [h,w,c] of images after decoding; c is 1, 3 or 4. For folders of images
  /// alone; other data keeps its size.
  Shape image = {};
  /// A preprocess_mode() for bytes, including those of .npy files. If not set,
  /// bytes in .npy files are errors and other data uses `usual`.
  std::optional<std::string> preprocess = {};
  std::string usual = "unit";  ///< default for images, IDX and CIFAR: [0,1]
  /// Applies `usual` to bytes of .npy files if `preprocess` is not set: for a
  /// model with uint8 input.
  bool takes_bytes = false;
  /// Converts signed integers and booleans of .npy files to float32: for a
  /// model with input of such a type.
  bool takes_numbers = false;
  CorruptFiles corrupt = CorruptFiles::refuse;  ///< for folders of images
  Resize resize = {};                           ///< for folders of images
  /// Class names of the model in the order of its outputs; folders of images
  /// and CIFAR get their labels by these names. Empty if unknown: label i is
  /// the i-th folder, sorted by name.
  std::vector<std::string> class_names = {};
  /// For calibration: accepts an image, or a folder of images of any structure,
  /// without labels. A folder that is not in `class_names` only causes a
  /// warning.
  bool labels_optional = false;
  ImageColumns columns = {};  ///< for tables of images
};

/// Result of open_data().
struct OpenedData {
  std::string kind;                  ///< "a folder of images", "CIFAR-10", ...
  Dataset train;                     ///< all samples if there is no `test`
  std::optional<Dataset> test = {};  ///< test part, if the data has one
  std::vector<std::string> classes = {};  ///< name of label i, if known
  /// File of each sample of `train`, for folders and tables of images.
  std::vector<std::string> files = {};
  /// Sorted names of the class folders that contain images, or of the classes
  /// in a table.
  std::vector<std::string> folders = {};
};

/// Opens a path:
///
/// - x.npy, with or without labels; or a folder with x_train.npy, y_train.npy
///   and, for the test part, x_test.npy and y_test.npy
/// - a folder of images, one subfolder per class; or two such folders named
///   train and test (or validation, valid, val)
/// - a table of images, x.csv: see load_image_table()
/// - if labels are optional: an image, or a folder with images at any depth; in
///   YOLO's layout, the images of "train" and "val"
/// - a folder with IDX files in MNIST's naming, plain or gzip-compressed
/// - CIFAR-10 or CIFAR-100 in their binary version
///
/// Inputs are NHWC.
/// Throws: IoError; FormatError naming the path if it is none or several of
/// these, for bytes in a .npy file without `preprocess`, and for parts of
/// different classes; ValueError for options that do not apply to the data;
/// ShapeError; as the reader of each format.
OpenedData open_data(const std::filesystem::path& path,
                     const OpenDataOptions& options = {});

/// Reads labels of a .npy file: integers as i64, f32 unchanged.
/// Throws: as read_npy(); FormatError with a hint for i64 of a rank other than
/// 1; ShapeError unless there are `count` labels.
Tensor read_labels(const std::filesystem::path& path, int64_t count);

}  // namespace octet::io
