// fit and evaluate: the training loop and the test.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/train/optimizer.h>
#include <octet/train/schedule.h>

namespace octet::train {

struct Evaluation {
  double loss = 0;      ///< mean softmax cross-entropy
  double accuracy = 0;  ///< share of right top-1 answers, [0, 1]
  int64_t samples = 0;
};

/// "accuracy 91.23 %, loss 0.2456 (10000 samples)".
std::ostream& operator<<(std::ostream& out, const Evaluation& evaluation);

/// Runs the model in inference on all samples, in order.
/// Throws: ValueError for batch_size < 1.
Evaluation evaluate(const Model& model, const Dataset& data,
                    int64_t batch_size = 1000);

/// Where a fit stands; what callbacks see.
struct Progress {
  int64_t epoch = 0;  ///< from 0
  int64_t epochs = 0;
  int64_t step = 0;     ///< of this epoch, from 1
  int64_t steps = 0;    ///< per epoch
  int64_t samples = 0;  ///< seen in this epoch
  double loss = 0;      ///< mean of this epoch so far
  double accuracy = 0;  ///< of this epoch so far, on training batches, [0, 1]
  double seconds = 0;   ///< since the epoch began
  double learning_rate = 0;
  const Evaluation* validation = nullptr;  ///< at the end of an epoch, if any
};

class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_step(const Progress&) {}
  virtual void on_epoch_end(const Progress&) {}
};

using Callbacks = std::vector<std::shared_ptr<Callback>>;

struct EpochResult {
  double loss = 0;
  double accuracy = 0;                 ///< on training batches, [0, 1]
  double seconds = 0;                  ///< training only
  double learning_rate = 0;            ///< at the last step
  std::vector<Evaluation> validation;  ///< one, if there is validation data
};
using History = std::vector<EpochResult>;

struct FitOptions {
  int64_t epochs = 1;
  int64_t batch_size = 64;
  Optimizer optimizer = Adam();
  Schedule schedule = constant();  ///< over all steps of this fit
  uint64_t seed = 0;               ///< of the shuffling
  const Dataset* validation = nullptr;
  Callbacks callbacks = {};
};

/// Trains in place with softmax cross-entropy on the model's logits.
/// Same seed and data: the same bits, whatever the number of threads.
/// Throws: ValueError for options out of range, data whose inputs do not fit
/// the model, or a loss that is not finite (naming the step and the first
/// layer or parameter that is not).
History fit(const Model& model, const Dataset& data,
            const FitOptions& options = {});

}  // namespace octet::train
