// A session's speed, as `octet bench` prints it.
#pragma once

#include <cstdint>
#include <string>

#include <octet/layers/inference_session.h>

namespace octet::program {

struct Measurement {
  std::string network;
  bool int8 = false;
  int64_t batch = 1;
  int threads = 1;
  double seconds = 2;  ///< to measure for, at least
};

/// Runs `session` on random samples, which fit `model`, and writes latency,
/// throughput and the time of each step as a table or as JSON.
std::string measure(const InferenceSession& session, const Model& model,
                    const Measurement& what, bool json);

}  // namespace octet::program
