// A session's speed, as `octet bench` prints it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <octet/layers/inference_session.h>

namespace octet::program {

struct Measurement {
  std::string network;
  bool int8 = false;
  int64_t batch = 1;
  int threads = 1;
  double seconds = 2;  ///< to measure for, at least
};

struct Times {
  double median = 0, p99 = 0, best = 0;  ///< seconds of a run
  int64_t runs = 0;
  std::vector<ProgramStep> steps = {};  ///< each at its best
};

/// Runs `session` on random samples, which fit `model`.
Times times_of(const InferenceSession& session, const Model& model,
               const Measurement& what);

/// Latency, throughput and the time of each step as a table or as JSON.
std::string times_text(const InferenceSession& session, const Measurement& what,
                       const Times& times, bool json);

}  // namespace octet::program
