#include <array>
#include <cctype>
#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>
#include <octet/train/loss.h>

namespace octet::train {
namespace {

using Alias = std::pair<std::string_view, std::string_view>;

// Pairs of alias and Octet name. Sources: keras/src/losses/__init__.py,
// keras/src/metrics/__init__.py; torch/nn/modules/loss.py.
constexpr std::array kLosses = std::to_array<Alias>({
    {"sparse_categorical_cross_entropy", "sparse_categorical_cross_entropy"},
    {"sparse_categorical_crossentropy", "sparse_categorical_cross_entropy"},
    {"cross_entropy", "sparse_categorical_cross_entropy"},
    {"cross_entropy_loss", "sparse_categorical_cross_entropy"},
    {"categorical_cross_entropy", "categorical_cross_entropy"},
    {"binary_cross_entropy", "binary_cross_entropy"},
    {"binary_cross_entropy_with_logits", "binary_cross_entropy"},
    {"bce", "binary_cross_entropy"},
    {"bce_loss", "binary_cross_entropy"},
    {"bce_with_logits_loss", "binary_cross_entropy"},
    {"mean_squared_error", "mean_squared_error"},
    {"mse", "mean_squared_error"},
    {"mse_loss", "mean_squared_error"},
    {"mean_absolute_error", "mean_absolute_error"},
    {"mae", "mean_absolute_error"},
    {"l1_loss", "mean_absolute_error"},
    {"huber", "huber"},
    {"huber_loss", "huber"},
    {"smooth_l1_loss", "huber"},
});

constexpr std::array kMetrics = std::to_array<Alias>({
    {"accuracy", "accuracy"},
    {"acc", "accuracy"},
    {"sparse_categorical_accuracy", "accuracy"},
    {"categorical_accuracy", "accuracy"},
    {"binary_accuracy", "binary_accuracy"},
    {"top_k_accuracy", "top_5_accuracy"},
    {"top_k_categorical_accuracy", "top_5_accuracy"},
    {"sparse_top_k_categorical_accuracy", "top_5_accuracy"},
    {"mean_absolute_error", "mean_absolute_error"},
    {"mae", "mean_absolute_error"},
    {"mean_squared_error", "mean_squared_error"},
    {"mse", "mean_squared_error"},
});

/// Returns "meansquarederror" for "mean_squared_error" and "MeanSquaredError".
std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ') continue;
    letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

template <size_t N>
std::string_view find(const std::array<Alias, N>& aliases,
                      std::string_view name) {
  const std::string wanted = letters_of(name);
  for (const auto& [alias, own] : aliases) {
    if (letters_of(alias) == wanted) return own;
  }
  return {};
}

template <size_t N>
[[noreturn]] void refuse(std::string_view kind, std::string_view name,
                         const std::array<Alias, N>& aliases) {
  std::vector<std::string> names;
  for (const auto& [alias, own] : aliases) {
    if (alias == own) names.emplace_back(alias);
  }
  std::vector<std::string> all(names);
  for (const auto& [alias, own] : aliases) all.emplace_back(alias);
  const std::string near = suggest_near(name, all);
  throw NotFoundError(
      "unknown_name", fmt::format("{} '{}'", kind, name),
      near.empty()
          ? fmt::format("unknown name{}. Hint: define a custom {} with "
                        "train::{}(name, function)",
                        suggest_names(name, names), kind,
                        kind == "loss" ? "Loss" : "Metric")
          : fmt::format("unknown name{}", near));
}

/// Returns k for "top_5_accuracy" and similar names, or nothing.
std::optional<int64_t> top_k(std::string_view name) {
  constexpr std::string_view kBefore = "top", kAfter = "accuracy";
  const std::string letters = letters_of(name);
  if (!letters.starts_with(kBefore) || !letters.ends_with(kAfter)) return {};
  const char* const first = letters.data() + kBefore.size();
  const char* const last = letters.data() + letters.size() - kAfter.size();
  int64_t k = 0;
  const auto [end, error] = std::from_chars(first, last, k);
  if (error != std::errc() || end != last || k < 1) return {};
  return k;
}

}  // namespace

std::string loss_name(std::string_view name) {
  return std::string(find(kLosses, name));
}

Loss loss_named(std::string_view name) {
  const std::string_view own = find(kLosses, name);
  if (own == "sparse_categorical_cross_entropy") {
    return losses::sparse_categorical_cross_entropy();
  }
  if (own == "categorical_cross_entropy") {
    return losses::categorical_cross_entropy();
  }
  if (own == "binary_cross_entropy") return losses::binary_cross_entropy();
  if (own == "mean_squared_error") return losses::mean_squared_error();
  if (own == "mean_absolute_error") return losses::mean_absolute_error();
  if (own == "huber") return losses::huber();
  refuse("loss", name, kLosses);
}

Metric metric_named(std::string_view name) {
  if (const auto k = top_k(name)) return metrics::top_k_accuracy(*k);
  const std::string_view own = find(kMetrics, name);
  if (own == "accuracy") return metrics::accuracy();
  if (own == "binary_accuracy") return metrics::binary_accuracy();
  if (own == "top_5_accuracy") return metrics::top_k_accuracy();
  if (own == "mean_absolute_error") return metrics::mean_absolute_error();
  if (own == "mean_squared_error") return metrics::mean_squared_error();
  refuse("metric", name, kMetrics);
}

Loss::Loss(const char* name) : Loss(loss_named(name)) {}
Loss::Loss(const std::string& name) : Loss(loss_named(name)) {}

Metric::Metric(const char* known) : Metric(metric_named(known)) {}
Metric::Metric(const std::string& known) : Metric(metric_named(known)) {}

}  // namespace octet::train
