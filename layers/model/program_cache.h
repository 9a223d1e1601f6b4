// The compiled program of a model's current state, for predict(). Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/program.h>

namespace octet {

class ProgramCache {
 public:
  /// Returns the program of the model, which may share its layers; null if the
  /// model cannot be compiled or the program's outputs differ from the model's,
  /// of which it warns once. Tries again only after the model changed.
  /// `samples` are the inputs of at least two samples, for the comparison.
  std::shared_ptr<const Program> program_of(const Model& model,
                                            std::span<const Tensor> samples);
  /// Drops the program.
  void clear();

 private:
  void refuse(const Model& model, std::string_view reason);

  std::mutex mutex_;
  std::optional<std::vector<uint64_t>> version_;  // of the program
  std::shared_ptr<const Program> program_;
  std::vector<uint64_t> refused_;  // version that cannot be compiled
  bool warned_ = false;
};

}  // namespace octet
