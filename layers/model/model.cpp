#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/model.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/detail/shape_hint.h>
#include <octet/runtime/detail/thread_modes.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/system.h>

#include "base/names.h"
#include "base/shapes_text.h"
#include "model/input.h"
#include "model/program_cache.h"

namespace octet {
namespace {

void check_fits(const Shape& x, const Shape& input, const std::string& name) {
  bool fits = x.rank() == input.rank() && (x[0] >= 1 || x == input);
  for (int axis = 1; fits && axis < input.rank(); ++axis) {
    fits = x[axis] == input[axis];
  }
  if (!fits) {
    throw ShapeError("shape_mismatch", fmt::format("input '{}'", name),
                     fmt::format("must be {}, got {}{}", input.to_string(),
                                 x.to_string(), shape_hint(x, input)));
  }
}

void check_is_f32(const Tensor& x, const std::string& name) {
  if (x.dtype() == DType::f32) return;
  throw ValueError(
      "dtype_mismatch", fmt::format("input '{}'", name),
      fmt::format(
          "must be f32, got {}. Hint: Dataset(inputs, labels, scale) converts "
          "u8 images to f32",
          to_string(x.dtype())));
}

// For OCTET_CHECK_NAN: outputs that are not finite then come from the op.
void check_input(const Tensor& x, const std::string& name) {
  if (checks_nan()) check_finite(x, fmt::format("input '{}'", name));
}
void check_parameters(const Layer& layer) {
  for (const Parameter& p : layer.parameters()) {
    check_finite(p.variable.value(),
                 fmt::format("{} of layer '{}'", p.name, layer.name()));
  }
}

}  // namespace

void expect_fits(const Tensor& x, const Shape& input, const std::string& name) {
  if (x.empty()) {
    throw ValueError("missing_value", fmt::format("input '{}'", name),
                     "no tensor given");
  }
  check_fits(x.shape(), input, name);
  check_is_f32(x, name);
  check_input(x, name);
}

Model::Model(const SymbolicTensor& input, const SymbolicTensor& output,
             const ModelOptions& options)
    : Model(std::vector{input}, std::vector{output}, options) {}

Model::Model(std::vector<SymbolicTensor> inputs,
             std::vector<SymbolicTensor> outputs, const ModelOptions& options)
    : options_(options),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      programs_(std::make_shared<ProgramCache>()) {
  with_context([&] { return fmt::format("in model '{}'", options_.name); },
               [&] {
                 collect();
                 name_layers();
               });
  const Rng rng(options_.seed);
  parallel_for(static_cast<int64_t>(layers_.size()), [&](int64_t i) {
    layers_[static_cast<size_t>(i)]->initialize_once(rng);
  });
}

void Model::collect() {
  if (inputs_.empty() || outputs_.empty()) {
    throw ValueError("missing_value", "model",
                     "needs at least one input and one output");
  }
  // All nodes that the outputs depend on. Ids increase along edges, so sorting
  // by id is a topological order.
  std::unordered_set<const GraphNode*> seen;
  std::vector<SymbolicTensor> stack(outputs_.begin(), outputs_.end());
  std::unordered_set<const GraphNode*> given;
  for (const SymbolicTensor& input : inputs_) {
    (void)input.shape();  // throws for an empty tensor
    if (!is_input(*input.node->layer)) {
      throw ValueError(
          "invalid_value", "model",
          fmt::format(
              "an input is the output of a {} layer. Hint: create inputs with "
              "input()",
              input.node->layer->class_name()));
    }
    if (!given.insert(input.node.get()).second) {
      throw ValueError(
          "duplicate_name", "model",
          fmt::format("input '{}' is given twice", input.node->layer->name()));
    }
    stack.push_back(input);
  }
  while (!stack.empty()) {
    const SymbolicTensor next = stack.back();
    stack.pop_back();
    (void)next.shape();
    if (!seen.insert(next.node.get()).second) continue;
    nodes_.push_back(next.node);
    for (const SymbolicTensor& input : next.node->inputs) {
      stack.push_back(input);
    }
  }
  std::ranges::sort(nodes_, {}, [](const auto& node) { return node->id; });

  std::unordered_map<const GraphNode*, size_t> slot;
  std::unordered_set<const Layer*> known;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const GraphNode& node = *nodes_[i];
    slot[&node] = i;
    if (known.insert(node.layer.get()).second) {
      // call() received a non-const layer; graphs share it as const.
      layers_.push_back(std::const_pointer_cast<Layer>(node.layer));
    }
    if (is_input(*node.layer)) {
      if (!given.contains(&node)) {
        throw ValueError(
            "missing_value", "model",
            fmt::format("the outputs depend on the input {} '{}', which is not "
                        "among the "
                        "model's inputs",
                        node.shape.to_string(), node.layer->name()));
      }
      continue;
    }
    NodeCall step{i, {}};
    for (const SymbolicTensor& input : node.inputs) {
      step.inputs.push_back(slot.at(input.node.get()));
    }
    steps_.push_back(std::move(step));
  }
  for (const auto& input : inputs_) {
    input_slots_.push_back(slot.at(input.node.get()));
  }
  for (const auto& output : outputs_) {
    output_slots_.push_back(slot.at(output.node.get()));
  }
}

