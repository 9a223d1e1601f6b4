// Session files (.octet): compact files of models for inference. Weights of
// quantized layers are stored as INT8 values. Loading needs neither HDF5 nor
// protobuf: programs that link only octet::session are small.
// docs/model-files.md describes the format.
#pragma once

#include <filesystem>

#include <octet/layers/inference_session.h>
#include <octet/layers/model.h>

namespace octet {

/// Writes a model for inference: outputs of the loaded model and of its session
/// are bit-identical to `model`'s. The file lacks the floating-point values of
/// quantized weights: to train on, save the model with io::save_model().
/// The file is written beside `path`, then renamed.
/// Throws: IoError; ValueError for quantizers in calibration or for duplicate
/// names of layers or quantizers; UnsupportedError if the loaded model computes
/// other outputs, as with custom layers whose configuration is incomplete.
void save_session(const Model& model, const std::filesystem::path& path);

/// Loads a session file and compiles it. Custom layers must be registered
/// (register_layer()).
/// Throws: IoError; FormatError for a truncated or damaged file or another kind
/// of file; UnsupportedError for a newer version or unknown layer classes; as
/// InferenceSession().
///
///   const InferenceSession session = load_session("model.octet");
InferenceSession load_session(const std::filesystem::path& path,
                              const SessionOptions& options = {});

}  // namespace octet
