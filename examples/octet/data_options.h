// --data, as all commands take it that look at samples.
#pragma once

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
  Bytes become what the model was trained with, where its file says so; else
  [0,1] (--preprocess unit), or stay as they are where the model divides them
  by itself. Images take the model's size.
)";

struct DataOptions {
  std::vector<std::string> paths;   // one, or NAME=path
  std::vector<std::string> labels;  // the same of the outputs
  std::string preprocess;
  std::optional<std::string> layout;  // as sample_layout.h has it
  bool skip_corrupt = false;
};

/// What a command can do with labels.
enum class LabelKinds { classes, classes_and_targets };
/// Adds --data, --labels, --layout, --preprocess and --skip-corrupt.
void add_data_options(Command& command, DataOptions& options,
                      LabelKinds labels = LabelKinds::classes_and_targets);

/// What the data is to be for: the inputs of a model, by their names.
struct DataTarget {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  Shape image;               ///< of the only one, a sample; else empty
  std::string trained;       ///< what its file says that bytes were, or ""
  std::string takes;         ///< as mode_of()
  std::string usual;         ///< what bytes become unless --preprocess says
  bool takes_bytes = false;  ///< its file's input is uint8
  std::vector<AxisOrders> input_orders = {};
  std::vector<AxisOrders> output_orders = {};
};

/// What bytes become for the model: what its file says; "none" where it takes
/// them as they are; "" where nobody knows.
std::string mode_of(const Model& model, const ModelSource& source);
DataTarget target_of(const Model& model, const ModelSource& source);

/// The data, checked against no model. Labels of several outputs have names.
/// Warns of another --preprocess than the model was trained with. Throws: as
/// io::open_data(); ValueError as paths_for().
io::OpenedData open_data(const DataOptions& options, const DataTarget& target);

/// The mode for the file of a model that saw the data: what bytes became; of
/// floats, which are as the model sees them, that of before.
std::string preprocess_to_keep(const io::OpenedData& opened,
                               const DataOptions& options,
                               const DataTarget& target);

/// Throws: ValueError where the data has other classes than the model: their
/// number, or their names where `source` is a file that has them.
void check_classes(const Model& model, const ModelSource& source,
                   const io::OpenedData& data);

/// "60000 samples [28,28,1] of IDX files, bytes as 'unit'".
std::string describe(std::string_view part, const Dataset& data,
                     const io::OpenedData& opened, const DataOptions& options,
                     const DataTarget& target);

}  // namespace octet::program