void Model::name_layers() {
  std::set<std::string> taken;
  for (const auto& layer : layers_) {
    if (layer->name().empty()) continue;
    if (!taken.insert(layer->name()).second) {
      throw ValueError(
          "duplicate_name", "model",
          fmt::format(
              "two layers are named '{}'. Hint: layers of a nested model are "
              "prefixed with the name of their model",
              layer->name()));
    }
  }
  std::map<std::string, int> count;
  for (const auto& layer : layers_) {
    if (!layer->name().empty()) continue;
    const std::string base = snake_case(layer->class_name());
    std::string name;
    do {
      const int k = count[base]++;
      name = k == 0 ? base : fmt::format("{}_{}", base, k);
    } while (!taken.insert(name).second);
    layer->set_name(name);
  }
}

std::vector<Variable> Model::run(std::span<const Variable> inputs,
                                 ForwardContext context, const Rng* pass,
                                 const Observer& observer) const {
  expect_inputs(inputs.size());
  std::optional<Rng> stream;
  std::vector<Variable> values(nodes_.size());
  // A value is released after its last consumer, so that its memory is reused.
  std::vector<size_t> consumers(nodes_.size());
  for (const NodeCall& step : steps_) {
    for (const size_t input : step.inputs) ++consumers[input];
  }
  for (const size_t slot : output_slots_) ++consumers[slot];
  for (size_t i = 0; i < inputs.size(); ++i) {
    const GraphNode& node = *inputs_[i].node;
    check_fits(inputs[i].shape(), node.shape, node.layer->name());
    if (inputs[i].is_leaf()) {
      check_is_f32(inputs[i].value(), node.layer->name());
      check_input(inputs[i].value(), node.layer->name());
    }
    values[input_slots_[i]] = inputs[i];
    if (observer) observer(node, inputs[i]);
  }
  std::vector<Variable> arguments;
  for (const NodeCall& step : steps_) {
    const GraphNode& node = *nodes_[step.node];
    for (const size_t input : step.inputs) arguments.push_back(values[input]);
    if (pass != nullptr) {
      context.rng = &stream.emplace(pass->child(uint64_t{step.node}));
    }
    values[step.node] = with_context(
        [&] {
          return fmt::format("{}, input {}", node.layer->describe(),
                             shapes_text(arguments));
        },
        [&] {
          const LayerScope scope(node.layer->name());
          if (checks_nan()) check_parameters(*node.layer);
          return node.layer->forward(context, arguments);
        });
    if (observer) observer(node, values[step.node]);
    arguments.clear();
    for (const size_t input : step.inputs) {
      if (--consumers[input] == 0) values[input] = {};
    }
  }
  std::vector<Variable> outputs;
  for (const size_t slot : output_slots_) outputs.push_back(values[slot]);
  return outputs;
}

void Model::expect_inputs(size_t count) const {
  if (count == inputs_.size()) return;
  throw ValueError(
      "count_mismatch", fmt::format("model '{}'", name()),
      fmt::format("takes {} inputs, got {}", inputs_.size(), count));
}

void Model::expect_one_output() const {
  if (outputs_.size() == 1) return;
  throw ValueError(
      "count_mismatch", fmt::format("model '{}'", name()),
      fmt::format(
          "has {} outputs. Hint: call it with a vector of inputs to get all",
          outputs_.size()));
}

std::vector<Variable> Model::run(std::span<const Variable> inputs,
                                 const Observer& observer) const {
  return run(inputs, {}, nullptr, observer);
}

std::vector<Variable> Model::operator()(
    std::span<const Variable> inputs) const {
  return run(inputs, {});
}

Variable Model::operator()(const Variable& x) const {
  expect_one_output();
  return (*this)(std::span(&x, 1))[0];
}

