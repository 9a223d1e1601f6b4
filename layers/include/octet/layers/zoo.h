// Model zoo: networks with Keras' topology and layer names, so that weights of
// Keras files load by name. Networks return logits, without Keras' final
// softmax, which has no parameters: losses on logits are numerically stable.
// Weights are random. Preprocess inputs as in the papers, except for
// EfficientNet, whose first layers do.
//
// Transfer learning gives any trained network a new classifier:
//
//   Model model = with_classifier(io::import_onnx("net.onnx").model, 2);
//   model.set_trainable("*", false);
//   model.set_trainable(classifier_of(model), true);
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <octet/layers/model.h>

namespace octet::zoo {

/// Options of a network; 0 or empty selects the network's default.
/// Fields in order: input, classes, alpha, patch_size, l2, seed, name
struct Options {
  Shape input{};        ///< one sample, without the batch
  int64_t classes = 0;  ///< number of logits
  /// Width multiplier in (0, 64], for networks that support it.
  double alpha = 0;
  int64_t patch_size = 0;  ///< Vision Transformer only; 0: 16
  float l2 = 0;            ///< L2 factor of kernel regularizers
  uint64_t seed = 0;       ///< seed of the initial weights
  std::string name = "";   ///< name of the model
};

/// A network of the zoo and its default options.
struct Entry {
  std::string_view name;         ///< for entry() and make(): "resnet50"
  std::string_view description;  ///< one line
  Shape input{};                 ///< one sample, without the batch
  int64_t classes = 0;           ///< 0: no classifier
  double alpha = 0;              ///< 0: width not adjustable
  int64_t parameters = 0;        ///< with default options, statistics included
  /// Builds the network: resnet50().
  Model (*make)(const Options& options) = nullptr;
};

/// Returns all networks: roughly from small to large, then the networks of the
/// placement tests.
std::span<const Entry> entries();
/// Returns the entry `name`; case, hyphens and underscores may differ. Throws:
/// NotFoundError with the nearest names.
const Entry& entry(std::string_view name);
/// Builds a network by name. Throws: as entry() and the network's function.
Model make(std::string_view name, const Options& options = {});

// All networks throw ValueError for classes or alpha out of range or not
// supported by the network; ShapeError for an input of another rank or too
// small for a layer. The error names the layer, or its class and input if the
// layer is unnamed.

/// LeNet-5 with ReLU and max pooling.
/// Source: LeCun et al., Proc. IEEE 86(11), 1998, section II.B.
Model lenet(const Options& options = {});

/// MLPerf Tiny image classification: ResNet-8 for 32x32 images.
/// Source: Banbury et al., arXiv 2106.07597, section 4.
Model resnet8(const Options& options = {});
/// ResNet-20 for 32x32 images.
/// Source: He et al., arXiv 1512.03385, section 4.2, with convolutional
/// shortcuts as in Keras' example cifar10_resnet.
Model resnet20(const Options& options = {});

/// DenseNet-BC for 32x32 images: 40 layers, growth rate 12, bottlenecks,
/// compression 0.5.
/// Source: Huang et al., arXiv 1608.06993, section 4.
Model densenet40(const Options& options = {});
/// Inception for 32x32 images. alpha scales the numbers of filters, rounded to
/// multiples of eight.
/// Source: Zhang et al., arXiv 1611.03530, figure 3; unlike there, the
/// downsampling pools are padded, too.
Model inception_small(const Options& options = {});

/// ResNet-18: basic blocks of two 3x3 convolutions without biases. Not in
/// keras.applications; layer names follow resnet50.
/// Source: He et al., arXiv 1512.03385, table 1.
Model resnet18(const Options& options = {});
/// ResNet-50 and ResNet-101: bottleneck blocks of three convolutions.
/// Source: as resnet18(); keras.applications.ResNet50 and ResNet101.
Model resnet50(const Options& options = {});
Model resnet101(const Options& options = {});
/// ResNet-50 v2 and ResNet-101 v2: normalization and activation precede the
/// convolutions of a block.
/// Source: He et al., arXiv 1603.05027; keras.applications.ResNet50V2 and
/// ResNet101V2.
Model resnet50_v2(const Options& options = {});
Model resnet101_v2(const Options& options = {});

/// MobileNet: depthwise separable convolutions; alpha scales the filters.
/// Source: Howard et al., arXiv 1704.04861; keras.applications.MobileNet.
Model mobilenet(const Options& options = {});
/// MLPerf Tiny visual wake words: MobileNet with default alpha 0.25, biases,
/// ReLU instead of ReLU6 and symmetric padding.
/// Source: Banbury et al., arXiv 2106.07597, section 4.
Model mobilenet_v1_025(const Options& options = {});
/// MobileNetV2: inverted residual blocks; alpha scales the filters.
/// Source: Sandler et al., arXiv 1801.04381; keras.applications.MobileNetV2.
Model mobilenet_v2(const Options& options = {});

/// MLPerf Tiny keyword spotting: depthwise separable convolutions.
/// Source: Zhang et al., arXiv 1711.07128; Banbury et al., section 4.
Model ds_cnn(const Options& options = {});

/// Inception v3, without the auxiliary classifier.
/// Source: Szegedy et al., arXiv 1512.00567; keras.applications.InceptionV3.
Model inception_v3(const Options& options = {});
/// EfficientNet-B0 for pixels in [0,255]; alpha is the paper's width
/// coefficient. Source: Tan and Le, arXiv 1905.11946;
/// keras.applications.EfficientNetB0.
Model efficientnet_b0(const Options& options = {});
/// As efficientnet_b0, scaled for 300x300 images.
Model efficientnet_b3(const Options& options = {});
/// DenseNet-BC with 121 layers and growth rate 32.
/// Source: Huang et al., arXiv 1608.06993; keras.applications.DenseNet121.
Model densenet121(const Options& options = {});

/// Small U-Net with three levels and batch normalization; logits
/// [n,h,w,classes]. Height and width must be multiples of 8.
/// Source: Ronneberger et al., arXiv 1505.04597.
Model unet(const Options& options = {});

/// Vision Transformer: 12 blocks with 3 heads of 64 features, patches of 16x16
/// by default. alpha scales the number of heads, with a minimum of one head:
/// alpha 1 is DeiT-Ti, 2 is DeiT-S, 4 is DeiT-B. Height and width must be
/// multiples of the patch size.
/// Source: Dosovitskiy et al., arXiv 2010.11929; Touvron et al., arXiv
/// 2012.12877, table 1 (DeiT-Ti).
Model vit_tiny(const Options& options = {});

// Networks of the Q/DQ placement tests of NVIDIA's toolkit, with its layer
// names. Inputs are [h,w], 28x28 by default; frodo and sam take [h,w,c],
// 32x32x3 by default.
// Source: tensorflow-quantization 0.2.0, tests/network_pool.py.

/// Two convolutions.
Model otho(const Options& options = {});
/// Two depthwise convolutions.
Model lotho(const Options& options = {});
/// Two dense layers.
Model lobelia(const Options& options = {});
/// Seven consecutive convolutions with 516, 252, 126, 64, 32, 16 and 8 filters,
/// each multiplied by alpha and rounded down.
Model bilbo(const Options& options = {});
/// Residual blocks without batch normalization.
Model frodo(const Options& options = {});
/// Like frodo, with another residual block and without the first pooling.
Model sam(const Options& options = {});
/// An inception block.
Model merry(const Options& options = {});
/// Residual blocks with batch normalization.
Model pippin(const Options& options = {});

}  // namespace octet::zoo

namespace octet {

/// Options of with_classifier().
/// Fields in order: name, seed
struct ClassifierOptions {
  std::string name = {};  ///< of the new layer; empty: name of the replaced one
  uint64_t seed = 0;      ///< of the initial weights, as in ModelOptions
};

/// Returns the name of a model's classifier: the last Dense layer, or the last
/// 1x1 Conv2D, followed at most by activations, Dropout, global average pooling
/// and layers that only reshape.
/// Throws: ValueError for several outputs, an output that is not [n,classes],
/// another last layer, or a quantized classifier.
std::string classifier_of(const Model& model);

/// Returns a copy of a model in which a new Dense layer with `units` outputs,
/// the logits, replaces the classifier and all layers after it: timm's
/// reset_classifier(). Features [n,1,1,c] are flattened; [n,h,w,c] are averaged
/// over h and w first. All other layers keep their weights and trainable
/// flags.
/// Throws: ValueError as classifier_of(), and for units < 1.
Model with_classifier(const Model& model, int64_t units,
                      const ClassifierOptions& options = {});

}  // namespace octet
