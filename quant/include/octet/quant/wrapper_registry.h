// Registry of wrapper classes: one for each layer class with a quantizable
// LayerDef, and user-defined ones.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <octet/quant/wrapper.h>

namespace octet::quant {

struct WrapperDef {
  /// "<Class>QuantizeWrapper". Keras aliases count too:
  /// GlobalMaxPool2DQuantizeWrapper wraps GlobalMaxPooling2D.
  std::string name;
  QdqSites sites = {};
  /// Factory of the wrapper; default: a BaseQuantizeWrapper.
  std::function<std::shared_ptr<BaseQuantizeWrapper>(std::shared_ptr<Layer>)>
      create = {};
  bool enabled = true;   ///< default in full mode
  bool replace = false;  ///< allow replacing the wrapper of the class
};

/// Adds a custom wrapper. Not thread-safe; call it before use.
/// Throws: ValueError for a name that breaks the convention, or a class with a
/// wrapper unless `replace` is set; UnsupportedError, with similar names, for
/// an unknown layer class.
void register_wrapper(WrapperDef def);

/// Registers a wrapper class with its sites and constructor:
/// register_wrapper<MyLayerQuantizeWrapper>({.name =
/// "MyLayerQuantizeWrapper"}).
template <class Wrapper>
void register_wrapper(WrapperDef def) {
  def.sites = Wrapper::sites();
  def.create = [](std::shared_ptr<Layer> inner) {
    return std::make_shared<Wrapper>(std::move(inner));
  };
  register_wrapper(std::move(def));
}

/// Quantization of a layer class, from its LayerDef or a user's wrapper.
struct WrapperInfo {
  std::string name;         ///< "Conv2DQuantizeWrapper"
  std::string layer_class;  ///< "Conv2D"
  QdqSites sites = {.inputs = 0};
  bool enabled = false;  ///< in full mode
  bool user_defined = false;
};

/// Returns all wrappers, Octet's first, each group sorted by name.
std::vector<WrapperInfo> wrapper_infos();
/// Looks up a layer class by name or alias; the result's name is empty if there
/// is no wrapper.
WrapperInfo wrapper_info(std::string_view layer_class);

/// Wraps a layer with the wrapper registered for its class, or with a
/// BaseQuantizeWrapper. Quantizers can be attached to any site.
std::shared_ptr<BaseQuantizeWrapper> make_wrapper(std::shared_ptr<Layer> inner);

/// Returns the sites of a layer with `inputs` inputs selected by a request;
/// empty if its class has no wrapper.
/// Throws: as QdqSites::select().
std::vector<QdqSite> sites_of(const Layer& layer, const QdqRequest& request,
                              int inputs);

/// Returns the name of the layer's intermediate tensor
/// (QdqDefault::intermediate); empty if there is none.
std::string_view intermediate_tensor(const Layer& layer);
/// Checks that `tensor` is the name of the layer's intermediate tensor.
/// Throws: NotFoundError otherwise.
void expect_intermediate(const Layer& layer, std::string_view tensor);

}  // namespace octet::quant
