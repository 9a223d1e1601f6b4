// The callback quantizer_guard().
#include <set>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/callback.h>

namespace octet::train {
namespace {

class QuantizerGuard final : public Callback {
 public:
  QuantizerGuard(Dataset samples, const quant::QuantizerCheckOptions& options)
      : samples_(std::move(samples)), options_(options) {}

  void on_train_begin(const Progress& progress) override {
    warned_.clear();
    // Errors of the check occur before training.
    look(progress, "before training");
  }
  void on_epoch_end(const Progress& progress) override {
    look(progress, fmt::format("epoch {}", progress.epoch + 1));
  }
  bool on_first_rank_only() const override { return true; }

 private:
  // Warns once per quantizer and fault.
  void look(const Progress& progress, const std::string& when) {
    const Model& model = std::as_const(*progress.training).model();
    for (const quant::QuantizerFinding& each :
         quant::check_quantizers(model, samples_, options_)) {
      if (!warned_.insert({each.quantizer, each.fault}).second) continue;
      warn("quantizer_fault", fmt::format("quantizer_guard ({})", when),
           each.text);
    }
  }

  Dataset samples_;
  quant::QuantizerCheckOptions options_;
  std::set<std::pair<std::string, quant::QuantizerFault>> warned_;
};

}  // namespace

std::shared_ptr<Callback> quantizer_guard(
    const Dataset& samples, const quant::QuantizerCheckOptions& options) {
  return std::make_shared<QuantizerGuard>(samples, options);
}

}  // namespace octet::train
