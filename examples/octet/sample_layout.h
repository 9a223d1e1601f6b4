// Axis order of samples and labels. One rule for every command: the order of
// the model's file; the other one of channels first and last where the shape
// tells; --layout where both fit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <octet/io/onnx.h>
#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

#include "../command_line.h"

namespace octet::program {

inline constexpr const char* kLayoutHelp =
    "axis order of samples, of labels of their rank, and of the inputs and "
    "outputs of a file that is written [as in the model's file; samples of the "
    "other order are recognized by their shape]";

/// Adds --layout nchw|nhwc.
void add_layout_option(Command& command, std::optional<std::string>& layout,
                       const char* help = kLayoutHelp);
/// Throws: ValueError for another word.
io::OnnxLayout layout_of(const std::optional<std::string>& layout);

/// The axis orders in which a tensor may come. An order is, as in
/// io::OnnxPort::axes, the axis of the given tensor for each of the wanted one.
struct AxisOrders {
  std::string kind;      ///< "input" or "output"
  std::string port;      ///< its name
  Shape shape;           ///< wanted: [N,...]; sizes may be open
  std::vector<int> own;  ///< that of the model's file
  std::vector<int> channels_first, channels_last;
};

/// Of a tensor of a model, which has the channels last.
/// `file` is OnnxPort::axes of its file, or empty.
AxisOrders orders_for_model(std::string kind, std::string port,
                            const Shape& shape, const std::vector<int>& file);
/// Of an input of an ONNX file, of that shape. `file` is OnnxPort::axes.
AxisOrders orders_for_file(std::string port, const Shape& shape,
                           const std::vector<int>& file);
/// The axes of an input of an ONNX file that is not imported, as its shape
/// suggests: channels last where the last axis alone has 1 to 4 entries.
std::vector<int> likely_axes(const Shape& shape);
/// Whether samples of that shape fit in several axis orders.
bool fits_several(const Shape& shape);
/// Those of a model's inputs or outputs.
std::vector<AxisOrders> orders_of(const char* kind,
                                  std::span<const SymbolicTensor> tensors,
                                  const std::vector<std::string>& names,
                                  const std::vector<io::OnnxPort>& ports);

/// `x` in the wanted order; as it is if it fits in none. Warns if it fits in
/// several and --layout does not choose.
Tensor in_wanted_order(const Tensor& x, const AxisOrders& orders,
                       io::OnnxLayout layout);

/// Samples in memory and their labels, each in the order of its input or
/// output.
Dataset in_wanted_order(const Dataset& data,
                        const std::vector<AxisOrders>& inputs,
                        const std::vector<AxisOrders>& outputs,
                        io::OnnxLayout layout);

}  // namespace octet::program
