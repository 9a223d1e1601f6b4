// Monitor: detects improvements of a reported value. Internal to train.
#pragma once

#include <span>
#include <string>

#include <octet/train/callback.h>

namespace octet::train {

class Monitor {
 public:
  /// Throws: ValueError of `subject` unless min_delta is finite and >= 0.
  Monitor(std::string subject, std::string name, Better better,
          double min_delta);

  const std::string& name() const { return name_; }

  /// Resets the best value. Throws: NotFoundError with the reported names if
  /// the fit does not report the value.
  void begin(const Progress& progress);

  /// Whether the value improves on the best by more than min_delta; it then
  /// becomes the best. The first value other than NaN is an improvement.
  bool improves(const Progress& progress);

  /// Returns the best value so far.
  double best() const { return best_; }
  void set_best(double best) { best_ = best; }

 private:
  std::string subject_;
  std::string name_;
  bool higher_;
  double min_delta_;
  double best_ = 0;
};

/// Throws: NotFoundError if a callback monitors a value that is not among
/// `names`.
void check_monitored(const Callbacks& callbacks,
                     std::span<const std::string> names);

}  // namespace octet::train
