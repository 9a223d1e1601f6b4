// Parameters of a model: selection, training switches and regularization.
#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/model.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/names.h"

namespace octet {

void Model::set_trainable(bool trainable) {
  for (const auto& layer : layers_) layer->set_trainable(trainable);
}

int64_t Model::set_trainable(std::string_view pattern, bool trainable) {
  int64_t count = 0;
  std::vector<std::string> names;
  for (const auto& layer : layers_) {
    names.push_back(layer->name());
    if (!fits_pattern(layer->name(), pattern) &&
        !fits_pattern(layer->original_name(), pattern)) {
      continue;
    }
    layer->set_trainable(trainable);
    if (!layer->parameters().empty()) ++count;
  }
  if (count == 0) {
    throw NotFoundError("unknown_name", fmt::format("model '{}'", name()),
                        fmt::format("no layer with parameters matches '{}'{}",
                                    pattern, suggest_names(pattern, names)));
  }
  return count;
}

std::vector<Parameter> Model::parameters() const {
  std::vector<Parameter> result;
  std::unordered_set<uint64_t> known;
  for (const auto& layer : layers_) {
    for (const Parameter& p : layer->parameters()) {
      if (known.insert(p.variable.id()).second) result.push_back(p);
    }
  }
  return result;
}

std::vector<Variable> Model::trainable_variables() const {
  std::vector<Variable> found;
  for (const Parameter& p : parameters()) {
    if (p.trainable && p.variable.requires_grad()) found.push_back(p.variable);
  }
  std::unordered_set<uint64_t> known;
  for (const auto& layer : layers_) {
    for (const Parameter& p : layer->scale_parameters()) {
      if (p.trainable && p.variable.requires_grad() &&
          known.insert(p.variable.id()).second) {
        found.push_back(p.variable);
      }
    }
  }
  return found;
}

int64_t Model::parameter_count() const {
  int64_t count = 0;
  for (const Parameter& p : parameters()) count += p.variable.shape().size();
  return count;
}

std::vector<Parameter> Model::regularized_parameters() const {
  std::vector<Parameter> all = parameters();
  for (const auto& layer : layers_) {
    std::ranges::copy(layer->scale_parameters(), std::back_inserter(all));
  }
  std::unordered_set<uint64_t> known;
  std::erase_if(all, [&](const Parameter& p) {
    return p.regularizer.none() || !p.variable.requires_grad() ||
           !known.insert(p.variable.id()).second;
  });
  return all;
}

Variable Model::regularization_loss() const {
  Variable sum;
  const auto include = [&](const Variable& part) {
    sum = sum ? add(sum, part) : part;
  };
  for (const Parameter& p : regularized_parameters()) {
    include(octet::regularization_loss(p.variable, p.regularizer.l1,
                                       p.regularizer.l2));
  }
  for (const Variable& part : training_.regularization_losses) include(part);
  return sum;
}

}  // namespace octet
