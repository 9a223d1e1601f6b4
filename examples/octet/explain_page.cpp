#include "explain_page.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/detail/text_table.h>

namespace octet::program {
namespace {

/// Adds lines on the types and scales of an ONNX file.
void add_types(const io::OnnxSummary& summary, Page& page) {
  std::map<std::string, size_t> activations, weights;
  size_t per_channel = 0;
  for (const io::OnnxQdqPair& pair : summary.qdq_pairs) {
    const bool weight = pair.kind == "weight";
    ++(weight ? weights : activations)[pair.type];
    per_channel += weight && pair.axis ? 1 : 0;
  }
  const auto types = [](const std::map<std::string, size_t>& counts) {
    std::vector<std::string> parts;
    parts.reserve(counts.size());
    for (const auto& [type, count] : counts) {
      parts.push_back(fmt::format("{} {}", count, type));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  };
  if (!activations.empty()) {
    page.line(fmt::format("Activations: {}. {}", types(activations),
                          activations.contains("uint8")
                              ? "uint8 has a zero point for ranges around any "
                                "value."
                              : "int8 is symmetric: zero is exact."));
  }
  if (!weights.empty()) {
    page.line(fmt::format("Weights: {}; {} with a scale per channel.",
                          types(weights), per_channel));
  }
}

}  // namespace

std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kNamed = 6;
  const std::vector<std::string> first(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(
                                         std::min(kNamed, names.size())));
  const size_t others = names.size() - first.size();
  return fmt::format("{}{}", fmt::join(first, ", "),
                     others > 0 ? fmt::format(" and {} more", others) : "");
}

void Page::section(const char* heading) {
  text_ += fmt::format("\n{}\n", heading);
}

void Page::line(const std::string& text) { text_ += "  " + text + "\n"; }

void Page::command(const std::string& why, const std::string& command) {
  text_ += fmt::format("  {}\n    {}\n", why, command);
}

void Reasons::add(const std::string& reason, const std::string& name) {
  const auto found = std::ranges::find(all_, reason, &Entry::first);
  if (found == all_.end()) {
    all_.push_back({reason, {name}});
  } else if (std::ranges::find(found->second, name) == found->second.end()) {
    found->second.push_back(name);
  }
}

void Reasons::print(Page& page) const {
  for (const auto& [reason, names] : all_) {
    page.line(fmt::format("{}: {}", some_of(names), reason));
  }
}

void add_precisions(const io::LintReport& lint,
                    const std::optional<io::OnnxSummary>& summary, Page& page) {
  std::vector<std::string> int8, inputs;
  Reasons floating;
  bool fp8 = false;
  for (const io::LayerForecast& layer : lint.layers) {
    const std::string name = fmt::format("{} ({})", layer.node, layer.op);
    fp8 = fp8 || layer.fp8;
    switch (layer.precision) {
      case io::LayerPrecision::int8:
        int8.push_back(name);
        break;
      case io::LayerPrecision::int8_to_float:
        inputs.push_back(name);
        break;
      case io::LayerPrecision::floating:
        floating.add(
            layer.reason.empty() ? "no quantized inputs" : layer.reason, name);
        break;
    }
  }
  const char* format = fp8 ? "FP8" : "INT8";
  page.section("What is quantized, and why");
  page.line(fmt::format("{} of {} run in {}, by the forecast for {}.",
                        int8.size() + inputs.size(),
                        counted(std::ssize(lint.layers),
                                "convolution, product, sum or pooling layer"),
                        format, lint.target));
  if (!int8.empty()) {
    page.line(fmt::format("{} inputs and outputs: {}", format, some_of(int8)));
  }
  if (!inputs.empty()) {
    page.line(
        fmt::format("{} inputs, float outputs: {}", format, some_of(inputs)));
  }
  page.line(
      fmt::format("Their inputs and weights have Q/DQ, so the runtime selects "
                  "{} kernels, which",
                  format));
  page.line("move a quarter of the bytes of float32.");
  if (summary) add_types(*summary, page);
  page.section("What stays float, and why");
  if (floating.empty()) {
    page.line("None.");
  } else {
    floating.print(page);
  }
}

}  // namespace octet::program
