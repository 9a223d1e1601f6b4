// Event files for TensorBoard: scalars and histograms.
//
// Format: records of a length (8 bytes), its masked CRC32C, an Event message
// and its masked CRC32C, all little-endian; the first Event is "brain.Event:2".
// Source: TensorFlow, "TFRecord and tf.train.Example" and
// tensorflow/core/util/event.proto, framework/summary.proto.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <octet/runtime/tensor.h>
#include <octet/train/callback.h>

namespace octet::io {

/// Options of TensorBoardWriter and tensorboard().
/// Fields in order: histograms, every_steps, clock
struct TensorBoardOptions {
  /// For the callback: histograms of all parameters with finite values, at the
  /// end of each epoch.
  bool histograms = false;
  /// For the callback: writes Progress::logs() every N steps, >= 0. 0: at the
  /// end of epochs only.
  int64_t every_steps = 0;
  /// Time stamp of events, in seconds since 1970. Default: the system's clock.
  std::function<double()> clock = {};
};

/// Writes an event file, `events.out.tfevents.NUMBER.octet`; the number is
/// above all numbers of ten digits in the folder, so a resumed run has a new
/// file. Not thread-safe.
class TensorBoardWriter {
 public:
  /// Creates the folder. Throws: IoError.
  explicit TensorBoardWriter(const std::filesystem::path& folder,
                             const TensorBoardOptions& options = {});
  /// Writes remaining events; an error becomes a warning.
  ~TensorBoardWriter();
  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;

  /// Adds a scalar, rounded to f32.
  /// Throws: ValueError for an empty tag; IoError.
  void scalar(std::string_view tag, double value, int64_t step);
  /// Adds a histogram: 30 buckets of equal width from minimum to maximum.
  /// Shapes: any, f32.
  /// Throws: ValueError for an empty tag, a tensor that is empty or of another
  /// type, or a value that is not finite; IoError.
  void histogram(std::string_view tag, const Tensor& values, int64_t step);
  /// Writes buffered events to the file, making them visible to TensorBoard.
  /// Throws: IoError.
  void flush();

  /// Returns the path of the event file.
  const std::filesystem::path& path() const;

 private:
  class File;
  std::unique_ptr<File> file_;
};

/// Returns a callback that writes `epoch/<name>` at the end of each epoch,
/// counted from 0, for each of Progress::logs(); `step/<name>` every
/// `every_steps`, counted from 1 over all epochs; and `<layer>/<parameter>`
/// histograms. Each fit() creates a file before its first step.
/// Throws: ValueError for every_steps < 0; IoError, in fit().
std::shared_ptr<train::Callback> tensorboard(
    const std::filesystem::path& folder,
    const TensorBoardOptions& options = {});

}  // namespace octet::io