std::vector<Variable> Model::operator()(std::span<const Tensor> inputs) const {
  return (*this)(std::vector<Variable>(inputs.begin(), inputs.end()));
}

std::vector<Variable> Model::operator()(std::span<const Tensor> inputs,
                                        Mode mode) {
  return (*this)(std::vector<Variable>(inputs.begin(), inputs.end()), mode);
}

std::vector<Variable> Model::operator()(std::span<const Variable> inputs,
                                        Mode mode) {
  if (mode == Mode::inference) return run(inputs, {});
  expect_inputs(inputs.size());
  expect_fitted_model();
  programs_->clear();
  // A list per pass, since shards of a batch may alternate.
  std::vector<Variable> losses;
  const Rng pass = Rng(options_.seed).child("pass").child(training_.passes++);
  std::vector<Variable> outputs = run(
      inputs, {.training = true, .regularization_losses = &losses}, &pass, {});
  training_.regularization_losses = std::move(losses);
  return outputs;
}

// Only the model that is split into shards has separate training state per
// shard.
void Model::expect_fitted_model() const {
  const void* fitted = thread_modes().model_in_shards;
  if (fitted == nullptr || fitted == this) return;
  throw UnsupportedError("invalid_state", fmt::format("model '{}'", name()),
                         "cannot run a training pass while another model "
                         "trains in shards. Hint: nest it in the graph, "
                         "model(tensor), or run it in inference mode");
}

Variable Model::operator()(const Variable& x, Mode mode) {
  expect_one_output();
  return (*this)(std::span(&x, 1), mode)[0];
}

SymbolicTensor Model::operator()(const SymbolicTensor& x) {
  expect_one_output();
  return (*this)(std::vector{x})[0];
}

std::vector<SymbolicTensor> Model::operator()(
    const std::vector<SymbolicTensor>& inputs) {
  expect_inputs(inputs.size());
  std::vector<SymbolicTensor> values(nodes_.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const GraphNode& node = *inputs_[i].node;
    check_fits(inputs[i].shape(), node.shape, node.layer->name());
    values[input_slots_[i]] = inputs[i];
  }
  CloneContext context;
  for (const NodeCall& step : steps_) {
    const Layer& own = *nodes_[step.node]->layer;
    std::vector<SymbolicTensor> arguments;
    for (const size_t input : step.inputs) arguments.push_back(values[input]);
    std::shared_ptr<Layer>& layer = nested_[&own];
    const bool first = layer == nullptr;
    if (first) {
      layer = own.clone(context);
      layer->set_name(name() + "/" + own.name());
    }
    values[step.node] = call_masked(layer, std::move(arguments));
    if (first) layer->share_parameters(own);
  }
  std::vector<SymbolicTensor> outputs;
  for (const size_t slot : output_slots_) outputs.push_back(values[slot]);
  return outputs;
}

Layer& Model::layer(std::string_view wanted) & { return *find(wanted); }

const Layer& Model::layer(std::string_view wanted) const& {
  return *find(wanted);
}

const std::shared_ptr<Layer>& Model::find(std::string_view wanted) const {
  for (const auto& layer : layers_) {
    if (layer->name() == wanted) return layer;
  }
  std::vector<std::string> names;
  for (const auto& layer : layers_) names.push_back(layer->name());
  throw NotFoundError(
      "unknown_name", fmt::format("model '{}'", name()),
      fmt::format("no layer '{}'{}", wanted, suggest_names(wanted, names)));
}

const Layer& Model::layer_or_alias(std::string_view wanted) const {
  const auto named = [&](std::string_view name) {
    return std::ranges::find_if(layers_, [&](const auto& layer) {
      return layer->name() == name || layer->original_name() == name;
    });
  };
  const auto alias = options_.aliases.find(std::string(wanted));
  if (alias != options_.aliases.end() && named(wanted) == layers_.end()) {
    const auto found = named(alias->second);
    if (found != layers_.end()) return **found;
  }
  return layer(wanted);
}

SymbolicTensor Model::output(std::string_view wanted) const {
  const Layer& layer = layer_or_alias(wanted);
  std::shared_ptr<const GraphNode> found;
  for (const auto& node : nodes_) {
    if (node->layer.get() != &layer) continue;
    if (found != nullptr) {
      throw ValueError(
          "invalid_value", fmt::format("model '{}'", name()),
          fmt::format(
              "layer '{}' is called several times and has no single output",
              wanted));
    }
    found = node;
  }
  return {std::move(found)};
}

}  // namespace octet
