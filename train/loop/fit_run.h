// FitRun: the state and steps of a single call of fit(). Internal to train:
// fit.cpp implements the training loop, fit_step.cpp the processing of a batch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <octet/quant/sensitivity.h>
#include <octet/train/data_loader.h>
#include <octet/train/fit.h>

#include "distributed/all_gather_or_throw.h"
#include "distributed/sharded_step.h"
#include "fit_options.h"
#include "interrupt.h"
#include "losses/metric_sums.h"
#include "resume/checkpoints.h"

namespace octet::train {

/// Requests of callbacks and signals, exchanged between ranks.
struct CallbackRequests {
  bool stop = false;
  bool interrupted = false;
  bool save = false;  // only the first rank's counts
  float rate = 0;     // learning rate of the optimizer
};

/// A call of fit(). begin() and run() communicate with other ranks.
class FitRun {
 public:
  FitRun(Model& model, const Dataset& data, const FitOptions& options);

  void begin();
  History run();

 private:
  void call(void (Callback::*event)(const Progress&));
  void calibrate();
  void clear_gradients() const;
  EpochLoader loader(int64_t epoch) const;
  void resume();
  void expect_no_interrupt() const;
  void begin_epoch(int64_t epoch);
  void run_epoch();
  void show_means();
  void count(int64_t samples, double loss, double seconds);
  void weight_classes(Batch& batch) const;
  BatchSums compute_gradients(Batch batch, float share,
                              const GradientReceiver* receive);
  double add_batch(EpochLoader::Iterator& next, int64_t samples,
                   int64_t together);
  void choose_rate();
  bool updates_in_backward() const;
  void move_parameters();
  void finish_epoch();

  Model& model_;
  const FitOptions& options_;
  TrainedOutputs trained_;
  DataSplit data_;
  int64_t batch_size_;
  std::vector<Variable> parameters_;
  std::optional<quant::PrunedKernels> pruned_;  // as before the fit
  std::optional<ShardedStep> step_;
  Training training_;
  MetricSums sums_;
  LocalCommunicator alone_;
  Communicator& ranks_;
  int64_t updates_ = 0;    // optimizer steps per epoch
  float rate_factor_ = 1;  // factor of the schedule for the next update
  FitState state_;
  Progress& progress_ = state_.progress;
  std::optional<FitCheckpoints> checkpoints_;
  InterruptGuard interrupt_;
  CallbackRequests requests_;
};

}  // namespace octet::train
