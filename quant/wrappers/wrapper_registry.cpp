#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

constexpr std::string_view kSuffix = "QuantizeWrapper";

struct UserWrapper {
  std::string layer_class;
  WrapperDef def;
};

std::vector<UserWrapper>& user_wrappers() {
  static std::vector<UserWrapper> wrappers;
  return wrappers;
}

const UserWrapper* find_user_wrapper(std::string_view layer_class) {
  for (const UserWrapper& each : user_wrappers()) {
    if (each.layer_class == layer_class) return &each;
  }
  return nullptr;
}

bool can_be_quantized(const LayerDef& def) {
  return def.qdq.enabled || def.qdq.on_request;
}

QdqSites sites_of(const QdqDefault& qdq) {
  QdqSites sites{.intermediate = std::string(qdq.intermediate)};
  if (qdq.several_inputs) sites.inputs = QdqSites::kEveryInput;
  for (const std::string_view weight : {qdq.weight, qdq.second_weight}) {
    if (!weight.empty()) sites.weights.emplace_back(weight);
  }
  return sites;
}

WrapperInfo info_of(const LayerDef& def) {
  return {.name = fmt::format("{}{}", def.class_name, kSuffix),
          .layer_class = std::string(def.class_name),
          .sites = sites_of(def.qdq),
          .enabled = def.qdq.enabled};
}

WrapperInfo info_of(const UserWrapper& wrapper) {
  return {.name = wrapper.def.name,
          .layer_class = wrapper.layer_class,
          .sites = wrapper.def.sites,
          .enabled = wrapper.def.enabled,
          .user_defined = true};
}

}  // namespace

void register_wrapper(WrapperDef def) {
  const std::string_view name = def.name;
  if (!name.ends_with(kSuffix) || name.size() == kSuffix.size()) {
    throw ValueError(
        "invalid_value", "register_wrapper",
        fmt::format("name must be <Class>QuantizeWrapper, got '{}'", name));
  }
  const std::string_view wanted = name.substr(0, name.size() - kSuffix.size());
  const LayerDef* layer = find_layer_def(wanted);
  if (layer == nullptr) {
    std::vector<std::string> known;
    for (const LayerDef* each : layer_defs()) {
      known.emplace_back(each->class_name);
    }
    throw UnsupportedError("unsupported_layer", "register_wrapper",
                           fmt::format("'{}' does not name a layer class{}",
                                       name, suggest_names(wanted, known)));
  }
  const WrapperInfo existing = wrapper_info(layer->class_name);
  if (!existing.name.empty() && !def.replace) {
    throw ValueError("duplicate_name", "register_wrapper",
                     fmt::format("{} already has the wrapper {}. "
                                 "Hint: .replace = true replaces it",
                                 layer->class_name, existing.name));
  }
  std::erase_if(user_wrappers(), [&](const UserWrapper& each) {
    return each.layer_class == layer->class_name;
  });
  user_wrappers().push_back({std::string(layer->class_name), std::move(def)});
}

std::vector<WrapperInfo> wrapper_infos() {
  std::vector<WrapperInfo> result;
  for (const LayerDef* def : layer_defs()) {
    if (can_be_quantized(*def) &&
        find_user_wrapper(def->class_name) == nullptr) {
      result.push_back(info_of(*def));
    }
  }
  std::ranges::sort(result, {}, &WrapperInfo::name);
  std::vector<WrapperInfo> users;
  for (const UserWrapper& each : user_wrappers())
    users.push_back(info_of(each));
  std::ranges::sort(users, {}, &WrapperInfo::name);
  result.insert(result.end(), users.begin(), users.end());
  return result;
}

WrapperInfo wrapper_info(std::string_view layer_class) {
  const LayerDef* def = find_layer_def(layer_class);
  if (def == nullptr) return {};
  if (const UserWrapper* user = find_user_wrapper(def->class_name)) {
    return info_of(*user);
  }
  return can_be_quantized(*def) ? info_of(*def) : WrapperInfo();
}

std::shared_ptr<BaseQuantizeWrapper> make_wrapper(
    std::shared_ptr<Layer> inner) {
  if (inner == nullptr) {
    throw ValueError("missing_value", "make_wrapper", "layer must not be null");
  }
  const UserWrapper* user = find_user_wrapper(inner->class_name());
  if (user == nullptr || user->def.create == nullptr) {
    return std::make_shared<BaseQuantizeWrapper>(std::move(inner));
  }
  auto wrapper = user->def.create(inner);
  if (wrapper == nullptr || &wrapper->inner() != inner.get()) {
    throw ValueError(
        "invalid_value", "make_wrapper",
        fmt::format(
            "{} must wrap the given layer, but its factory returned {}",
            user->def.name,
            wrapper == nullptr ? "null" : "a wrapper of another layer"));
  }
  return wrapper;
}

std::vector<QdqSite> sites_of(const Layer& layer, const QdqRequest& request,
                              int inputs) {
  return wrapper_info(layer.class_name()).sites.select(request, inputs);
}

std::string_view intermediate_tensor(const Layer& layer) {
  const LayerDef* def = find_layer_def(layer.class_name());
  return def == nullptr ? std::string_view() : def->qdq.intermediate;
}

void expect_intermediate(const Layer& layer, std::string_view tensor) {
  const std::string_view own = intermediate_tensor(layer);
  if (!own.empty() && own == tensor) return;
  throw NotFoundError(
      "unknown_name", fmt::format("{} '{}'", layer.class_name(), layer.name()),
      fmt::format("no intermediate tensor '{}'{}", tensor,
                  own.empty() ? "; the class has none"
                              : fmt::format(", only '{}'", own)));
}

}  // namespace octet::quant
