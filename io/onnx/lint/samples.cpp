// A03 and A07: scales and errors on samples.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/io/compare.h>

#include "onnx/check/check.h"
#include "onnx/graph/qdq.h"
#include "onnx/graph/tensors.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

/// Reported ratio of a scale's range to the magnitude of nearly all values.
constexpr double kFar = 4;
constexpr int64_t kBatch = 16;

/// Returns the graph without Q and DQ of activations.
onnx::ModelProto without_pairs(const LintGraph& graph) {
  onnx::ModelProto model = graph.copy_model();
  model.mutable_graph()->clear_value_info();
  OnnxGraph floats(std::move(model));
  for (const OnnxNode& node : floats.nodes()) {
    const OnnxNode* producer = floats.producer(node.input(0));
    if (is_dequantize(node) && producer != nullptr && is_quantize(*producer) &&
        !floats.is_output(node.output(0))) {
      floats.redirect(node.output(0), producer->input(0));
    }
  }
  return std::move(floats).to_model();
}

/// Returns the magnitude that 9,999 of 10,000 values do not exceed.
double usual_magnitude(std::vector<float>& values) {
  for (float& value : values) value = std::abs(value);
  const auto at = static_cast<std::ptrdiff_t>(
      std::ceil(0.9999 * static_cast<double>(values.size())) - 1);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

void check_reach(const TracedModel& file, const Tensor& samples,
                 Findings& findings) {
  const auto& traced = file.values();
  std::vector<std::vector<float>> seen(traced.size());
  for (int64_t first = 0; first < samples.shape()[0]; first += kBatch) {
    const auto values = file.run(
        samples.slice(first, std::min(kBatch, samples.shape()[0] - first)));
    for (size_t i = 0; i < traced.size(); ++i) {
      if (!traced[i].qparams) continue;
      const auto more = values[i].f32();
      seen[i].insert(seen[i].end(), more.begin(), more.end());
    }
  }
  for (size_t i = 0; i < traced.size(); ++i) {
    if (seen[i].empty()) continue;
    const double usual = usual_magnitude(seen[i]);
    const double reach =
        traced[i].qparams->scale *
        (traced[i].qparams->highest - traced[i].qparams->zero_point);
    if (!(usual > 0) || reach <= kFar * usual) continue;
    findings.add_named(
        "A03", traced[i].name,
        "calibrate by percentiles, entropy or the squared error",
        fmt::format("range of the scale is {:.3g}, but 99.99 % of the values "
                    "are within {:.3g}",
                    reach, usual));
  }
}

}  // namespace

void check_samples(const LintGraph& graph, const Tensor& samples,
                   const FileLimits& limits, Findings& findings) {
  const auto file =
      TracedModel::from_onnx_bytes(serialize_onnx(graph.copy_model()), limits);
  const auto floats = TracedModel::from_onnx_bytes(
      serialize_onnx(without_pairs(graph)), limits);
  auto differences =
      compare_models(floats, file, samples, {.batch = kBatch}).values;
  std::ranges::stable_sort(differences, [](const auto& a, const auto& b) {
    return a.noise > b.noise;
  });
  for (const ValueDifference& layer : differences) {
    const bool weighted = layer.op == "Conv" || layer.op == "ConvTranspose" ||
                          layer.op == "Gemm" || layer.op == "MatMul";
    if (!weighted || layer.noise == 0) continue;
    findings.add_named(
        "A07", layer.name,
        "begin with the lowest: calibrate differently, or leave it float",
        fmt::format("SQNR is {:.1f} dB against the same graph without Q/DQ",
                    layer.sqnr()));
  }
  check_reach(file, samples, findings);
}

}  // namespace octet::io::lint
