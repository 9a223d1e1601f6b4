#include <algorithm>
#include <optional>
#include <ranges>

#include <fmt/format.h>

#include <octet/quant/twin.h>
#include <octet/quant/wrapper_registry.h>

#include "chains.h"
#include "rules.h"

namespace octet::quant {
namespace {

// A convolution as ModelOpt looks at it.
struct ConvShape {
  int64_t in = 0;
  int64_t out = 0;
  int64_t groups = 1;
  int64_t h = 1;
  int64_t w = 1;
};

// Of a depthwise kernel [h,w,c,m].
ConvShape depthwise_shape(const GraphNode& node) {
  const Shape kernel =
      float_layer(*node.layer).parameter("depthwise_kernel").variable.shape();
  return {.in = kernel[2],
          .out = kernel[2] * kernel[3],
          .groups = kernel[2],
          .h = kernel[0],
          .w = kernel[1]};
}

// A SeparableConv2D is two convolutions; other layers than convolutions are
// none.
std::vector<ConvShape> conv_shapes(const GraphNode& node) {
  const int64_t in = node.inputs[0].shape()[-1];
  const int64_t out = node.shape[-1];
  if (GraphIndex::is(node, "DepthwiseConv2D")) return {depthwise_shape(node)};
  if (GraphIndex::is(node, "SeparableConv2D")) {
    const ConvShape depthwise = depthwise_shape(node);
    return {depthwise, {.in = depthwise.out, .out = out}};
  }
  const bool conv = GraphIndex::is(node, "Conv2D");
  if (!conv && !GraphIndex::is(node, "Conv2DTranspose")) return {};
  const Shape kernel =
      float_layer(*node.layer).parameter("kernel").variable.shape();
  return {{.in = in,
           .out = out,
           .groups = conv ? in / kernel[2] : 1,
           .h = kernel[0],
           .w = kernel[1]}};
}

// Source: ModelOpt, onnx/quantization, as rule P24 has it.
bool is_narrow(const ConvShape& c, bool first) {
  constexpr int64_t kWide = 16;
  if (c.in >= kWide && c.out >= kWide) return false;
  if (c.groups > 1) return c.out % 8 != 0 || c.h < 3 || c.w < 3;
  const bool packs = c.in % 8 == 0 || c.out % 8 == 0;
  const bool wide = first || c.in >= kWide || c.out >= kWide;
  return !(packs && wide && c.h == c.w);
}

bool is_depthwise(const GraphNode& node) {
  if (GraphIndex::is(node, "DepthwiseConv2D")) return true;
  if (!GraphIndex::is(node, "Conv2D")) return false;
  const ConvShape shape = conv_shapes(node)[0];
  return shape.groups > 1 && shape.groups == shape.in;
}

// Why a layer stays float, if an option says that it does.
std::optional<Decision> left_out(const GraphNode& node, bool first, bool last,
                                 const TensorrtPolicy& options) {
  constexpr int64_t kTiny = 16;
  const int64_t in = node.inputs[0].shape()[-1];
  const int64_t out = node.shape[-1];
  if (first && !options.first_layer) {
    return left_alone(
        "A06", "no linear layer before it; first_layer = false leaves it out");
  }
  if (last && !options.last_layer) {
    return left_alone(
        "A06", "no linear layer behind it; last_layer = false leaves it out");
  }
  const auto narrow = [&](const ConvShape& c) { return is_narrow(c, first); };
  if (options.skip_narrow_convs &&
      std::ranges::any_of(conv_shapes(node), narrow)) {
    return left_alone(
        "P24",
        fmt::format("{} channels in, {} out, and skip_narrow_convs", in, out));
  }
  if (options.skip_tiny_gemms && GraphIndex::is(node, "Dense") &&
      std::min(in, out) < kTiny) {
    return left_alone(
        "P25",
        fmt::format("{} features in, {} out, and skip_tiny_gemms", in, out));
  }
  if (options.skip_depthwise && is_depthwise(node)) {
    return left_alone("P26", "one filter a channel, and skip_depthwise");
  }
  return std::nullopt;
}

Decision decide(const GraphIndex& graph, const GraphNode& node,
                const WrapperInfo& info, bool first, bool last,
                const TensorrtPolicy& options) {
  if (!info.enabled) {
    return left_alone("P01", fmt::format("{} is off by default", info.name));
  }
  if (auto out = left_out(node, first, last, options)) return *std::move(out);
  const std::string& layer_class = info.layer_class;
  Decision decision{.rule = "P01"};
  decision.sites = wrapper_sites(
      node, "P01", fmt::format("weights of {}, INT8 as its data", layer_class));
  for (PlacedSite& placed : decision.sites) {
    if (placed.site.kind == SiteKind::inner) {
      placed.reason = fmt::format("data of {}'s second product", layer_class);
    }
    if (placed.site.kind != SiteKind::input) continue;
    const auto input = static_cast<size_t>(placed.site.index);
    const GraphNode& source = graph.source(node.inputs[input]);
    placed.reason = fmt::format("data of {}, from {}", layer_class,
                                graph.tensor_name(source));
  }
  return decision;
}

// Of layers that are called once: a layer with several calls reads several
// tensors through one quantizer, and not all need to be padded.
bool moves_to_pad(const Draft& draft, const GraphIndex::Reader& reader) {
  const GraphNode& node = *reader.node;
  const GraphIndex& graph = draft.graph();
  const LayerRole role = graph.role(node);
  return reader.input == 0 && !draft.is_fixed(node) &&
         graph.calls(*node.layer).size() == 1 && draft.reads_int8(node, 0) &&
         (role == LayerRole::linear || GraphIndex::is(node, "ZeroPadding2D"));
}

}  // namespace

void decide_linear(Draft& draft, const TensorrtPolicy& options) {
  const GraphIndex& graph = draft.graph();
  const LinearNeighbours linear(graph);
  for (const auto& node : graph.model().nodes()) {
    if (graph.role(*node) != LayerRole::linear || draft.is_fixed(*node)) {
      continue;
    }
    const WrapperInfo info =
        wrapper_info(float_layer(*node->layer).class_name());
    if (info.name.empty()) continue;
    draft.decide(*node, decide(graph, *node, info, !linear.before(*node),
                               !linear.behind(*node), options));
  }
}

void move_before_pads(Draft& draft) {
  const GraphIndex& graph = draft.graph();
  for (const auto& node : std::views::reverse(graph.model().nodes())) {
    const auto readers = graph.readers(*node);
    const bool moves =
        GraphIndex::is(*node, "ZeroPadding2D") && !draft.is_fixed(*node) &&
        graph.calls(*node->layer).size() == 1 && !readers.empty() &&
        !graph.is_output(*node) &&
        std::ranges::all_of(
            readers, [&](const auto& r) { return moves_to_pad(draft, r); });
    if (!moves) continue;
    std::vector<std::string> names;
    for (const auto& reader : readers) {
      draft.move_to_pad(*reader.node);
      names.push_back(graph.tensor_name(*reader.node));
    }
    draft.decide(
        *node,
        quantized_input(
            0, "P20",
            fmt::format("before the pad, which fuses with {}; from {}",
                        name_list(names),
                        graph.tensor_name(graph.source(node->inputs[0])))));
  }
}

}  // namespace octet::quant
