// octet plan: shows Q/DQ placement and its reasons.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/quant/patterns.h>
#include <octet/quant/quantize_model.h>
#include <octet/runtime/error.h>

#include "../common/program.h"
#include "commands.h"
#include "placement_options.h"
#include "read_model.h"
#include "silence.h"

namespace octet::program {
namespace {

constexpr const char* kPlanExamples = R"(
Output:
  A line per Q/DQ point: layer, site, configuration, rule, reason. The last line
  counts activation points A, weight points W, T = A + W, and the pairs S of the
  exported file, where consumers of a tensor share a pair. Conflicts between
  --spec, --case and the policy are warnings on standard error.

Example spec:
  {"spec": [{"name": "conv1", "quantize_weight": false},
            {"name": "conv2_block1_add", "quantization_index": [0]},
            {"name": "conv5_.*", "target": "pattern", "quantize_input": false,
             "quantize_weight": false},
            {"name": "MaxPooling2D", "target": "class"}]}

Examples:
  octet plan zoo:resnet50
  octet plan zoo:resnet50 --policy toolkit --case ResNetV1
  octet plan zoo:frodo --policy toolkit --strict --spec spec.json
  octet plan zoo:frodo --mode partial --spec spec.json --explain
  octet plan zoo:mobilenet_v2 --diff toolkit
  octet plan zoo:vit_tiny --policy patterns --explain
  octet plan zoo:merry --save plan.json
)";

struct PlanOptions {
  ModelSource model;
  PlacementOptions placement;
  std::optional<std::string> diff;  // policy or file
  std::optional<std::string> save;
  bool explain = false;
  bool json = false;
};

struct Placed {
  quant::Placement placement;
  /// The model of the plan, if pattern conversions created a new model.
  std::optional<Model> model = {};
  std::vector<quant::TransformReport::Converted> conversions = {};
};

Placed placed_by(std::string_view option, const std::string& policy,
                 const Model& model, const PlacementOptions& placement,
                 quant::QuantizeOptions options) {
  using quant::Policy;
  const std::optional<Policy> chosen = policy_of(option, policy);
  const std::vector<quant::LayerBits> bits = std::exchange(options.bits, {});
  if (chosen) {
    options.policy = *chosen;
    if (options.policy != Policy::toolkit) options.toolkit = {};
    Placed placed;
    if (*chosen == Policy::tflite) placed.model = quant::tflite_form(model);
    const Model& source = placed.model ? *placed.model : model;
    placed.placement = quant::place(source, options);
    placed.placement.plan = narrowed(placed.placement.plan, source, bits);
    return placed;
  }
  check_patterns_alone(option, policy, placement);
  quant::PatternPlacement placed = quant::place_by_patterns(
      model, patterns_of(policy, placement, model),
      pattern_config(policy, options), conversions_of(policy));
  placed.placement.plan = narrowed(placed.placement.plan, placed.model, bits);
  return {std::move(placed.placement), std::move(placed.model),
          std::move(placed.report.conversions)};
}

quant::QdqPlan other_plan(const std::string& what, const Model& model,
                          const PlacementOptions& placement,
                          const quant::QuantizeOptions& options) {
  if (what.ends_with(".json") || std::filesystem::exists(what)) {
    return io::load_plan(what);
  }
  const Silence silence;
  return placed_by("--diff", what, model, placement, options).placement.plan;
}

// Points with the same layer, site and quantizer are equal, even if
// placed by different rules.
std::string differences(quant::QdqPlan from, const quant::QdqPlan& to) {
  for (quant::QdqPoint& point : from.points) {
    for (const quant::QdqPoint& same : to.points) {
      if (same.layer == point.layer && same.site == point.site &&
          same.config == point.config && same.group == point.group) {
        point = same;
      }
    }
  }
  return quant::diff(from, to);
}

bool is_conflict(const quant::PlacementNote& note) {
  return note.kind == quant::PlacementNote::Kind::conflict;
}

std::string as_text(const quant::PlacementNote& note) {
  return fmt::format("# {}: {}, {} ({})\n", note.layer,
                     is_conflict(note) ? "conflict" : "skipped", note.text,
                     note.rule);
}

std::string explanation(const Placed& placed) {
  std::string text;
  for (const auto& converted : placed.conversions) {
    text += fmt::format("# {}: converted by {}\n", converted.layer,
                        converted.conversion);
  }
  for (const quant::PlacementNote& note : placed.placement.notes) {
    text += as_text(note);
  }
  return text;
}

std::string as_json(const std::string& name, const Placed& placed,
                    const quant::PairCount& pairs) {
  Config::List conversions;
  for (const auto& converted : placed.conversions) {
    conversions.push_back(Config()
                              .set("conversion", converted.conversion)
                              .set("layer", converted.layer));
  }
  Config::List notes;
  for (const quant::PlacementNote& note : placed.placement.notes) {
    notes.push_back(Config()
                        .set("kind", is_conflict(note) ? "conflict" : "skipped")
                        .set("layer", note.layer)
                        .set("rule", note.rule)
                        .set("text", note.text));
  }
  Config counts;
  counts.set("activations", pairs.activations)
      .set("weights", pairs.weights)
      .set("per_edge", pairs.per_edge())
      .set("shared", pairs.shared);
  Config document;
  document.set("model", name)
      .set("conversions", std::move(conversions))
      .set("points", to_config(placed.placement.plan).at("plan"))
      .set("notes", std::move(notes))
      .set("pairs", std::move(counts));
  return io::to_json(document) + "\n";
}

void warn_of(const Placed& placed, bool saved) {
  for (const quant::PlacementNote& note : placed.placement.notes) {
    if (is_conflict(note)) warn("conflicting_layers", note.layer, note.text);
  }
  if (saved && !placed.conversions.empty()) {
    warn("plan_converted", "--save",
         "the plan belongs to the converted model, not to the file");
  }
}

void plan(PlanOptions o) {
  choose_policy(o.placement);
  quant::QuantizeOptions options = quantize_options(o.placement);
  const Model model = read_model(o.model);
  add_widths(model, o.placement, options);
  const Placed placed =
      placed_by("--policy", o.placement.policy, model, o.placement, options);
  const quant::QdqPlan& plan = placed.placement.plan;
  const quant::PairCount pairs =
      count_pairs(plan, placed.model ? *placed.model : model);
  std::string text;
  if (o.json) {
    text = as_json(model.name(), placed, pairs);
  } else {
    text = o.diff ? differences(
                        other_plan(*o.diff, model, o.placement, options), plan)
                  : plan.to_string();
    if (o.explain) text += explanation(placed);
    text += pairs.to_string() + "\n";
  }
  if (o.save) io::save_plan(plan, *o.save);
  warn_of(placed, o.save.has_value());
  print(text);
}

}  // namespace

void add_plan(CommandLine& program) {
  const auto options = std::make_shared<PlanOptions>();
  PlanOptions& o = *options;
  Command command =
      program.add_command("plan", "Show where Q/DQ pairs are placed, and why");
  add_model(command, o.model, kModelHelp);
  add_placement_options(command, o.placement);
  command.begin_group("Output");
  command.add_flag(
      "--explain", o.explain,
      "also show conflicts and skipped layers, in lines that start with #");
  const Option diff =
      command
          .add("--diff", o.diff,
               "show only differences from another policy or a "
               "saved plan: - its points, + points of this plan")
          .type("POLICY|FILE.json");
  command.add_flag("--json", o.json, "print JSON").excludes(diff);
  command.add("--save", o.save, "write the plan to a file")
      .type("FILE.json")
      .writes({".json", ".plan"}, OtherNames::unknown);
  command.set_footer(kPlanExamples);
  command.when_chosen([options] { plan(*options); });
}

}  // namespace octet::program
