#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/quant/calibrate.h>
#include <octet/quant/sensitivity.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

constexpr double kPruned = 0.2;
constexpr double kTolerance = 0.01;

std::vector<bool> zeros_of(const Tensor& values) {
  std::vector<bool> mask;
  mask.reserve(static_cast<size_t>(values.size()));
  for (const float value : values.f32()) mask.push_back(value == 0);
  return mask;
}

/// The quantizer of a layer's parameter, or null.
const Quantizer* quantizer_of(const Layer& layer, const std::string& name) {
  const BaseQuantizeWrapper* wrapper = as_wrapper(layer);
  if (wrapper == nullptr) return nullptr;
  const PlacedQuantizer* placed = wrapper->find(QdqSite::weight(name));
  return placed == nullptr ? nullptr : placed->quantizer.get();
}

/// Returns the values that inference multiplies by.
Tensor quantized_values(const Layer& layer, const Parameter& parameter) {
  const Tensor& values = std::as_const(parameter.variable).value();
  const Quantizer* quantizer = quantizer_of(layer, parameter.name);
  if (quantizer == nullptr || !quantizer->enabled() ||
      !quantizer->calibrated()) {
    return values;
  }
  return quantizer->weight(parameter.variable, parameter.channel_axis).value();
}

bool is_kernel(const Parameter& parameter) {
  return parameter.trainable && parameter.variable.shape().rank() >= 2 &&
         parameter.variable.shape().size() > 0;
}

/// Calls `body(layer, parameter, values)` for each kernel, shared ones once.
template <class Body>
void for_kernels(const Model& model, bool quantized, const Body& body) {
  const ObservingPaused paused(model);
  const NoGradGuard no_grad;
  std::unordered_set<uint64_t> known;
  for (const auto& layer : model.layers()) {
    for (const Parameter& p : layer->parameters()) {
      if (!is_kernel(p) || !known.insert(p.variable.id()).second) continue;
      body(*layer, p,
           quantized ? quantized_values(*layer, p)
                     : std::as_const(p.variable).value());
    }
  }
}

KernelZeros entry(const Layer& layer, const Parameter& parameter,
                  const std::vector<bool>& mask) {
  return {.layer = layer.original_name(),
          .parameter = parameter.name,
          .zeros = std::ranges::count(mask, true),
          .size = std::ssize(mask)};
}

}  // namespace

std::vector<KernelZeros> kernel_zeros(const Model& model, bool quantized) {
  std::vector<KernelZeros> result;
  for_kernels(
      model, quantized,
      [&](const Layer& layer, const Parameter& p, const Tensor& values) {
        result.push_back(entry(layer, p, zeros_of(values)));
      });
  return result;
}

PrunedKernels::PrunedKernels(const Model& model) {
  for_kernels(
      model, false,
      [&](const Layer& layer, const Parameter& p, const Tensor& values) {
        std::vector<bool> mask = zeros_of(values);
        KernelZeros zeros = entry(layer, p, mask);
        if (zeros.share() < kPruned || zeros.zeros == zeros.size) {
          return;
        }
        kernels_.push_back(std::move(zeros));
        masks_.push_back(std::move(mask));
      });
}

std::string PrunedKernels::filled(const Model& model) const {
  constexpr size_t kNamed = 5;
  if (kernels_.empty()) return {};
  std::unordered_map<std::string, std::vector<bool>> now;
  for_kernels(
      model, true,
      [&](const Layer& layer, const Parameter& p, const Tensor& values) {
        now.emplace(layer.original_name() + "/" + p.name, zeros_of(values));
      });
  int64_t before = 0, after = 0, size = 0;
  std::vector<std::string> layers;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    const KernelZeros& was = kernels_[k];
    const auto found = now.find(was.layer + "/" + was.parameter);
    if (found == now.end() || std::ssize(found->second) != was.size) continue;
    KernelZeros is = was;
    is.zeros = 0;
    for (size_t i = 0; i < masks_[k].size(); ++i) {
      is.zeros += masks_[k][i] && found->second[i] ? 1 : 0;
    }
    if (is.share() >= was.share() - kTolerance) continue;
    before += was.zeros;
    after += is.zeros;
    size += was.size;
    layers.push_back(fmt::format("'{}' {:.0f} to {:.0f} %", was.layer,
                                 100 * was.share(), 100 * is.share()));
  }
  if (layers.empty()) return {};
  const size_t others = layers.size() - std::min(layers.size(), kNamed);
  layers.resize(layers.size() - others);
  const auto percent = [size](int64_t zeros) {
    return 100 * static_cast<double>(zeros) / static_cast<double>(size);
  };
  return fmt::format(
      "the share of zeros in pruned kernels fell from {:.1f} to {:.1f} % "
      "({}{})",
      percent(before), percent(after), fmt::join(layers, ", "),
      others > 0 ? fmt::format(" and {} more", others) : "");
}

void PrunedKernels::clear_in(const Model& model) const {
  for_kernels(
      model, false,
      [&](const Layer& layer, const Parameter& p, const Tensor& values) {
        for (size_t k = 0; k < kernels_.size(); ++k) {
          const std::vector<bool>& mask = masks_[k];
          if (kernels_[k].layer != layer.original_name() ||
              kernels_[k].parameter != p.name ||
              std::ssize(mask) != values.size()) {
            continue;
          }
          Tensor cleared = values.clone();
          const auto to = cleared.f32();
          for (size_t i = 0; i < to.size(); ++i) {
            if (mask[i]) to[i] = 0;
          }
          Variable(p.variable).assign(cleared);
        }
      });
}

void PrunedKernels::warn_if_filled(std::string_view subject,
                                   const Model& model) const {
  const std::string text = filled(model);
  if (text.empty()) return;
  warn("pruning_undone", subject,
       fmt::format("{}. The network is no longer pruned. Hint: train with "
                   "preserve_zeros (octet train and qat: --preserve-zeros)",
                   text));
}

}  // namespace octet::quant
