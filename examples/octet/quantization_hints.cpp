#include "quantization_hints.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include <octet/quant/post_training.h>
#include <octet/quant/sensitivity.h>
#include <octet/runtime/error.h>

namespace octet::program {
namespace {

constexpr int64_t kTried = 256;  // samples
constexpr int64_t kBlamed = 32;  // samples, four runs per layer

struct Trial {
  std::string option;
  quant::OutputComparison found;
};

std::string figures(const quant::OutputComparison& found) {
  std::string text =
      std::isinf(found.sqnr())
          ? std::string("exact outputs")
          : fmt::format("an output SQNR of {:.1f} dB", found.sqnr());
  if (found.agreement()) {
    text += fmt::format(", agreement {:.1f} %", 100 * *found.agreement());
  }
  return text;
}

// Quantizes and evaluates with other options; skips options that fail.
void try_option(const Model& reference, const Model& model,
                const Dataset& samples, const QuantizedAs& as,
                const std::string& method, const std::string& option,
                std::vector<Trial>& trials) {
  try {
    Model trial = quantized(model, as.placement);
    CalibrationChoice choice;
    choice.method = method;
    choice.checked = true;
    (void)calibrate(trial, samples, choice, as.few_bits);
    trials.push_back(
        {option, quant::compare_outputs(reference, trial, samples)});
  } catch (const Error&) {
    // Patterns or spec entries name layers that folding removed.
  }
}

std::string first_line(std::string_view text) {
  const size_t end = text.find('\n');
  std::string line(text.substr(0, end));
  if (line.ends_with('.')) line.pop_back();
  return line;
}

void add_blame(const Model& quantized, const Dataset& data,
               std::vector<std::string>& hints) {
  const quant::Sensitivity found = quant::sensitivity(
      quantized, data, {.samples = std::min(kBlamed, data.size())});
  if (found.layers.empty()) return;
  hints.push_back(fmt::format(
      "--exclude '{}' keeps the layer with the largest loss in float",
      found.by_sqnr()[0].layer));
  const std::string blame = found.blame();
  hints.push_back(first_line(blame));
  if (blame.find("--equalize") != std::string::npos) {
    hints.emplace_back("--equalize balances the channel ranges");
  }
}

}  // namespace

std::optional<Model> equalized(const Model& model) {
  Model result = quant::fold_batch_norm(model);
  const std::vector<quant::Equalization> pairs = quant::equalize(result);
  const bool any = std::ranges::any_of(
      pairs, [](const auto& pair) { return pair.skipped.empty(); });
  return any ? std::optional(std::move(result)) : std::nullopt;
}

void warn_unless_equalizable(const Model& model, const char* option) {
  if (equalized(model)) return;
  warn("nothing_to_equalize", option,
       "found no pairs of layers whose channel ranges can be equalized");
}

std::optional<Calibrated> calibrated_equalized(const Model& model,
                                               const Dataset& data,
                                               const QuantizedAs& as) {
  try {
    const std::optional<Model> balanced = equalized(model);
    if (!balanced) return {};
    Model int8 = quantized(*balanced, as.placement);
    std::string report = calibrate(int8, data, as.calibration, as.few_bits);
    return Calibrated{std::move(int8), std::move(report)};
  } catch (const Error&) {
    return {};  // patterns or spec entries name layers that folding removed
  }
}

std::string use_equalized(
    const Model& model, Model& int8, const Dataset& data, Config& figures,
    const std::function<std::optional<Calibrated>()>& other) {
  constexpr double kGood = 30, kGain = 3;  // dB
  const Dataset samples = data.sample(kTried);
  const double before = quant::compare_outputs(model, int8, samples).sqnr();
  if (before >= kGood) return {};
  std::optional<Calibrated> made = other();
  if (!made) return {};
  const double after =
      quant::compare_outputs(model, made->model, samples).sqnr();
  const bool better = after > before + kGain;
  figures.set("equalized", better);
  if (!better) return {};
  int8 = std::move(made->model);
  return fmt::format(
      "\nequalized channel ranges: output SQNR {:.1f} dB instead of {:.1f} dB "
      "(--no-equalize: without)\n{}",
      after, before, made->report);
}

std::vector<std::string> find_hints(const Model& model, const Model& quantized,
                                    const Dataset& data,
                                    const QuantizedAs& as) {
  const Dataset samples = data.sample(kTried);
  std::vector<Trial> trials;
  if (as.calibrated) {
    const std::string& method = as.calibration.method;
    if (method != "auto") {
      Model given = quant::fold_batch_norm(model);
      if (as.equalized) (void)quant::equalize(given);
      try_option(model, as.equalized ? given : model, samples, as, "auto",
                 "--method auto", trials);
    }
    if (!as.equalized) {
      CalibrationChoice choice;
      choice.checked = true;
      const auto trial = calibrated_equalized(model, samples,
                                              {.placement = as.placement,
                                               .calibration = choice,
                                               .few_bits = as.few_bits});
      if (trial) {
        trials.push_back(
            {method == "auto" ? "--equalize" : "--equalize --method auto",
             quant::compare_outputs(model, trial->model, samples)});
      }
    }
  }
  const double now = quant::compare_outputs(model, quantized, samples).sqnr();
  std::ranges::stable_sort(trials, [](const Trial& a, const Trial& b) {
    return a.found.sqnr() > b.found.sqnr();
  });
  std::vector<std::string> hints;
  for (const Trial& trial : trials) {
    constexpr double kHelps = 3;  // dB
    if (!trial.found.sufficient() && !(trial.found.sqnr() > now + kHelps)) {
      continue;
    }
    hints.push_back(
        fmt::format("{} gives {}", trial.option, figures(trial.found)));
  }
  if (as.few_bits) {
    hints.emplace_back(format_of(as.placement) == Format::w4a16
                           ? "a smaller --block, --pipeline"
                           : "more bits (--bits, --mean-bits), --pipeline");
  }
  add_blame(quantized, data, hints);
  return hints;
}

}  // namespace octet::program
