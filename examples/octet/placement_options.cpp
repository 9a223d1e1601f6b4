#include "placement_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/quant/patterns.h>
#include <octet/quant/quantize_model.h>
#include <octet/runtime/error.h>
#include <octet/train/qat_preset.h>

#include "choice.h"

namespace octet::program {
namespace {

bool allows_patterns(const PlacementOptions& o) {
  return !o.spec && o.cases.empty() && o.mode == "full";
}

/// Whether a convolution consumes a Concatenate, also behind other layers.
bool has_convolution_behind_concat(const Model& model) {
  std::unordered_set<const GraphNode*> behind;
  for (const auto& node : model.nodes()) {
    const Layer& layer = *node->layer;
    const bool follows = std::ranges::any_of(
        node->inputs,
        [&](const SymbolicTensor& x) { return behind.contains(x.node.get()); });
    if (follows && !layer.facts().convolutions.empty()) return true;
    if (layer.class_name() == "Concatenate" ||
        (follows && layer.facts().role != LayerRole::linear)) {
      behind.insert(node.get());
    }
  }
  return false;
}

/// Returns the policy for a model. OpenVINO moves the quantizer behind a Concat
/// into its branches unless their outputs have Q/DQ of their own.
std::string policy_for(const PlacementOptions& o, const Model& model) {
  const bool around_concat = o.by_default && o.uint8 && allows_patterns(o) &&
                             has_convolution_behind_concat(model);
  return around_concat ? "onnxruntime" : o.policy;
}

Model with_widths(const quant::QdqPlan& plan, const Model& model,
                  const std::vector<quant::LayerBits>& bits) {
  if (plan.points.empty()) {
    throw ValueError("unsupported_model", "--bits",
                     "the placement quantizes no layer");
  }
  return quant::apply(narrowed(plan, model, bits), model);
}

/// Throws: UnsupportedError for options that a format excludes.
void check_format(const PlacementOptions& o,
                  const std::optional<std::string>& target) {
  const Format format = format_of(o);
  const auto refuse = [](const char* option, std::string problem) {
    throw UnsupportedError("conflicting_options", option, std::move(problem));
  };
  if (o.block != 0 && format != Format::w4a16) {
    refuse("--block", "needs --format w4a16, got " + o.format);
  }
  if (format == Format::int8) return;
  if (!o.bits.empty()) {
    refuse("--bits", "cannot be combined with --format " + o.format);
  }
  const bool has_other_policy =
      format == Format::fp8 ? o.policy == "onnxruntime" || o.policy == "tflite"
                            : !o.policy.empty() && o.policy != "tensorrt";
  if (has_other_policy) {
    refuse("--policy", fmt::format("{} cannot be combined with --format {}",
                                   o.policy, o.format));
  }
  const std::vector<std::string_view> targets =
      format == Format::fp8
          ? std::vector<std::string_view>{"tensorrt10", "tensorrt11",
                                          "tensorrt_rtx"}
          : std::vector<std::string_view>{"tensorrt11", "tensorrt_rtx",
                                          "onnxruntime"};
  if (target && *target != "any" &&
      std::ranges::find(targets, *target) == targets.end()) {
    refuse("--format",
           fmt::format("{} is not supported by {}. Hint: --target "
                       "{}",
                       o.format, *target, fmt::join(targets, " or ")));
  }
}

}  // namespace

quant::QdqPlan narrowed(const quant::QdqPlan& plan, const Model& model,
                        const std::vector<quant::LayerBits>& bits) {
  if (bits.empty() || plan.points.empty()) return plan;
  return quant::with_bits(plan, model, quant::bits_of_quantized(bits, plan));
}

void add_placement_options(Command& command, PlacementOptions& o) {
  command.begin_group("Placement");
  command
      .add("--mode", o.mode,
           "full: all layers selected by the policy; partial: only layers of "
           "--spec and --case")
      .type("full|partial")
      .show_default();
  command
      .add("--spec", o.spec, "quantization settings per layer and layer class")
      .type("FILE.json");
  command
      .add("--case", o.cases,
           "insertion case: ResNetV1, ResNetV2, EfficientNet, MobileNet, "
           "Inception, Residual, BN, MaxPool")
      .type("NAME");
  command
      .add("--policy", o.policy,
           "placement policy: fusions of TensorRT, class defaults of NVIDIA's "
           "toolkit, patterns of Embedl Deploy, or integer operators of ONNX "
           "Runtime or TensorFlow Lite (default: tensorrt; onnxruntime with "
           "--target onnxruntime, and with --target openvino for a convolution "
           "behind a Concatenate; tflite for a .tflite file)")
      .type("tensorrt|toolkit|patterns|onnxruntime|tflite");
  command.add_flag(
      "--strict", o.strict,
      "with --policy toolkit: place as the toolkit does, without Octet's "
      "deliberate differences");
  command
      .add("--exclude", o.excluded,
           "keep layers in float: regular expression of full layer names")
      .type("RE");
  command
      .add("--bits", o.bits,
           "bit widths of weights and activations, 2 to 8; first and last "
           "layer keep 8. 8,16: int16 activations in a .tflite file")
      .type("W,A");
  command
      .add("--format", o.format,
           "number format: fp8 is E4M3, for TensorRT 10 and 11 on GPUs since "
           "Ada (SM 8.9); w4a16 is INT4 for the weights of Dense and "
           "attention layers, for TensorRT 11 and ONNX Runtime")
      .type("int8|fp8|w4a16")
      .show_default();
  command
      .add("--block", o.block, 2, 4096,
           "with --format w4a16: block size, the number of inputs per scale "
           "(default: 32; TensorRT fuses 16 to 128)")
      .type("N");
  command.add_flag(
      "--per-tensor-dense", o.per_tensor_dense,
      "one scale for the weights of a Dense layer, for runtimes of .tflite "
      "files whose FULLY_CONNECTED supports no scale per channel");
  command.add("--on-unknown", o.on_unknown, "handling of unknown layer names")
      .type("error|warn")
      .show_default();
}

void check_no_placement(const PlacementOptions& o, std::string_view hint) {
  const PlacementOptions none;
  const std::pair<bool, const char*> given[] = {
      {o.mode != none.mode, "--mode"},
      {!o.policy.empty(), "--policy"},
      {o.on_unknown != none.on_unknown, "--on-unknown"},
      {!o.cases.empty(), "--case"},
      {o.spec.has_value(), "--spec"},
      {o.strict, "--strict"},
      {!o.excluded.empty(), "--exclude"},
      {o.format != none.format, "--format"},
      {o.block != 0, "--block"},
      {o.per_tensor_dense, "--per-tensor-dense"},
      {!o.bits.empty(), "--bits"}};
  for (const auto& [is_given, option] : given) {
    if (!is_given) continue;
    throw UnsupportedError("conflicting_options", option, std::string(hint));
  }
}

void choose_policy(PlacementOptions& options,
                   const std::optional<std::string>& target) {
  options.uint8 = target == "openvino";
  check_format(options, target);
  if (!options.policy.empty()) return;
  options.by_default = true;
  // Formats other than int8 have no pairs of ONNX Runtime's operators.
  options.policy = target == "onnxruntime" && format_of(options) == Format::int8
                       ? "onnxruntime"
                       : "tensorrt";
}

Format format_of(const PlacementOptions& o) {
  return choice<Format, 3>("--format", o.format,
                           {{{"int8", Format::int8},
                             {"fp8", Format::fp8},
                             {"w4a16", Format::w4a16}}});
}

void check_reader(const PlacementOptions& options,
                  const std::optional<std::string>& target) {
  const bool known = target && io::takes_uint8(as_option("--target", [&] {
                       return io::target_named(*target);
                     }));
  if (options.policy != "onnxruntime" || known) return;
  throw ValueError("conflicting_options", "--policy",
                   fmt::format("onnxruntime needs --target onnxruntime or "
                               "openvino, which support uint8, got {}",
                               target ? *target : "none"));
}

quant::QuantizeOptions quantize_options(const PlacementOptions& o) {
  using quant::OnUnknown;
  using quant::QuantizationMode;
  quant::QuantizeOptions options;
  options.mode =
      choice<QuantizationMode, 2>("--mode", o.mode,
                                  {{{"full", QuantizationMode::full},
                                    {"partial", QuantizationMode::partial}}});
  options.on_unknown = choice<OnUnknown, 2>(
      "--on-unknown", o.on_unknown,
      {{{"error", OnUnknown::error}, {"warn", OnUnknown::warn}}});
  for (const std::string& name : o.cases) {
    options.cases.push_back(
        as_option("--case", [&] { return quant::insertion_case(name); }));
  }
  if (o.spec) options.spec = io::load_spec(*o.spec);
  for (const std::string& name : o.excluded) {
    options.spec.add(
        name,
        {.is_regex = true, .quantize_input = false, .quantize_weight = false});
  }
  if (o.strict && o.policy != "toolkit") {
    throw UnsupportedError(
        "conflicting_options", "--strict",
        fmt::format("needs --policy toolkit, got {}", o.policy));
  }
  options.toolkit.strict = o.strict;
  if (o.per_tensor_dense && o.policy != "tflite") {
    throw UnsupportedError("conflicting_options", "--per-tensor-dense",
                           "needs a .tflite output file or --policy tflite");
  }
  options.tflite.per_channel_dense = !o.per_tensor_dense;
  options.activation.is_signed = !o.uint8;
  options.activation.asymmetric = o.uint8;
  switch (format_of(o)) {
    case Format::int8:
      break;
    case Format::fp8:
      options.activation = quant::activation_quantizer(NumberFormat::fp8_e4m3);
      options.weight = quant::weight_quantizer(NumberFormat::fp8_e4m3);
      break;
    case Format::w4a16:
      options.weights_only = true;
      options.weight = quant::int4_weight_quantizer(o.block > 0 ? o.block : 32);
      options.weight.rule = quant::ScaleRule::fixed;
      break;
  }
  return options;
}

std::optional<quant::Policy> policy_of(std::string_view option,
                                       const std::string& policy) {
  using quant::Policy;
  return choice<std::optional<Policy>, 5>(option, policy,
                                          {{{"tensorrt", Policy::tensorrt},
                                            {"toolkit", Policy::toolkit},
                                            {"tflite", Policy::tflite},
                                            {"patterns", std::nullopt},
                                            {"onnxruntime", std::nullopt}}});
}

std::vector<quant::Pattern> patterns_of(const std::string& policy,
                                        const PlacementOptions& o,
                                        const Model& model) {
  std::vector<quant::Pattern> patterns = policy == "onnxruntime"
                                             ? quant::onnxruntime_patterns()
                                             : quant::tensorrt_patterns();
  if (policy == "onnxruntime" && o.uint8) {
    // OpenVINO has an integer kernel, ONNX Runtime has none.
    patterns.push_back(
        {.name = "ConvTranspose",
         .steps = {{.classes = {"Conv2DTranspose"}}},
         .qdq_points = {quant::PatternPoint::input,
                        quant::PatternPoint::output},
         .rationale = "runs in integers if its input has zero point 0"});
  }
  if (o.excluded.empty()) return patterns;
  quant::QuantizationSpec excluded;
  for (const std::string& name : o.excluded) {
    quant::QuantizationSpec one;
    one.add(name, {.is_regex = true});
    const bool found = std::ranges::any_of(
        model.layers(), [&](const std::shared_ptr<const Layer>& layer) {
          return one.find(layer->name(), "") != nullptr;
        });
    if (!found) {
      throw NotFoundError("unknown_name", "--exclude",
                          fmt::format("no layer name matches '{}'", name));
    }
    excluded.add(name, {.is_regex = true});
  }
  for (quant::Pattern& pattern : patterns) {
    for (quant::PatternStep& step : pattern.steps) {
      const quant::Condition before = step.skip_if;
      step.skip_if = {
          before.text.empty() ? "--exclude" : before.text + ", or --exclude",
          [excluded, before](const quant::PatternLayer& layer) {
            return excluded.find(layer.node.layer->name(), "") != nullptr ||
                   (before.holds && before.holds(layer));
          }};
    }
  }
  return patterns;
}

std::vector<quant::Conversion> conversions_of(const std::string& policy) {
  return policy == "onnxruntime" ? quant::onnxruntime_conversions()
                                 : quant::tensorrt_conversions();
}

quant::InsertQdqOptions pattern_config(const std::string& policy,
                                       const quant::QuantizeOptions& options) {
  quant::InsertQdqOptions config{.activation = options.activation,
                                 .weight = options.weight};
  if (policy == "onnxruntime") {
    config.activation.is_signed = false;
    config.activation.asymmetric = true;
  }
  return config;
}

void check_patterns_alone(std::string_view option, const std::string& policy,
                          const PlacementOptions& o) {
  if (allows_patterns(o)) return;
  throw UnsupportedError(
      "conflicting_options", option,
      fmt::format("{} cannot be combined with --spec, --case or --mode partial",
                  policy));
}

void add_widths(const Model& model, const PlacementOptions& o,
                quant::QuantizeOptions& options) {
  if (o.bits.empty()) return;
  int weight = 0, activation = 0;
  const char* const end = o.bits.data() + o.bits.size();
  const auto first = std::from_chars(o.bits.data(), end, weight);
  const bool comma = first.ptr != end && *first.ptr == ',';
  const auto second =
      std::from_chars(comma ? first.ptr + 1 : end, end, activation);
  const auto fits = [](int bits) { return bits >= 2 && bits <= 8; };
  if (o.int16()) {
    if (o.policy != "tflite") {
      throw UnsupportedError(
          "conflicting_options", "--bits",
          "8,16 needs a .tflite output file or --policy tflite");
    }
    options.activation.bits = 16;
    return;
  }
  if (!comma || second.ptr != end || !fits(weight) || !fits(activation)) {
    throw ValueError(
        "invalid_value", "--bits",
        fmt::format("must be two bit widths from 2 to 8, such as 4,8, or 8,16, "
                    "got '{}'",
                    o.bits));
  }
  options.bits = train::inner_bits(model, weight, activation);
  // At low bit widths, scales come from calibration, which sees the outliers.
  if (weight < 8) options.weight.rule = quant::ScaleRule::fixed;
}

Model quantized(const Model& model, const PlacementOptions& o,
                const Adjust& adjust) {
  const auto adjusted = [&](const Model& placed,
                            quant::QuantizeOptions options) {
    add_widths(placed, o, options);
    return adjust ? adjust(placed, std::move(options)) : options;
  };
  quant::QuantizeOptions options = quantize_options(o);
  const std::string name = policy_for(o, model);
  const std::optional<quant::Policy> policy = policy_of("--policy", name);
  if (policy) {
    options.policy = *policy;
    std::optional<Model> form;
    if (*policy == quant::Policy::tflite) form = quant::tflite_form(model);
    const Model& source = form ? *form : model;
    options = adjusted(source, std::move(options));
    const std::vector<quant::LayerBits> bits = std::exchange(options.bits, {});
    if (bits.empty()) return quant::quantize_model(source, options);
    return with_widths(quant::place(source, options).plan, source, bits);
  }
  check_patterns_alone("--policy", name, o);
  const quant::TransformResult found = quant::transform(
      model, patterns_of(name, o, model), conversions_of(name));
  options = adjusted(found.model, std::move(options));
  const quant::InsertQdqOptions config = pattern_config(name, options);
  if (options.bits.empty()) {
    return quant::insert_qdq(found.model, found.matches, config);
  }
  return with_widths(quant::plan_of_matches(found.model, found.matches, config),
                     found.model, options.bits);
}

}  // namespace octet::program
