// The .weights.h5 format of Keras 3, also in .keras archives.
// Source: keras/src/saving/saving_lib.py, _save_state and
// _save_container_state.
#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "file_errors.h"
#include "keras/names.h"
#include "keras/stored.h"
#include "printable.h"

namespace octet::io {
namespace {

// Groups of a model's layers; tf.keras 2.12 and 2.13 have the second name.
constexpr const char* kContainers[] = {"layers",
                                       "_layer_checkpoint_dependencies"};

std::string joined(const std::string& group, const std::string& name) {
  return group.empty() ? name : group + "/" + name;
}

class Matcher {
 public:
  Matcher(const Hdf5Reader& file, const KerasOptions& options)
      : file_(file), options_(options) {}

  void container(std::vector<TargetLayer>& layers, const std::string& model) {
    const std::string group = container_of(model);
    if (group.empty()) {
      if (std::ranges::none_of(layers, has_weights)) return;
      throw FormatError(
          "malformed_file", "weights",
          fmt::format("no group '{}'", joined(model, kContainers[0])));
    }
    const std::vector<std::string> children = file_.children(group);
    const Names names = options_.match == KerasMatch::by_name
                            ? named(children, group)
                            : Names();
    if (!names.empty()) {
      std::vector<std::string> there;
      for (const auto& [name, child] : names) there.push_back(name);
      regroup(layers, there);
    }
    std::unordered_map<std::string, int64_t> count_of;
    std::set<std::string> left(children.begin(), children.end());
    for (TargetLayer& layer : layers) {
      const std::string snake = keras_snake_case(layer.class_name);
      const int64_t number = count_of[snake]++;
      std::string child =
          number == 0 ? snake : fmt::format("{}_{}", snake, number);
      if (!names.empty()) {
        const auto found = names.find(layer.name);
        child = found == names.end() ? "" : found->second;
      }
      const bool there = left.erase(child) > 0;
      if (!has_weights(layer)) continue;
      if (there) {
        in_file([&] { return "in the weights of " + text(layer); },
                [&] { one(layer, group + "/" + child); });
      } else if (names.empty()) {
        throw FormatError("malformed_file",
                          fmt::format("weights of {}", text(layer)),
                          fmt::format("no group '{}/{}'", group, child));
      } else if (!options_.partial) {
        throw FormatError(
            "unknown_name", fmt::format("weights of {}", text(layer)),
            fmt::format(
                "no layer of that name in '{}'. Hint: KerasOptions.match = "
                "KerasMatch::by_order matches by order",
                group));
      }
    }
    for (const std::string& child : left) expect_empty(group + "/" + child);
  }

  std::vector<Assignment> take() { return std::move(assignments_); }

 private:
  // Groups by layer names.
  using Names = std::unordered_map<std::string, std::string>;

  static std::string text(const TargetLayer& layer) {
    return fmt::format("layer '{}' ({})", printable(layer.name),
                       printable(layer.class_name));
  }

  std::string container_of(const std::string& model) const {
    for (const char* name : kContainers) {
      if (is_group(joined(model, name))) return joined(model, name);
    }
    return "";
  }

  bool is_group(const std::string& path) const {
    return file_.kind(path) == Hdf5Kind::group;
  }

  // Returns the groups by layer names, if all have one: Keras stores names
  // since 3.13.
  Names named(const std::vector<std::string>& children,
              const std::string& group) const {
    Names result;
    for (const std::string& child : children) {
      const std::string vars = group + "/" + child + "/vars";
      if (!is_group(vars)) return {};
      const auto name = file_.attribute(vars, "name");
      if (!name || !name->is_string()) return {};
      if (!result.emplace(name->as_string(), child).second) return {};
    }
    return result;
  }

  size_t count(const std::string& group) const {
    const std::string vars = group + "/vars";
    return is_group(vars) ? file_.children(vars).size() : 0;
  }

  void one(TargetLayer& layer, const std::string& layer_group) {
    // The weights of a recurrent layer are those of its cell.
    const std::string cell = layer_group + "/cell";
    const std::string& group =
        !layer.weights.empty() && is_group(cell) ? cell : layer_group;
    // Statistics of training: of batch renormalization; of spectral
    // normalization, a vector and the kernel once more.
    const size_t unused = layer.class_name == "BatchNormalization"      ? 3
                          : layer.class_name == "SpectralNormalization" ? 2
                                                                        : 0;
    if (count(group) != layer.weights.size() &&
        count(group) != layer.weights.size() + unused) {
      std::vector<std::string> names;
      for (const WeightTarget& w : layer.weights) names.push_back(w.name);
      throw FormatError(
          "count_mismatch", fmt::format("'{}/vars'", group),
          fmt::format("must have {} weights ({}), got {}", layer.weights.size(),
                      fmt::join(names, ", "), count(group)));
    }
    for (size_t i = 0; i < layer.weights.size(); ++i) {
      assignments_.push_back({&layer.weights[i],
                              fmt::format("{}/vars/{}", group, i),
                              fmt::format("weight '{}' of {}",
                                          layer.weights[i].name, text(layer))});
    }
    if (layer.is_model) {
      container(layer.parts, group);
      return;
    }
    for (TargetLayer& part : layer.parts) {
      std::string at = group + "/" + part.attribute;
      // Before Keras 3.4, the private attribute.
      if (!is_group(at)) at = group + "/_" + part.attribute;
      one(part, at);
    }
  }

  // Rejects weights of a layer that the model lacks.
  void expect_empty(const std::string& group) const {
    const bool empty = count(group) == 0 && container_of(group).empty();
    if (empty || options_.partial) return;
    throw FormatError("unknown_name", fmt::format("'{}'", group),
                      "the model has no layer for these weights");
  }

  const Hdf5Reader& file_;
  const KerasOptions& options_;
  std::vector<Assignment> assignments_;
};

}  // namespace

bool is_weights_h5(const Hdf5Reader& file) {
  return std::ranges::any_of(kContainers, [&](const char* name) {
    return file.kind(name) == Hdf5Kind::group;
  });
}

std::vector<Assignment> match_weights_h5(const Hdf5Reader& file,
                                         std::vector<TargetLayer>& targets,
                                         const KerasOptions& options) {
  Matcher matcher(file, options);
  matcher.container(targets, "");
  return matcher.take();
}

}  // namespace octet::io
