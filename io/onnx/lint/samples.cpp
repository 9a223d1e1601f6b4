// A03 and A07: scales and errors on samples.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include <octet/io/compare.h>

#include "../check.h"
#include "../qdq.h"
#include "../tensors.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

/// Reported ratio of a scale's range to the magnitude of nearly all values.
constexpr double kFar = 4;
constexpr int64_t kBatch = 16;

/// Returns the graph without Q and DQ of activations.
onnx::ModelProto without_pairs(const onnx::ModelProto& model,
                               const LintGraph& graph) {
  std::unordered_map<std::string, std::string> unrounded;
  for (const Node& node : model.graph().node()) {
    const Node* producer = graph.view().producer(
        node.input_size() > 0 ? node.input(0) : std::string());
    if (is_dequantize(node) && producer != nullptr && is_quantize(*producer) &&
        !graph.is_output(node.output(0))) {
      const auto before = unrounded.find(producer->input(0));
      unrounded[node.output(0)] =
          before == unrounded.end() ? producer->input(0) : before->second;
    }
  }
  onnx::ModelProto result = model;
  result.mutable_graph()->clear_value_info();
  for (Node& node : *result.mutable_graph()->mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      const auto found = unrounded.find(input);
      if (found != unrounded.end()) input = found->second;
    }
  }
  return result;
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
    findings.add("A03", traced[i].name,
                 fmt::format("range of the scale is {:.3g}, but 99.99 % of the "
                             "values are within {:.3g}",
                             reach, usual),
                 "calibrate by percentiles, entropy or the squared error");
  }
}

}  // namespace

void check_samples(const onnx::ModelProto& model, const LintGraph& graph,
                   const Tensor& samples, const FileLimits& limits,
                   Findings& findings) {
  const auto file = TracedModel::from_onnx_bytes(serialize_onnx(model), limits);
  const auto floats = TracedModel::from_onnx_bytes(
      serialize_onnx(without_pairs(model, graph)), limits);
  auto differences =
      compare_models(floats, file, samples, {.batch = kBatch}).values;
  std::ranges::stable_sort(differences, [](const auto& a, const auto& b) {
    return a.noise > b.noise;
  });
  for (const ValueDifference& layer : differences) {
    const bool weighted = layer.op == "Conv" || layer.op == "ConvTranspose" ||
                          layer.op == "Gemm" || layer.op == "MatMul";
    if (!weighted || layer.noise == 0) continue;
    findings.add("A07", layer.name,
                 fmt::format("SQNR is {:.1f} dB against the same graph without "
                             "Q/DQ",
                             layer.sqnr()),
                 "begin with the lowest: calibrate differently, or leave it "
                 "float");
  }
  check_reach(file, samples, findings);
}

}  // namespace octet::io::lint
