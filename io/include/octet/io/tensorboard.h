// Event files that TensorBoard shows: scalars and histograms.
//
// Format: records of a length (8 bytes), its masked CRC32C, an Event message
// and its masked CRC32C, all little-endian; the first Event says
// "brain.Event:2". Source: TensorFlow, "TFRecord and tf.train.Example" and
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

/// Fields in order: histograms, every_steps, clock
struct TensorBoardOptions {
  /// Histograms of all parameters whose values are finite, at the end of each
  /// epoch; for the callback.
  bool histograms = false;
  /// Loss and accuracy every so many steps; 0 for at the end of epochs only;
  /// for the callback.
  int64_t every_steps = 0;
  /// What an event says of the time when it was written, in seconds since
  /// 1970. The system's clock unless given; nothing else depends on it.
  std::function<double()> clock = {};
};

/// Writes one event file, `events.out.tfevents.<number>.octet` with the first
/// number that is above all others of ten digits in the folder: a run that goes
/// on in an old folder makes a new file. Used by one thread at a time.
class TensorBoardWriter {
 public:
  /// Creates the folder. Throws: IoError.
  explicit TensorBoardWriter(const std::filesystem::path& folder,
                             const TensorBoardOptions& options = {});
  /// Writes what is left; an error becomes a warning.
  ~TensorBoardWriter();
  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;

  /// Rounded to f32. Throws: ValueError for an empty tag; IoError.
  void scalar(std::string_view tag, double value, int64_t step);
  /// 30 buckets of equal width from the smallest value to the largest.
  /// Shapes: any, f32. Throws: ValueError for an empty tag, a tensor without
  /// elements or of another type, or a value that is not finite; IoError.
  void histogram(std::string_view tag, const Tensor& values, int64_t step);
  /// Brings all events into the file, where TensorBoard sees them. Events
  /// wait for it unless they are many. Throws: IoError.
  void flush();

  const std::filesystem::path& path() const;

 private:
  class File;
  std::unique_ptr<File> file_;
};

/// Writes what a fit reports: `epoch/<name>` at the end of each epoch, counted
/// from 0, for each of Progress::logs(); `step/<name>` at the steps asked for,
/// counted from 1 over all epochs; and `<layer>/<parameter>` histograms. Each
/// fit makes a new file, before its first step.
/// Throws: ValueError for every_steps < 0, here; in the fit, IoError.
std::shared_ptr<train::Callback> tensorboard(
    const std::filesystem::path& folder,
    const TensorBoardOptions& options = {});

}  // namespace octet::io
