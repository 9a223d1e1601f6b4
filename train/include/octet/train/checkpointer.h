// Checkpointer: storage of training states, from which an interrupted fit
// resumes. io::checkpoint_folder() stores them in files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <octet/train/training_state.h>

namespace octet::train {

class Checkpointer {
 public:
  virtual ~Checkpointer() = default;

  /// Name in messages, such as "runs/a".
  virtual std::string name() const = 0;

  /// Locks the storage for the lifetime of the result.
  /// Throws: IoError if another fit holds the lock, or the storage is not
  /// writable.
  virtual std::shared_ptr<void> claim() { return nullptr; }

  /// Whether no state was ever saved.
  virtual bool empty() const = 0;
  /// Returns the newest complete state, if any.
  virtual std::optional<TrainingState> latest() const = 0;

  /// Whether to save after `steps` optimizer steps. The fit also saves at its
  /// start and after each epoch.
  virtual bool wanted(int64_t steps) const = 0;
  /// Saves a state as the newest.
  /// Throws: IoError; earlier states stay intact.
  virtual void save(const TrainingState& state) = 0;
};

}  // namespace octet::train
