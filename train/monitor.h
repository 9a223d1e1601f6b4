// A value that callbacks watch: whether it became better. Internal to train.
#pragma once

#include <span>
#include <string>

#include <octet/train/callbacks.h>

namespace octet::train {

class Monitor {
 public:
  /// Throws: ValueError naming `subject` unless min_delta is finite and >= 0.
  Monitor(std::string subject, std::string name, Better better,
          double min_delta);

  const std::string& name() const { return name_; }

  /// Forgets the best. Throws: NotFoundError listing the names if the fit does
  /// not report the value.
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

/// Throws: NotFoundError listing the names if a callback monitors a value that
/// is not among them.
void check_monitored(const Callbacks& callbacks,
                     std::span<const std::string> names);

}  // namespace octet::train
