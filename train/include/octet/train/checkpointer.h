// Checkpointer: where a fit keeps its states, to go on from after it was ended
// by whatever. io::checkpoint_folder is one that keeps them in files.
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

  /// For messages: "runs/a".
  virtual std::string name() const = 0;

  /// Keeps other fits out for as long as the result lives.
  /// Throws: IoError if one is in, or the place cannot be written to.
  virtual std::shared_ptr<void> claim() { return nullptr; }

  /// Whether nothing was ever saved here.
  virtual bool empty() const = 0;
  /// The newest state that is whole; nothing if there is none to be had.
  virtual std::optional<TrainingState> latest() const = 0;

  /// Whether a state is to be saved after `steps` steps of the optimizer. The
  /// beginning of a fit and the ends of its epochs are saved in any case.
  virtual bool wanted(int64_t steps) const = 0;
  /// Keeps a state as the newest. Throws: IoError; what is kept stays.
  virtual void save(const TrainingState& state) = 0;
};

}  // namespace octet::train
