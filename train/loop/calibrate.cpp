#include <algorithm>
#include <optional>
#include <string>

#include <octet/quant/detail/calibration_steps.h>
#include <octet/quant/wrapper.h>
#include <octet/train/evaluate.h>

#include "distributed/all_gather_or_throw.h"
#include "distributed/bytes.h"

namespace octet::train {
namespace {

using quant::InputValues;

/// Runs this rank's contiguous range of batches. The numbers of batches of two
/// ranks differ by one at most.
std::vector<InputValues> run_own(const Model& model, const Dataset& samples,
                                 const Communicator& ranks,
                                 int64_t batch_size) {
  const int64_t batches = (samples.size() - 1) / batch_size + 1;
  const auto begin = [&](int64_t rank) {
    return std::min(batches * rank / ranks.size() * batch_size, samples.size());
  };
  const int64_t first = begin(ranks.rank());
  const int64_t last = begin(ranks.rank() + 1);
  if (first == last) return std::vector<InputValues>(model.inputs().size());
  return quant::run_samples(model, samples.drop(first).take(last - first),
                            batch_size);
}

/// Runs this rank's batches and sets the quantizers' observations to the merged
/// observations of all ranks.
void observe(Model& model, const Dataset& samples, Communicator& ranks,
             int64_t batch_size) {
  const auto quantizers = quant::quantizers(model);
  const std::vector<std::string> results = all_gather_or_throw(ranks, [&] {
    BytesWriter bytes;
    for (const InputValues& input :
         run_own(model, samples, ranks, batch_size)) {
      bytes.add_value(input.first.has_value());
      bytes.add_value(input.first.value_or(0));
      bytes.add_value(input.varied);
    }
    for (const auto& quantizer : quantizers) {
      if (quantizer->observing()) bytes.add_config(quantizer->observations());
    }
    return bytes.take();
  });
  std::vector<InputValues> inputs(model.inputs().size());
  std::vector<std::vector<Config>> observed(quantizers.size());
  for (const std::string& text : results) {
    BytesReader bytes(text);
    for (InputValues& input : inputs) {
      const bool any = bytes.value<bool>();
      const auto first = bytes.value<float>();
      const bool varied = bytes.value<bool>();
      input.add({.first = any ? std::optional(first) : std::nullopt,
                 .varied = varied});
    }
    for (size_t i = 0; i < quantizers.size(); ++i) {
      if (quantizers[i]->observing()) observed[i].push_back(bytes.config());
    }
  }
  quant::expect_varied(model, inputs);
  for (size_t i = 0; i < quantizers.size(); ++i) {
    if (quantizers[i]->observing()) {
      quantizers[i]->set_observations(observed[i]);
    }
  }
}

}  // namespace

std::vector<quant::CalibratedRange> calibrate(
    Model& model, const Dataset& data, Communicator& ranks,
    const quant::CalibrationOptions& options) {
  if (ranks.size() == 1 || options.observer) {
    std::vector<quant::CalibratedRange> result;
    run_on_all(ranks, [&] { result = quant::calibrate(model, data, options); });
    return result;
  }
  const Dataset samples = quant::calibration_samples(model, data, options);
  return quant::calibrate(
      model,
      [&](const Model&) { observe(model, samples, ranks, options.batch_size); },
      options);
}

}  // namespace octet::train
