// The registry of wrapper classes: one for each layer class whose LayerDef
// says that it can be quantized, and those users register.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <octet/quant/wrapper.h>

namespace octet::quant {

struct WrapperDef {
  /// "<Class>QuantizeWrapper", where Keras' other names of a class count too:
  /// GlobalMaxPool2DQuantizeWrapper is for GlobalMaxPooling2D.
  std::string name;
  QdqSites sites = {};
  /// A wrapper around a layer of that class; a BaseQuantizeWrapper by default.
  std::function<std::shared_ptr<BaseQuantizeWrapper>(std::shared_ptr<Layer>)>
      create = {};
  bool enabled = true;   ///< in full mode, when nobody says otherwise
  bool replace = false;  ///< the wrapper that the class has, Octet's too
};

/// Adds a custom wrapper; call it before it is needed, from one thread.
/// Throws: ValueError for a name that does not follow the convention or a class
/// that has a wrapper, unless it is to be replaced; UnsupportedError, naming
/// the nearest classes, for one that is not a layer class.
void register_wrapper(WrapperDef def);

/// The same with the sites and the constructor of a class:
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

/// How a layer class is quantized, from its LayerDef or a user's wrapper.
struct WrapperInfo {
  std::string name;         ///< "Conv2DQuantizeWrapper"
  std::string layer_class;  ///< "Conv2D"
  QdqSites sites = {.inputs = 0};
  bool enabled = false;  ///< in full mode
  bool user_defined = false;
};

/// Those of Octet first, each group in alphabetical order.
std::vector<WrapperInfo> wrapper_infos();
/// Of a layer class or one of its other names; empty name if there is none.
WrapperInfo wrapper_info(std::string_view layer_class);

/// A wrapper as it is registered for the class of `inner`, for a class that has
/// none as well. It takes quantizers anywhere.
std::shared_ptr<BaseQuantizeWrapper> make_wrapper(std::shared_ptr<Layer> inner);

/// The sites of a layer, which reads `inputs` tensors, that get Q/DQ on a
/// request; none if its class has no wrapper. Throws: as QdqSites::select().
std::vector<QdqSite> sites_of(const Layer& layer, const QdqRequest& request,
                              int inputs);

/// The tensor between two products of the layer's class (QdqDefault::inner);
/// empty where there is one product or none.
std::string_view inner_tensor(const Layer& layer);
/// Throws: NotFoundError unless that is what it is called.
void expect_inner(const Layer& layer, std::string_view tensor);

}  // namespace octet::quant
