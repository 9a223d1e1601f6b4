// --data, as all commands take it that look at samples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/io/open_data.h>
#include <octet/layers/model.h>
#include <octet/runtime/config.h>

#include "../command_line.h"
#include "read_model.h"
#include "sample_layout.h"

namespace octet::program {

/// What data may be, for the ends of helps.
inline constexpr const char* kDataHelp = R"(Data:
  x.npy           float32 [N,...] as the model sees it in use, with --labels
                  y.npy, int64 [N]. Of several inputs NAME=x.npy each, of
                  several outputs NAME=y.npy. Images in the axis order of the
                  model's file, or in the other one of NHWC and NCHW, which
                  their shape tells; --layout decides where both fit
  a folder with   a sub-folder of PNG or JPEG images for each class; or such
                  folders train and test (or validation, valid, val); the IDX
                  files of MNIST; CIFAR in its binary version; x_train.npy,
                  y_train.npy, x_test.npy, y_test.npy
  images          where labels are not needed (quantize, sensitivity, report):
                  an image, or a folder with images at any depth, as YOLO's
                  images and labels
  Bytes become what the model was trained with, where its file says so; else
  [0,1] (--preprocess unit), or stay as they are where the model divides them
  by itself. Images are resized to the model's size as in training, where its
  file says so; else as Keras does (bilinear) for a file of Keras, and as
  torchvision does (antialias) for others. The class of a folder is the output
  of that name where the model's file has names; else folders are sorted by
  name, and --class-names gives another order.
)";

struct DataOptions {
  std::vector<std::string> paths;   // one, or NAME=path
  std::vector<std::string> labels;  // the same of the outputs
  std::string preprocess;
  std::optional<std::string> layout;  // as sample_layout.h has it
  bool skip_corrupt = false;
  std::string resize;              // a filter
  std::string crop;                // "256", "0.875", "aspect", "none"
  std::optional<std::string> pad;  // a gray value
  std::string class_names;         // a file, or "cat,dog"
  bool labels_optional = false;    // for the command
};

/// What a command can do with labels.
enum class LabelKinds { classes, classes_and_targets };
/// Adds --data, --labels, --layout, and add_image_options().
void add_data_options(Command& command, DataOptions& options,
                      LabelKinds labels = LabelKinds::classes_and_targets);
/// Adds --preprocess, --resize, --crop, --pad, --class-names and
/// --skip-corrupt.
void add_image_options(Command& command, DataOptions& options);

/// What the data is to be for: the inputs of a model, by their names.
struct DataTarget {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  Shape image;               ///< of the only one, a sample; else empty
  std::string trained;       ///< what its file says that bytes were, or ""
  std::string takes;         ///< as mode_of()
  std::string usual;         ///< what bytes become unless --preprocess says
  bool takes_bytes = false;  ///< its file's input is uint8
  /// For each input whether its file has it as signed integers or booleans.
  std::vector<bool> takes_numbers = {};
  std::vector<AxisOrders> input_orders = {};
  std::vector<AxisOrders> output_orders = {};
  /// How images were resized: as its file says, or as for its kind of file; ""
  /// if nobody knows.
  std::string trained_resize = {};
  bool resize_is_stored = false;           ///< in its file
  std::string usual_resize = "antialias";  ///< unless --resize says
  /// The names of the classes in the order of the outputs: those of its file.
  std::vector<std::string> classes = {};
  /// Outputs of a classifier; 0 for other models, -1 for a network of the zoo,
  /// which takes its classes from the data.
  int64_t class_count = 0;
};

/// What bytes become for the model: what its file says; "none" where it takes
/// them as they are; "" where nobody knows.
std::string mode_of(const Model& model, const ModelSource& source);
DataTarget target_of(const Model& model, const ModelSource& source);
/// What the model's file alone says; `takes` as mode_of().
DataTarget file_target(const ModelSource& source, const std::string& takes);
/// How images were resized in the training of a file's model: as the file says,
/// or "bilinear" for a file of Keras; "" if nobody knows.
std::string trained_resize(const ModelSource& source);
/// The names of the classes in a model's file; none of a network of the zoo.
std::vector<std::string> class_names_of(const ModelSource& source);

/// The data, checked against no model. Labels of several outputs have names.
/// Warns of another --preprocess than the model was trained with. Throws: as
/// io::open_data(); ValueError as paths_for().
io::OpenedData open_data(const DataOptions& options, const DataTarget& target);

/// The mode for the file of a model that saw the data: what bytes became; of
/// floats, which are as the model sees them, that of before.
std::string preprocess_to_keep(const io::OpenedData& opened,
                               const DataOptions& options,
                               const DataTarget& target);

/// The resizing for the file of a model that saw the data.
std::string resize_to_keep(const io::OpenedData& opened,
                           const DataOptions& options,
                           const DataTarget& target);

/// Throws: ValueError where the data has another number of classes than the
/// model.
void check_classes(const Model& model, const ModelSource& source,
                   const io::OpenedData& data);

/// "preprocessing: resize bilinear as Keras, bytes as 'unit'", in one line, and
/// for folders of images another one with the output of each folder.
std::string describe_inputs(const io::OpenedData& opened,
                            const DataOptions& options,
                            const DataTarget& target);

/// The same as entries of JSON: "preprocessing", and "folders" with the output
/// of each.
void add_inputs(Config& config, const io::OpenedData& opened,
                const DataOptions& options, const DataTarget& target);

/// "60000 samples [28,28,1] of IDX files", and describe_inputs().
std::string describe(std::string_view part, const Dataset& data,
                     const io::OpenedData& opened, const DataOptions& options,
                     const DataTarget& target);

}  // namespace octet::program
