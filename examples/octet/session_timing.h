// Timing of inference sessions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <octet/layers/inference_session.h>

namespace octet::program {

struct Measurement {
  std::string network;
  bool int8 = false;
  int64_t batch = 1;
  int threads = 1;
  double seconds = 2;  ///< minimum measurement time in seconds
};

struct Times {
  double median = 0, p99 = 0, best = 0;  ///< seconds per run
  int64_t runs = 0;
  std::vector<ProgramStep> steps = {};  ///< minimum time of each
};

/// Times `session` on random samples with the input shapes of `model`.
Times times_of(const InferenceSession& session, const Model& model,
               const Measurement& what);

/// Returns the median latency in milliseconds of a session on one random
/// sample; none for a model that a session does not support.
std::optional<double> session_milliseconds(const Model& model,
                                           const SessionOptions& options);

/// Runs `session` 10 times on random samples and writes a Chrome trace of the
/// steps. Throws: IoError.
void trace_runs(const InferenceSession& session, const Model& model,
                int64_t batch, const std::string& file);

/// Returns latency, throughput and the time of each step as a table or JSON.
std::string times_text(const InferenceSession& session, const Measurement& what,
                       const Times& times, bool json);

}  // namespace octet::program
