// Runners: measure latencies of models in this process, in another runtime or
// on another device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <octet/layers/inference_session.h>
#include <octet/quant/autotune.h>

namespace octet::program {

struct RunnerOptions {
  std::string runner;              ///< --runner
  std::string python = "python3";  ///< with onnxruntime or openvino
  std::string target;              ///< --target, for trtexec
  int64_t rounds = 0;              ///< 0: default of the runner
  SessionOptions session = {};
};

/// Writes a model as the ONNX file that a runner measures.
using ExportForRunner =
    std::function<void(const Model& model, const std::string& path)>;

/// Returns a function that measures models: "session" in this process,
/// "onnxruntime" and "openvino" by a Python script, other values by a command
/// line of trtexec, to which the file is added; "ssh HOST trtexec" copies the
/// file to the host with scp. The number of threads is that of this process.
/// Throws: ValueError for an empty runner, one that does not measure the
/// target, or an ssh command line without host; the function throws
/// UnsupportedError for a model that the runner rejects, NotFoundError for a
/// missing program, IoError for other failures.
quant::MeasureLatencies latency_runner(const RunnerOptions& options,
                                       ExportForRunner export_model);

/// Returns the number of rounds that a runner uses.
int64_t rounds_of(const RunnerOptions& options);

/// Returns the median of the line "GPU Compute Time: ..., median = 0.29 ms" of
/// trtexec, in milliseconds.
/// Throws: IoError if there is none.
double trtexec_median(const std::string& output, const std::string& runner);

}  // namespace octet::program
