// --data and related options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/io/data.h>
#include <octet/layers/model.h>
#include <octet/runtime/config.h>

#include "../common/command_line.h"
#include "read_model.h"
#include "sample_layout.h"

namespace octet::program {

/// Accepted data, for help footers.
inline constexpr const char* kDataHelp = R"(
Data:
  x.npy        float32 [N,...], preprocessed as for deployment; class labels
               int64 [N] with --labels y.npy. NAME=x.npy per input, NAME=y.npy
               per output. Images may be NHWC or NCHW: the shape selects the
               order; if both fit, --layout or the model file.
  folder       A subfolder of PNG or JPEG images per class, optionally in train
               and test (or validation, valid, val); IDX files of MNIST;
               binary CIFAR; x_train.npy, y_train.npy, x_test.npy, y_test.npy.
  table        x.csv with a row per image: columns path, label, and optionally
               sample_weight and split (train, test, val). Paths are relative
               to the file. --columns names other columns:
               label=kind,weight=certainty.
  images       For commands without labels (quantize, sensitivity, report): an
               image, or a folder of images at any depth, as YOLO's images.
)";

/// Image options, for help footers.
inline constexpr const char* kImageHelp = R"(
Images:
  --preprocess   unit [0,1]; none [0,255]; Keras' tf [-1,1], torch and caffe;
                 MEAN/STD as PyTorch's Normalize: 0.1307/0.3081, or three values
                 each. Default: as in the model file; else unit, or none if
                 the model scales its input.
  --resize       bilinear as Keras' loaders and tf.image.resize; antialias
                 (bilinear) and bicubic as torchvision and Pillow;
                 keras-bicubic; nearest. Default: as in the model file; else
                 bilinear for Keras files, antialias for others.
  --crop         256: resize the shorter side to 256 pixels, then crop, as
                 torchvision's Resize and CenterCrop. 0.875: crop ratio, as
                 timm's crop_pct. aspect: as Keras' crop_to_aspect_ratio.
                 none: stretch.
  --class-names  Folders map to the class names in the model file, else to
                 outputs in order of their names. This option overrides both: a
                 file with one name per line, JSON, YOLO's data.yaml, or
                 cat,dog,...
)";

struct DataOptions {
  std::vector<std::string> paths;   // a path, or NAME=path per input
  std::vector<std::string> labels;  // a path, or NAME=path per output
  std::string preprocess;
  std::optional<std::string> layout;  // see sample_layout.h
  bool skip_corrupt = false;
  std::string resize;              // filter
  std::string crop;                // "256", "0.875", "aspect", "none"
  std::optional<std::string> pad;  // gray value
  std::string class_names;         // file, or "cat,dog"
  bool labels_optional = false;    // the command works without labels
  std::string columns;             // "label=kind,weight=certainty"
};

/// Kinds of labels that a command supports.
enum class LabelKinds { classes, classes_and_targets };
/// Whether --data is required.
enum class NeedsData { no, yes };
/// Adds --data, --labels, --layout, and add_image_options().
void add_data_options(Command& command, DataOptions& options,
                      LabelKinds labels = LabelKinds::classes_and_targets,
                      NeedsData needs = NeedsData::yes);
/// Adds --preprocess, --resize, --crop, --pad, --class-names and
/// --skip-corrupt.
void add_image_options(Command& command, DataOptions& options);

/// Requirements of a model on its data.
struct DataTarget {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  /// Names of the same in the ONNX file that the model is from; else empty.
  std::vector<std::string> file_inputs = {};
  std::vector<std::string> file_outputs = {};
  Shape image;               ///< sample shape of a single input; else empty
  std::string trained;       ///< preprocessing mode in the model file, or ""
  std::string takes;         ///< mode_of() the model
  std::string usual;         ///< default of --preprocess
  bool takes_bytes = false;  ///< the model file has a uint8 input
  /// Whether each input has signed integers or booleans in the file.
  std::vector<bool> takes_numbers = {};
  std::vector<AxisOrders> input_orders = {};
  std::vector<AxisOrders> output_orders = {};
  /// Resizing in training, from the model file or its kind; "" if unknown.
  std::string trained_resize = {};
  bool resize_is_stored = false;           ///< in the model file
  std::string usual_resize = "antialias";  ///< default of --resize
  /// Class names in output order, from the model file.
  std::vector<std::string> classes = {};
  /// Number of outputs of a classifier; 0 for other models; -1 for a zoo
  /// network, whose classes come from the data.
  int64_t class_count = 0;
};

/// Returns the preprocessing mode of the model: from its file; "none" if it
/// expects unscaled bytes; "" if unknown.
std::string mode_of(const Model& model, const ModelSource& source);
DataTarget target_of(const Model& model, const ModelSource& source);
/// Returns the fields of the target that the model file determines; `takes` is
/// mode_of().
DataTarget file_target(const ModelSource& source, const std::string& takes);
/// Returns the resizing used in training: from the model file, else "bilinear"
/// for a Keras file; "" if unknown.
std::string trained_resize(const ModelSource& source);
/// Returns the class names in a model file; empty for a zoo network.
std::vector<std::string> class_names_of(const ModelSource& source);

/// Opens the data without comparing its classes with a model. Labels of several
/// outputs are named. Warns if --preprocess differs from training.
/// Throws: as io::open_data(); ValueError as paths_for().
io::OpenedData open_data(const DataOptions& options, const DataTarget& target);

/// Returns the preprocessing mode to store with a model trained or calibrated
/// on the data: the mode applied to bytes; the previous mode for floats, which
/// are already preprocessed.
std::string preprocess_to_keep(const io::OpenedData& opened,
                               const DataOptions& options,
                               const DataTarget& target);

/// Returns the resizing to store with a model trained or calibrated on the
/// data.
std::string resize_to_keep(const io::OpenedData& opened,
                           const DataOptions& options,
                           const DataTarget& target);

/// Throws: ValueError if data and model have different numbers of classes.
void check_classes(const Model& model, const ModelSource& source,
                   const io::OpenedData& data);

/// Returns "preprocessing: resize bilinear as Keras, bytes as 'unit'", and for
/// image folders a line with the output of each folder.
std::string describe_inputs(const io::OpenedData& opened,
                            const DataOptions& options,
                            const DataTarget& target);

/// Adds to JSON the text "preprocessing", and "folders" with the output of each
/// folder.
void add_inputs(Config& config, const io::OpenedData& opened,
                const DataOptions& options, const DataTarget& target);

/// Returns "60000 samples [28,28,1] of IDX files" and describe_inputs().
std::string describe(std::string_view part, const Dataset& data,
                     const io::OpenedData& opened, const DataOptions& options,
                     const DataTarget& target);

}  // namespace octet::program
