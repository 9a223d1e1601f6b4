// Axis order of samples and labels, for all commands: the order of the model
// file, or the opposite order (channels first or last) if only that fits the
// shape. If both fit, --layout selects.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <octet/io/onnx.h>
#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

#include "../common/command_line.h"

namespace octet::program {

inline constexpr const char* kLayoutHelp =
    "axis order of samples, labels and written ONNX files (default: as in the "
    "model file; the other order is recognized by its shape)";

/// Adds --layout nchw|nhwc.
void add_layout_option(Command& command, std::optional<std::string>& layout,
                       const char* help = kLayoutHelp);
/// Throws: ValueError for an unknown word.
io::OnnxLayout layout_of(const std::optional<std::string>& layout);

/// Accepted axis orders of a tensor. Like io::OnnxPort::axes, an order lists
/// the axis of the given tensor for each axis of the wanted tensor.
struct AxisOrders {
  std::string kind;      ///< "input" or "output"
  std::string port;      ///< name of the input or output
  Shape shape;           ///< wanted shape [N,...]; sizes may be dynamic
  std::vector<int> own;  ///< order of the model file
  std::vector<int> channels_first, channels_last;
};

/// Returns the orders for a tensor of a model, which has channels last. `file`
/// is OnnxPort::axes of its file, or empty.
AxisOrders orders_for_model(std::string kind, std::string port,
                            const Shape& shape, const std::vector<int>& file);
/// Returns the orders for an input of an ONNX file. `file` is OnnxPort::axes.
AxisOrders orders_for_file(std::string port, const Shape& shape,
                           const std::vector<int>& file);
/// Returns the probable axis order of an input of an ONNX file that is not
/// imported: channels last if only the last axis has 1 to 4 entries.
std::vector<int> likely_axes(const Shape& shape);
/// Returns whether samples of this shape fit several axis orders.
bool fits_several(const Shape& shape);
/// Returns the orders for all inputs or outputs of a model.
std::vector<AxisOrders> orders_of(const char* kind,
                                  std::span<const SymbolicTensor> tensors,
                                  const std::vector<std::string>& names,
                                  const std::vector<io::OnnxPort>& ports);

/// Returns `x` in the wanted order, or unchanged if it fits none. Warns if it
/// fits several and --layout is not given.
Tensor in_wanted_order(const Tensor& x, const AxisOrders& orders,
                       io::OnnxLayout layout);

/// Returns samples and labels in the order of their inputs and outputs.
Dataset in_wanted_order(const Dataset& data,
                        const std::vector<AxisOrders>& inputs,
                        const std::vector<AxisOrders>& outputs,
                        io::OnnxLayout layout);

}  // namespace octet::program
