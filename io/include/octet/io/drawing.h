// Networks as pictures: layers as boxes from top to bottom, those that one
// kernel computes in one box, with Q/DQ points and the precision that lint
// expects of each.
//
//   const io::Drawing drawing = io::draw_onnx("int8.onnx");
//   write_file("int8.svg", io::to_svg(drawing));
//
// Drawings are values. Functions keep no state; any thread may call.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <octet/io/file_limits.h>
#include <octet/io/lint.h>
#include <octet/layers/model.h>

namespace octet::io {

/// A layer of a model or a node of a file.
struct DrawnLayer {
  std::string name;
  std::string op;     ///< its class: "Conv2D, relu", "Conv"
  std::string shape;  ///< of its first output: "[N,28,28,16]"; may be empty
  std::string weights = {};  ///< codes of weights that have Q/DQ; else empty
};

/// What one kernel computes, or a layer that the forecast says nothing of.
struct DrawnBox {
  std::vector<DrawnLayer> layers;  ///< at least one, in order
  std::optional<LayerPrecision> precision = {};
  std::string reason = {};  ///< what keeps it from INT8 in and out
};

/// A value on its way from a box to one that reads it.
struct DrawnEdge {
  size_t from = 0;        ///< an index of Drawing::boxes
  size_t to = 0;          ///< greater than `from`
  std::string pair = {};  ///< the codes of Q/DQ on it: "int8, scale 0.02"
};

struct Drawing {
  std::string title;
  std::vector<DrawnBox> boxes;  ///< makers before readers
  std::vector<DrawnEdge> edges;
  LintTarget target = LintTarget::tensorrt10;  ///< of the forecast
  std::string note = {};  ///< why there is no forecast, if there is none
};

/// Fields in order: target, fuse, limits
struct DrawOptions {
  LintTarget target = LintTarget::tensorrt10;  ///< who is to run it
  bool fuse = true;  ///< one box for each kernel, not for each layer
  FileLimits limits = {};
};

/// The layers of a model. The forecast is that of its ONNX form; where there is
/// none, as of a model that is not calibrated, Drawing::note says why.
Drawing draw(const Model& model, const DrawOptions& options = {});

/// The nodes of an ONNX file of any exporter; Q and DQ are points on edges, and
/// what is computed of constants is not shown. Throws: as inspect_onnx().
Drawing draw_onnx(const std::filesystem::path& path,
                  const DrawOptions& options = {});

/// A picture in one file, without scripts, fonts or anything from elsewhere,
/// for light and dark backgrounds. Names are escaped and cut to a line; the
/// whole name, the scales and the reason are what a browser shows of a box or
/// an edge below the pointer.
/// Throws: ValueError for boxes without layers and edges that are out of range
/// or lead back;
/// UnsupportedError for more than 20000 boxes, or edges that pass so many
/// others that they cannot be told apart. Hint: to_dot().
std::string to_svg(const Drawing& drawing);

/// The same in the language of Graphviz, colours included.
/// Throws: ValueError as to_svg().
std::string to_dot(const Drawing& drawing);

}  // namespace octet::io
