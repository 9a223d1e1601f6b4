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
  /// A wrapper around a layer of that class.
  std::function<std::shared_ptr<BaseQuantizeWrapper>(std::shared_ptr<Layer>)>
      create = {};
  bool enabled = true;  ///< in full mode, when nobody says otherwise
};

/// Adds a custom wrapper; call it before it is needed, from one
/// thread. Throws: ValueError for a name that does not follow the convention,
/// no function, or a class that has a wrapper; UnsupportedError, naming the
/// nearest classes, for one that is not a layer class.
void register_wrapper(WrapperDef def);

/// register_wrapper<MyLayerQuantizeWrapper>("MyLayerQuantizeWrapper").
template <class Wrapper>
void register_wrapper(std::string name, bool enabled = true) {
  register_wrapper({.name = std::move(name),
                    .create =
                        [](std::shared_ptr<Layer> inner) {
                          return std::make_shared<Wrapper>(std::move(inner));
                        },
                    .enabled = enabled});
}

/// How a layer class is quantized, from its LayerDef or a user's wrapper.
struct WrapperInfo {
  std::string name;         ///< "Conv2DQuantizeWrapper"
  std::string layer_class;  ///< "Conv2D"
  bool enabled = false;     ///< in full mode
  bool user_defined = false;
};

/// Those of Octet first, each group in alphabetical order.
std::vector<WrapperInfo> wrapper_infos();
/// Of a layer class or one of its other names; empty name if there is none.
WrapperInfo wrapper_info(std::string_view layer_class);

/// The wrapper registered for the class of `inner`; for a class that has none,
/// one without sites of its own, which takes quantizers anywhere.
std::shared_ptr<BaseQuantizeWrapper> make_wrapper(std::shared_ptr<Layer> inner);

/// The sites that make_wrapper() of a layer would give Q/DQ; the layer stays
/// as it is. Throws: as BaseQuantizeWrapper::sites().
std::vector<QdqSite> sites_of(const Layer& layer, const QdqRequest& request,
                              int inputs);

/// The tensor between two products of the layer's class (QdqDefault::inner);
/// empty where there is one product or none.
std::string_view inner_tensor(const Layer& layer);
/// Throws: NotFoundError unless that is what it is called.
void expect_inner(const Layer& layer, std::string_view tensor);

}  // namespace octet::quant
