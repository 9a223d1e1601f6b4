// Drawings of networks: layers as boxes from top to bottom, layers of one fused
// kernel in one box, with Q/DQ points and the precision that lint predicts.
//
//   const io::Drawing drawing = io::draw_onnx("int8.onnx");
//   write_file("int8.svg", io::to_svg(drawing));
//
// Drawings are values. Functions are stateless and thread-safe.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <octet/io/lint.h>
#include <octet/layers/model.h>
#include <octet/runtime/file.h>

namespace octet::io {

/// A layer of a model or a node of a file.
struct DrawnLayer {
  std::string name;   ///< of the layer without wrapper, node or port
  std::string op;     ///< class or operator: "Conv2D, relu", "Conv"
  std::string shape;  ///< of its first output: "[N,28,28,16]"; may be empty
  std::string weights = {};  ///< type of quantized weights, otherwise empty
};

/// The layers of one kernel, or a layer without prediction.
struct DrawnBox {
  std::vector<DrawnLayer> layers;                ///< at least one, in order
  std::optional<LayerPrecision> precision = {};  ///< none: no prediction
  std::string reason = {};  ///< why it does not run in INT8
};

/// An edge from the producer of a value to a consumer.
struct DrawnEdge {
  size_t from = 0;        ///< an index of Drawing::boxes
  size_t to = 0;          ///< greater than `from`
  std::string pair = {};  ///< Q/DQ on the edge: "int8, scale 0.02"
};

/// The boxes and edges of a network, without positions.
struct Drawing {
  std::string title;                   ///< name of the model or of the file
  std::vector<DrawnBox> boxes;         ///< in topological order
  std::vector<DrawnEdge> edges;        ///< between boxes, not within
  Target target = Target::tensorrt10;  ///< of the predicted precisions
  std::string note = {};  ///< why there is no forecast, otherwise empty
};

/// Options of draw() and draw_onnx().
/// Fields in order: target, fuse, limits
struct DrawOptions {
  Target target = Target::tensorrt10;  ///< for the forecast; not any
  bool fuse = true;        ///< one box per kernel instead of per layer
  FileLimits limits = {};  ///< for draw_onnx()
};

/// Draws the layers of a model. Precisions are predicted for its ONNX export;
/// if there is none, as for an uncalibrated model, Drawing::note has the
/// reason.
Drawing draw(const Model& model, const DrawOptions& options = {});

/// Draws the nodes of an ONNX file of any exporter. Q/DQ pairs are points on
/// edges; constant subgraphs are omitted.
/// Throws: as inspect_onnx().
Drawing draw_onnx(const std::filesystem::path& path,
                  const DrawOptions& options = {});

/// Returns a self-contained SVG file without scripts or fonts, for light and
/// dark backgrounds. Names are escaped and shortened to a line; tooltips show
/// the full name, scales and reason.
/// Throws: ValueError for boxes without layers and edges that are out of range
/// or not in topological order; UnsupportedError for more than 20000 boxes, or
/// more crossing edges than can be drawn. Hint: to_dot().
std::string to_svg(const Drawing& drawing);

/// Returns the drawing in Graphviz' DOT language, with colors.
/// Throws: ValueError as to_svg().
std::string to_dot(const Drawing& drawing);

}  // namespace octet::io
