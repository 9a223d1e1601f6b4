// One fit from its beginning to its end. Internal to train: fit.cpp has the
// loop, fit_step.cpp what a batch does.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <octet/quant/weight_zeros.h>
#include <octet/train/fit.h>
#include <octet/train/loader.h>

#include "fit_options.h"
#include "interrupt.h"
#include "metric_sums.h"
#include "resume/checkpoints.h"
#include "shards/sharded_step.h"
#include "shards/together.h"

namespace octet::train {

/// What ranks tell each other after callbacks.
struct Wishes {
  bool stop = false;
  bool interrupted = false;
  bool save = false;  // of the first rank
  float rate = 0;     // the optimizer's
};

/// One call of fit(). begin() and run() communicate.
class FitRun {
 public:
  FitRun(Model& model, const Dataset& data, const FitOptions& options);

  void begin();
  History run();

 private:
  void call(void (Callback::*event)(const Progress&));
  void calibrate();
  void clear_gradients() const;
  Loader loader(int64_t epoch) const;
  void resume();
  void expect_no_interrupt() const;
  void begin_epoch(int64_t epoch);
  void run_epoch();
  void show_means();
  void count(int64_t samples, double loss, double seconds);
  void weight_classes(Batch& batch) const;
  BatchSums compute_gradients(Batch batch, float share,
                              const GradientReceiver* receive);
  double add_batch(Loader::Iterator& next, int64_t samples, int64_t together);
  void choose_rate();
  void move_parameters();
  void finish_epoch();

  Model& model_;
  const FitOptions& options_;
  TrainedOutputs trained_;
  DataSplit data_;
  int64_t batch_size_;
  std::vector<Variable> parameters_;
  std::optional<quant::PrunedKernels> pruned_;  // before the fit
  std::optional<ShardedStep> step_;
  Training training_;
  MetricSums sums_;
  OneRank alone_;
  Communicator& ranks_;
  int64_t updates_ = 0;    // of an epoch
  float rate_factor_ = 1;  // of the schedule, for the next update
  FitState state_;
  Progress& progress_ = state_.progress;
  std::optional<FitCheckpoints> checkpoints_;
  InterruptGuard interrupt_;
  Wishes wishes_;
};

}  // namespace octet::train
