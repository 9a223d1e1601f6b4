#include "compare_ranks.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

#include "all_gather_or_throw.h"
#include "bytes.h"
#include "resume/fingerprint.h"

namespace octet::train {
namespace {

/// Maximum number of schedule factors that are compared.
constexpr int64_t kMostFactors = 100'000;

Config fingerprint_of(const Model& model, const FitOptions& options,
                      const DataSplit& data, int64_t batch_size,
                      const TrainedOutputs& trained, int64_t updates) {
  const int64_t total = options.epochs * updates;
  return Config()
      .set("version", version())
      // Kernels of different instruction sets round differently.
      .set("instruction set", to_string(active_isa()))
      .set("model", model_fingerprint(quant::state_of(model)))
      .set("fit", fit_fingerprint(model, options, data, batch_size, trained))
      .set("epochs", options.epochs)
      .set("schedule",
           schedule_fingerprint(options.schedule, std::min(total, kMostFactors),
                                total))
      .set("validation_batch_size", options.validation_batch_size)
      .set("calibrate", options.calibrate.has_value())
      .set("callbacks", std::ssize(options.callbacks))
      .set("checkpoints", options.checkpoints != nullptr)
      .set("resume", options.resume);
}

}  // namespace

void expect_equal_ranks(Communicator& ranks, const Model& model,
                        const FitOptions& options, const DataSplit& data,
                        int64_t batch_size, const TrainedOutputs& trained,
                        int64_t updates) {
  if (ranks.size() == 1) return;
  const std::vector<std::string> all = all_gather_or_throw(ranks, [&] {
    BytesWriter bytes;
    bytes.add_config(
        fingerprint_of(model, options, data, batch_size, trained, updates));
    return bytes.take();
  });
  const auto other = std::ranges::find_if(
      all, [&](const std::string& each) { return each != all[0]; });
  if (other == all.end()) return;
  const auto rank = other - all.begin();
  const Config first = BytesReader(all[0]).config();
  const Config different = BytesReader(*other).config();
  throw ValueError(
      "conflicting_options", "fit",
      fmt::format(
          "model, data and options must agree on all {} ranks, but rank {} "
          "differs ({}){}",
          ranks.size(), rank,
          differences(first, different, "on rank 0",
                      fmt::format("on rank {}", rank)),
          first.at("instruction set") == different.at("instruction set")
              ? ""
              : ". Hint: set OCTET_ISA to an instruction set that all ranks "
                "support"));
}

}  // namespace octet::train
