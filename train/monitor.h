// A value that callbacks watch: whether it became better. Internal to train.
#pragma once

#include <string>

#include <octet/train/callbacks.h>

namespace octet::train {

class Monitor {
 public:
  /// Throws: ValueError naming `subject` unless min_delta is finite and >= 0.
  Monitor(std::string subject, std::string name, Better better,
          double min_delta);

  /// Forgets the best. Throws: NotFoundError with the nearest names if the
  /// fit does not report the value.
  void begin(const Progress& progress);

  /// Whether the value is better than the best by more than min_delta; then
  /// it is the best. The first that is not NaN is better.
  bool improves(const Progress& progress);

  /// The best so far.
  double best() const { return best_; }
  void set_best(double best) { best_ = best; }

 private:
  std::string subject_;
  std::string name_;
  bool higher_;
  double min_delta_;
  double best_ = 0;
};

}  // namespace octet::train
