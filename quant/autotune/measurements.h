// Measurements: latencies of models, cached by structure. Internal to quant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/quant/autotune.h>

namespace octet::quant {

/// Treatment of a model that cannot be measured.
enum class OnFailure { error, record };

/// A model with a name, for a measurement.
struct Candidate {
  std::string name;
  const Model* model;
};

/// Returns three significant digits and the unit: "0.0112 ms".
std::string milliseconds_text(double milliseconds);

class Measurements {
 public:
  /// The arguments must outlive it. `model` is the model that must work.
  Measurements(const Model& model, const AutotuneOptions& options);

  /// Measures models, unless the state has a measurement of equal models
  /// without errors. `purpose` distinguishes measurements of equal models.
  /// Throws: the error of AutotuneOptions::latencies for OnFailure::error, or
  /// if all candidates and the model fail; ValueError for invalid latencies.
  LatencyMeasurement compare(const std::string& subject,
                             std::string_view purpose,
                             const std::vector<Candidate>& candidates,
                             OnFailure on_failure);

 private:
  LatencyRounds measured(const std::vector<const Model*>& models) const;
  void measure_separately(const std::vector<Candidate>& candidates,
                          LatencyMeasurement& m) const;

  const Model& model_;
  const AutotuneOptions& options_;
  AutotuneState state_;
};

}  // namespace octet::quant
