#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include <octet/quant/plan.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

#include "plan/name_pattern.h"
#include "plan/shared_quantizers.h"
#include "plan/signs.h"

namespace octet::quant {
namespace {
// Converts the wildcards * and ? to a regular expression.
std::string regex_of(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (c == '*') {
      result += ".*";
    } else if (c == '?') {
      result += '.';
    } else {
      if (!plain) result += '\\';
      result += c;
    }
  }
  return result;
}

bool is_weight(const QdqPoint& point) {
  return point.site.kind == SiteKind::weight;
}

void check_width(const LayerBits& entry, const char* which,
                 std::optional<int> bits) {
  if (!bits || (*bits >= 2 && *bits <= 8)) return;
  throw ValueError("out_of_range", fmt::format("bits of '{}'", entry.layer),
                   fmt::format("{} must be in [2,8], got {}", which, *bits));
}

// Fewer than 8 bits may have made the range unsigned; 8 bits are signed unless
// requested otherwise. A zero point is valid only for its width.
void set_width(QuantizerConfig& config, int bits) {
  if (config.asymmetric) {
    config.zero_point = 0;  // of the calibration that follows
    config.bits = bits;
    return;
  }
  const bool moved = config.zero_point != 0 && bits != config.bits;
  if (moved || (bits == 8 && config.bits < 8)) config.is_signed = true;
  if (moved) config.zero_point = 0;
  config.bits = bits;
}

// Sets the widths of an entry and marks the affected points in `asked`.
void apply_to(QdqPlan& plan, const LayerBits& entry, std::vector<bool>& asked) {
  if (!entry.weight && !entry.activation) {
    throw ValueError("missing_value", fmt::format("bits of '{}'", entry.layer),
                     "needs a weight or activation width");
  }
  check_width(entry, "weight", entry.weight);
  check_width(entry, "activation", entry.activation);
  const NamePattern pattern(regex_of(entry.layer));
  bool weights = false;
  bool activations = false;
  std::vector<std::string> names;
  for (size_t i = 0; i < plan.points.size(); ++i) {
    QdqPoint& point = plan.points[i];
    names.push_back(point.layer);
    if (!pattern.matches(point.layer)) continue;
    (is_weight(point) ? weights : activations) = true;
    const auto bits = is_weight(point) ? entry.weight : entry.activation;
    if (!bits) continue;
    if (point.config.format != NumberFormat::integer) {
      throw ValueError("conflicting_options",
                       fmt::format("bits of '{}'", entry.layer),
                       fmt::format("{} has no bit width to choose",
                                   to_string(point.config.format)));
    }
    set_width(point.config, *bits);
    asked[i] = true;
  }
  if ((!entry.weight || weights) && (!entry.activation || activations)) return;
  names.erase(std::ranges::unique(names).begin(), names.end());
  throw NotFoundError(
      "unknown_name", fmt::format("bits of '{}'", entry.layer),
      fmt::format("no matching layer has Q/DQ on its {}{}",
                  entry.weight && !weights ? "weights" : "inputs",
                  suggest_names(entry.layer, names)));
}

// Assigns a common width to each quantizer.
void settle(QdqPlan& plan, const std::vector<bool>& asked) {
  std::map<std::string, const QdqPoint*> widest;
  for (const QdqPoint& point : plan.points) {
    const QdqPoint*& best = widest[point.group];
    if (best == nullptr || point.config.bits > best->config.bits) best = &point;
  }
  for (size_t i = 0; i < plan.points.size(); ++i) {
    QdqPoint& point = plan.points[i];
    const QdqPoint& best = *widest.at(point.group);
    if (point.config.bits == best.config.bits) continue;
    if (asked[i]) {
      warn("conflicting_options", fmt::format("bits of '{}'", point.layer),
           fmt::format("{} requested, but '{}' consumes the same tensor with "
                       "{} bits; their shared quantizer has the larger width",
                       point.config.bits, best.layer, best.config.bits));
    }
    point.config.bits = best.config.bits;
    point.config.is_signed = best.config.is_signed;
    point.config.zero_point = best.config.zero_point;
  }
}

}  // namespace

std::vector<LayerBits> bits_of_quantized(std::vector<LayerBits> layers,
                                         const QdqPlan& plan) {
  const auto has = [&](const std::string& layer, bool weight) {
    return std::ranges::any_of(plan.points, [&](const QdqPoint& point) {
      return point.layer == layer && is_weight(point) == weight &&
             point.site.kind != SiteKind::output;
    });
  };
  for (LayerBits& entry : layers) {
    if (entry.layer == "*") continue;
    if (!has(entry.layer, true)) entry.weight.reset();
    if (!has(entry.layer, false)) entry.activation.reset();
  }
  std::erase_if(layers, [](const LayerBits& entry) {
    return !entry.weight && !entry.activation;
  });
  return layers;
}

QdqPlan with_bits(const QdqPlan& plan, const Model& model,
                  const std::vector<LayerBits>& layers) {
  if (layers.empty()) return plan;
  const GraphIndex graph(model);
  QdqPlan result = assign_shared_quantizers(plan, graph);
  std::vector<bool> asked(result.points.size());
  for (const LayerBits& entry : layers) apply_to(result, entry, asked);
  settle(result, asked);
  choose_signedness(result, graph);
  return result;
}

}  // namespace octet::quant
