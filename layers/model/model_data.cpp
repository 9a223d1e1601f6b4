#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/detail/model_data.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/detail/shape_hint.h>
#include <octet/runtime/error.h>

namespace octet {

std::vector<std::string> input_names(const Model& model) {
  std::vector<std::string> names;
  for (const SymbolicTensor& input : model.inputs()) {
    names.push_back(input.node->layer->name());
  }
  return names;
}

namespace {

void check_count(std::string_view subject, const Model& model,
                 const std::vector<TensorSpec>& given) {
  if (given.size() == model.inputs().size()) return;
  throw ValueError(
      "count_mismatch", std::string(subject),
      fmt::format("model '{}' takes {} inputs ({}), the data has {}",
                  model.name(), model.inputs().size(),
                  fmt::join(input_names(model), ", "), given.size()));
}

/// Returns the position in the data of each of the model's inputs.
std::vector<size_t> places_of(std::string_view subject, const Model& model,
                              const std::vector<TensorSpec>& given) {
  std::vector<size_t> places(given.size());
  std::iota(places.begin(), places.end(), size_t{0});
  if (given.size() == 1 || given[0].name.empty()) return places;
  const std::vector<std::string> names = input_names(model);
  for (size_t i = 0; i < given.size(); ++i) {
    const auto at = std::ranges::find(names, given[i].name);
    if (at == names.end()) {
      throw ValueError(
          "unknown_name", std::string(subject),
          fmt::format("model '{}' has no input '{}'{}", model.name(),
                      given[i].name, suggest_names(given[i].name, names)));
    }
    places[static_cast<size_t>(at - names.begin())] = i;
  }
  return places;
}

void check_shape(std::string_view subject, const Model& model,
                 const SymbolicTensor& input, const TensorSpec& given,
                 int64_t samples) {
  const Shape& wanted = input.shape();
  const Shape sample = wanted.slice(1, wanted.rank());
  if (given.shape == sample) return;
  std::vector<int64_t> dims{samples};
  dims.insert(dims.end(), given.shape.dims().begin(), given.shape.dims().end());
  const bool several = model.inputs().size() > 1;
  throw ValueError(
      "shape_mismatch", std::string(subject),
      fmt::format(
          "{}model '{}' takes samples {}, the data has {}{}",
          several ? fmt::format("input '{}' of ", input.node->layer->name())
                  : "",
          model.name(), sample.to_string(), given.shape.to_string(),
          shape_hint(Shape(std::span<const int64_t>(dims)), wanted, "inputs")));
}

}  // namespace

Dataset data_for(std::string_view subject, const Model& model,
                 const Dataset& data) {
  if (data.size() < 1) {
    throw ValueError("missing_value", std::string(subject),
                     "the data has no samples");
  }
  const std::vector<TensorSpec> given = data.input_specs();
  check_count(subject, model, given);
  const std::vector<size_t> places = places_of(subject, model, given);
  for (size_t i = 0; i < places.size(); ++i) {
    check_shape(subject, model, model.inputs()[i], given[places[i]],
                data.size());
  }
  if (std::ranges::is_sorted(places)) return data;
  std::vector<size_t> labels(data.label_specs().size());
  std::iota(labels.begin(), labels.end(), size_t{0});
  return data.select(places, labels);
}

}  // namespace octet
