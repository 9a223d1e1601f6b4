// Resolves names to indices and sorts calls.
#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "keras/graph.h"
#include "keras/layer_sequence.h"
#include "keras/names.h"
#include "keras/operation.h"
#include "printable.h"

namespace octet::io {
namespace {

// Limit of the calls of a model including nested ones, which bounds memory and
// time; far above any network.
constexpr int64_t kMostCalls = 100'000;

// Number of calls of a layer; an InputLayer is called once, by the model.
int64_t calls_of(const KerasLayer& layer) {
  return layer.is_input() ? 1 : static_cast<int64_t>(layer.calls.size());
}

template <class Visit>
void for_each_argument(KerasGraph& graph, Visit visit) {
  for (KerasLayer& layer : graph.layers) {
    for (KerasCall& call : layer.calls) {
      for (KerasArgument& argument : call) {
        if (argument.tensor) visit(layer, *argument.tensor);
      }
    }
  }
}

// Some Keras versions count the creation of a nested model as its call 0: Keras
// 2 always, Keras 3 in output_layers unless the model is Sequential. Other uses
// in the list decide first.
// Sources: get_config and functional_from_config in keras/engine/functional.py
// of Keras 2 and keras/src/models/functional.py of Keras 3.
struct Uses {
  int64_t least = INT64_MAX;
  int64_t most = -1;

  void add(const KerasTensor& tensor) {
    least = std::min(least, tensor.call);
    most = std::max(most, tensor.call);
  }
  int64_t first_call(int64_t calls, bool usually_one) const {
    if (most < 0 || least <= 0) return 0;
    if (most >= calls) return 1;
    return usually_one ? 1 : 0;
  }
};

class Resolver {
 public:
  explicit Resolver(KerasGraph& graph) : graph_(graph) {
    for (size_t i = 0; i < graph.layers.size(); ++i) {
      names_.push_back(graph.layers[i].name);
      if (!index_.emplace(graph.layers[i].name, i).second) {
        throw FormatError(
            "duplicate_name", "layers",
            fmt::format("name '{}' is used twice", printable(names_.back())));
      }
    }
  }

  void run() {
    for_each_argument(graph_, [&](const KerasLayer& layer, KerasTensor& t) {
      find(t, "the input of " + text_of(layer));
    });
    for (KerasTensor& t : graph_.inputs) find(t, "input_layers");
    for (KerasTensor& t : graph_.outputs) find(t, "output_layers");
    count_nested_calls_from_zero();
    for_each_argument(graph_, [&](const KerasLayer& layer, KerasTensor& t) {
      check(t, "the input of " + text_of(layer));
    });
    for (const KerasTensor& t : graph_.inputs) {
      check(t, "input_layers");
      if (!graph_.layers[t.index].is_input()) {
        throw FormatError("invalid_graph", "input_layers",
                          fmt::format("must be InputLayers, got {}",
                                      text_of(graph_.layers[t.index])));
      }
    }
    for (const KerasTensor& t : graph_.outputs) check(t, "output_layers");
    count_calls();
    sort();
  }

 private:
  void find(KerasTensor& tensor, const std::string& where) const {
    const auto found = index_.find(tensor.layer);
    if (found == index_.end()) {
      throw FormatError(
          "unknown_name", where,
          fmt::format("the model has no layer '{}'{}", tensor.layer,
                      suggestions(tensor.layer, names_)));
    }
    tensor.index = found->second;
  }

  void count_nested_calls_from_zero() {
    std::vector<Uses> called(graph_.layers.size());
    std::vector<Uses> given(graph_.layers.size());
    for_each_argument(graph_, [&](const KerasLayer&, KerasTensor& t) {
      called[t.index].add(t);
    });
    for (const KerasTensor& t : graph_.outputs) given[t.index].add(t);
    const auto shift = [&](KerasTensor& t, const std::vector<Uses>& uses,
                           bool in_outputs) {
      const KerasLayer& layer = graph_.layers[t.index];
      if (layer.graph == nullptr) return;
      const bool usually_one =
          !graph_.new_form || (in_outputs && !layer.graph->sequential);
      t.call -= uses[t.index].first_call(calls_of(layer), usually_one);
    };
    for_each_argument(graph_, [&](const KerasLayer&, KerasTensor& t) {
      shift(t, called, false);
    });
    for (KerasTensor& t : graph_.outputs) shift(t, given, true);
  }

