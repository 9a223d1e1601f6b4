// activation_histograms() and read_curves().
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/io/report.h>
#include <octet/layers/detail/model_data.h>
#include <octet/quant/detail/counterpart.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

constexpr int64_t kBatch = 8;

/// Quantizers that consume the output of a node.
using Seen = std::unordered_map<const GraphNode*, std::vector<size_t>>;

class Histograms {
 public:
  Histograms(const Model& model, int64_t bins)
      : bins_(static_cast<size_t>(bins)) {
    for (const auto& node : model.nodes()) {
      const quant::BaseQuantizeWrapper* wrapper =
          quant::as_wrapper(*node->layer);
      if (wrapper == nullptr) continue;
      for (const quant::PlacedQuantizer& placed : wrapper->quantizers()) {
        if (placed.site.kind == quant::SiteKind::output) {
          add(*node, *placed.quantizer);
        } else if (placed.site.kind == quant::SiteKind::input) {
          add(*node->inputs.at(static_cast<size_t>(placed.site.index)).node,
              *placed.quantizer);
        }
      }
    }
  }

  void range(const GraphNode& node, const Tensor& values) {
    each(node, values, [&](ActivationHistogram& h, double value) {
      h.lowest = std::min(h.lowest, value);
      h.highest = std::max(h.highest, value);
    });
  }

  void count(const GraphNode& node, const Tensor& values) {
    each(node, values, [&](ActivationHistogram& h, double value) {
      const double width = h.highest - h.lowest;
      const double at =
          width > 0 ? (value - h.lowest) / width * static_cast<double>(bins_)
                    : 0;
      ++h.bins[std::min(bins_ - 1, static_cast<size_t>(at))];
      ++h.values;
      if (value < h.clip_low - h.scale / 2 ||
          value > h.clip_high + h.scale / 2) {
        ++h.clipped;
      }
    });
  }

  std::vector<ActivationHistogram> result() && {
    std::erase_if(all_, [](const auto& h) { return h.values == 0; });
    return std::move(all_);
  }

 private:
  void add(const GraphNode& node, const quant::Quantizer& quantizer) {
    const std::optional<float> scale = quantizer.scale();
    if (!scale) return;
    const auto [place, is_new] = places_.try_emplace(&quantizer, all_.size());
    std::vector<size_t>& seen = seen_[&node];
    // Consumers may share a quantizer; a quantizer of two tensors counts both.
    if (std::ranges::find(seen, place->second) == seen.end()) {
      seen.push_back(place->second);
    }
    if (!is_new) return;
    const quant::QuantizerConfig& config = quantizer.config();
    ActivationHistogram& h = all_.emplace_back();
    h.name = quant::float_name(quant::float_layer(*node.layer).name());
    h.codes = quant::range_text(config);
    h.scale = *scale;
    h.clip_low = h.scale * config.low();
    h.clip_high = h.scale * config.high();
    h.lowest = std::numeric_limits<double>::infinity();
    h.highest = -h.lowest;
    h.bins.assign(bins_, 0);
  }

  void each(const GraphNode& node, const Tensor& values, const auto& see) {
    const auto found = seen_.find(&node);
    if (found == seen_.end()) return;
    for (const size_t place : found->second) {
      for (const float value : values.f32()) {
        if (std::isfinite(value)) see(all_[place], value);
      }
    }
  }

  size_t bins_;
  std::vector<ActivationHistogram> all_;
  std::map<const quant::Quantizer*, size_t> places_;
  Seen seen_;
};

}  // namespace

std::vector<ActivationHistogram> activation_histograms(const Model& model,
                                                       const Dataset& samples,
                                                       int64_t bins) {
  if (bins < 2 || bins > 1000) {
    throw ValueError("out_of_range", "histogram bins",
                     fmt::format("must be 2 to 1000, got {}", bins));
  }
  const NoGradGuard guard;
  const Dataset data = data_for("histogram", model, samples);
  Model exact = model.clone();  // with Q/DQ disabled
  for (const auto& quantizer : quant::quantizers(exact)) {
    quantizer->set_enabled(false);
  }
  Histograms histograms(exact, bins);
  const auto pass = [&](const auto& see) {
    for (int64_t first = 0; first < data.size(); first += kBatch) {
      const Batch batch =
          data.batch(first, std::min(kBatch, data.size() - first));
      const std::vector<Variable> x(batch.inputs.begin(), batch.inputs.end());
      (void)exact.run(x, [&](const GraphNode& node, const Variable& y) {
        see(node, y.value());
      });
    }
  };
  pass([&](const GraphNode& node, const Tensor& y) {
    histograms.range(node, y);
  });
  pass([&](const GraphNode& node, const Tensor& y) {
    histograms.count(node, y);
  });
  return std::move(histograms).result();
}

std::vector<ReportCurve> read_curves(const std::filesystem::path& csv) {
  const CsvTable table =
      load_csv(csv, {.missing = std::numeric_limits<float>::quiet_NaN()});
  std::vector<ReportCurve> curves;
  for (const std::string& column : table.columns()) {
    if (column == "epoch" || column == "seconds") continue;
    const Tensor values = table.numbers({column});
    const auto f = values.f32();
    curves.push_back({column, {f.begin(), f.end()}});
  }
  if (curves.empty() || table.rows() == 0) {
    throw FormatError("malformed_file", csv.string(),
                      fmt::format("must have a row per epoch and columns such "
                                  "as loss, got {} rows and {} columns",
                                  table.rows(), curves.size()));
  }
  return curves;
}

}  // namespace octet::io
