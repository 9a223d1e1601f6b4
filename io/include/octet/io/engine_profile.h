// Layer latencies of TensorRT engines, from the files of trtexec:
//
//   trtexec --onnx=int8.onnx --separateProfileRun --profilingVerbosity=detailed
//     --exportProfile=profile.json --exportLayerInfo=layers.json
//
//   const EngineProfile profile =
//       read_engine_profile("profile.json", "layers.json");
//   std::cout << layer_times(profile, int8).to_string();
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/post_training.h>

namespace octet::io {

/// A layer of an engine, usually several fused ONNX nodes.
struct EngineLayer {
  std::string name = {};    ///< of the engine's layer
  double milliseconds = 0;  ///< per run: median, or mean if the file has none
  /// Names of the ONNX nodes; empty for conversions of layout or type.
  std::vector<std::string> nodes = {};
  std::string type = {};  ///< of the outputs: "Int8", "FP16"; empty if unknown
};

/// Latencies of an engine's layers, in order of execution.
struct EngineProfile {
  std::vector<EngineLayer> layers = {};  ///< in order
  double milliseconds = 0;               ///< sum over the layers
};

/// Reads the files of --exportProfile and, if given, --exportLayerInfo, in the
/// forms of TensorRT 8.2 to 11 and TensorRT-RTX. Nodes are those of
/// "[ONNX Layer: NAME]" in the layer file, which needs
/// --profilingVerbosity=detailed, else the parts of "a + b" in the name.
/// Throws: IoError; FormatError for other files, and for a profile whose layers
/// differ from those of the layer file.
EngineProfile read_engine_profile(const std::filesystem::path& profile,
                                  const std::filesystem::path& layers = {});

/// Latency of a model's layer in an engine.
struct LayerTime {
  std::string layer = {};   ///< name in the float model
  double milliseconds = 0;  ///< per run
  std::string type = {};    ///< as EngineLayer::type
};

/// Latencies of a model's layers.
struct LayerTimes {
  std::vector<LayerTime> layers = {};  ///< in the model's order; only those > 0
  double conversions = 0;              ///< of layout and type, in milliseconds
  /// Of engine layers without a layer of the model, in milliseconds.
  double unknown = 0;
  double milliseconds = 0;  ///< sum

  /// Returns the layers as a table, slowest first.
  std::string to_string() const;
};

/// Assigns the latencies of an engine to the layers of the model, float or
/// quantized, that Octet exported for it. An engine layer counts for its layers
/// with weights, in proportion to their multiply-adds, or for its first layer.
/// Throws: ValueError if no engine layer belongs to the model.
LayerTimes layer_times(const EngineProfile& profile, const Model& model);

/// Returns latencies for quant::auto_mixed_precision(), from profiles of the
/// model with 8-bit weights and with narrow weights in all layers.
///
///   quant::auto_mixed_precision(model, data, {
///       .latency = 2.5, .latencies = layer_latencies(int8, wide, narrow)});
///
/// Throws: ValueError for a float model; NotFoundError for a layer with
/// quantized weights that a profile lacks; as layer_times().
std::vector<quant::LayerLatency> layer_latencies(const Model& int8,
                                                 const EngineProfile& wide,
                                                 const EngineProfile& narrow);

}  // namespace octet::io