  void check(const KerasTensor& tensor, const std::string& where) const {
    const KerasLayer& layer = graph_.layers[tensor.index];
    const int64_t calls = calls_of(layer);
    if (tensor.call < 0 || tensor.call >= calls) {
      throw FormatError("out_of_range", where,
                        fmt::format("call of {} must be in [0,{}), got {}",
                                    text_of(layer), calls, tensor.call));
    }
    const int64_t outputs =
        layer.graph ? static_cast<int64_t>(layer.graph->outputs.size())
                    : outputs_of(layer);
    if (tensor.output >= outputs && layer.inner != nullptr &&
        layer.inner->config.is_object() &&
        option(layer.inner->config, "return_state") == Config(true)) {
      throw UnsupportedError("unsupported_attribute", "return_state",
                             fmt::format("must be false: {} is a state "
                                         "of {}",
                                         where, text_of(layer)));
    }
    if (tensor.output < 0 || tensor.output >= outputs) {
      throw FormatError("out_of_range", where,
                        fmt::format("output of {} must be in [0,{}), got {}",
                                    text_of(layer), outputs, tensor.output));
    }
  }

  void count_calls() {
    for (const KerasLayer& layer : graph_.layers) {
      const int64_t each = layer.graph ? layer.graph->total_calls : 1;
      int64_t calls = 0;
      if (__builtin_mul_overflow(each, calls_of(layer), &calls) ||
          __builtin_add_overflow(graph_.total_calls, calls,
                                 &graph_.total_calls) ||
          graph_.total_calls > kMostCalls) {
        throw FormatError(
            "size_limit", "layers",
            fmt::format("more than {} calls, including nested models",
                        kMostCalls));
      }
    }
  }

  // Topological sort; among ready calls, the first in the file.
  void sort() {
    using Call = std::pair<size_t, size_t>;
    std::vector<size_t> first(graph_.layers.size());  // call 0 in a flat list
    std::vector<Call> calls;
    for (size_t i = 0; i < graph_.layers.size(); ++i) {
      first[i] = calls.size();
      for (int64_t k = 0; k < calls_of(graph_.layers[i]); ++k) {
        calls.emplace_back(i, static_cast<size_t>(k));
      }
    }
    std::vector<std::vector<size_t>> consumers(calls.size());
    std::vector<size_t> missing(calls.size());
    for (size_t c = 0; c < calls.size(); ++c) {
      const KerasLayer& layer = graph_.layers[calls[c].first];
      if (layer.is_input()) continue;
      for (const KerasArgument& argument : layer.calls[calls[c].second]) {
        if (!argument.tensor) continue;
        consumers[first[argument.tensor->index] +
                  static_cast<size_t>(argument.tensor->call)]
            .push_back(c);
        ++missing[c];
      }
    }
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t c = 0; c < calls.size(); ++c) {
      if (missing[c] == 0) ready.push(c);
    }
    while (!ready.empty()) {
      const size_t c = ready.top();
      ready.pop();
      graph_.order.push_back(calls[c]);
      for (const size_t consumer : consumers[c]) {
        if (--missing[consumer] == 0) ready.push(consumer);
      }
    }
    if (graph_.order.size() == calls.size()) return;
    // Each waiting call depends on a waiting call: following them finds a
    // cycle.
    size_t c = 0;
    while (missing[c] == 0) ++c;
    for (size_t steps = 0; steps < calls.size(); ++steps) {
      for (const KerasArgument& argument :
           graph_.layers[calls[c].first].calls[calls[c].second]) {
        if (!argument.tensor) continue;
        const size_t needed = first[argument.tensor->index] +
                              static_cast<size_t>(argument.tensor->call);
        if (missing[needed] == 0) continue;
        c = needed;
        break;
      }
    }
    throw FormatError(
        "invalid_graph",
        fmt::format("the input of {}", text_of(graph_.layers[calls[c].first])),
        "depends on its output: the graph has a cycle");
  }

  KerasGraph& graph_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace

void resolve(KerasGraph& graph) { Resolver(graph).run(); }

}  // namespace octet::io
