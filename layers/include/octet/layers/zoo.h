// Networks ready to train, with Keras' topology and layer names, so that
// weights of a Keras file find their places. They end in logits: Keras' final
// softmax is left out, which changes no parameter, and losses that take logits
// are exact. Weights are random; inputs are what the papers give them (only
// EfficientNet has its preprocessing inside).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <octet/layers/model.h>

namespace octet::zoo {

/// What a network may be asked to be; what is not said is the network's own.
/// Fields in order: input, classes, alpha, patch_size, l2, seed, name
struct Options {
  Shape input{};        ///< one sample, without the batch
  int64_t classes = 0;  ///< width of the logits
  /// Width of the layers, of networks that come in several. In (0, 64].
  double alpha = 0;
  int64_t patch_size = 0;  ///< of a Vision Transformer; 0: 16
  float l2 = 0;            ///< of the kernels' regularizer
  uint64_t seed = 0;       ///< of the initial weights
  std::string name = "";   ///< of the model
};

/// A network of the zoo, with what it is when nobody says otherwise.
struct Entry {
  std::string_view name;
  std::string_view description;  ///< one line
  Shape input{};
  int64_t classes = 0;  ///< 0: the network has no classifier
  double alpha = 0;     ///< 0: it comes in one width
  int64_t parameters = 0;
  Model (*make)(const Options& options) = nullptr;
};

/// All networks, small ones first.
std::span<const Entry> entries();
/// Throws: NotFoundError naming the nearest names.
const Entry& entry(std::string_view name);
/// Throws: as entry(); as the network's own function.
Model make(std::string_view name, const Options& options = {});

// All networks throw ValueError for classes or alpha out of range, or where
// the network has none; ShapeError for an input of another rank, or one too
// small for a layer, which is told by its name or, as Model names it later, by
// its class and input.

/// LeNet-5 with ReLU and max pooling.
/// Source: LeCun et al., Proc. IEEE 86(11), 1998, section II.B.
Model lenet(const Options& options = {});

/// The image classifier of MLPerf Tiny, for 32x32 images.
/// Source: Banbury et al., arXiv 2106.07597, section 4.
Model resnet8(const Options& options = {});
/// Source: He et al., arXiv 1512.03385, section 4.2, with shortcuts by
/// convolution as in Keras' example cifar10_resnet.
Model resnet20(const Options& options = {});

/// 40 layers, 12 channels a block, bottlenecks and halved transitions, for
/// 32x32 images. Source: Huang et al., arXiv 1608.06993, section 4.
Model densenet40(const Options& options = {});
/// For 32x32 images; filters by alpha, to multiples of eight.
/// Source: Zhang et al., arXiv 1611.03530, figure 3, with padding also in the
/// pools that halve the image.
Model inception_small(const Options& options = {});

/// Two 3x3 convolutions a block, without biases; keras.applications lacks it,
/// so its names are made as those of resnet50.
/// Source: He et al., arXiv 1512.03385, table 1.
Model resnet18(const Options& options = {});
/// Source: as above; keras.applications.ResNet50 and ResNet101.
Model resnet50(const Options& options = {});
Model resnet101(const Options& options = {});
/// Source: He et al., arXiv 1603.05027; keras.applications.ResNet50V2 and
/// ResNet101V2.
Model resnet50_v2(const Options& options = {});
Model resnet101_v2(const Options& options = {});

/// Source: Howard et al., arXiv 1704.04861; keras.applications.MobileNet.
Model mobilenet(const Options& options = {});
/// MLPerf Tiny's visual wake words: MobileNet of a quarter of the width, with
/// biases and ReLU. Source: Banbury et al., arXiv 2106.07597, section 4.
Model mobilenet_v1_025(const Options& options = {});
/// Source: Sandler et al., arXiv 1801.04381; keras.applications.MobileNetV2.
Model mobilenet_v2(const Options& options = {});

/// MLPerf Tiny's keyword spotting.
/// Source: Zhang et al., arXiv 1711.07128; Banbury et al., section 4.
Model ds_cnn(const Options& options = {});

/// Source: Szegedy et al., arXiv 1512.00567; keras.applications.InceptionV3.
Model inception_v3(const Options& options = {});
/// Takes pixels in [0,255]; alpha is the paper's width coefficient.
/// Source: Tan and Le, arXiv 1905.11946; keras.applications.EfficientNetB0.
Model efficientnet_b0(const Options& options = {});
/// The same scaled up, for images of 300 pixels.
Model efficientnet_b3(const Options& options = {});
/// Source: Huang et al., arXiv 1608.06993; keras.applications.DenseNet121.
Model densenet121(const Options& options = {});

/// A small one: three levels and batch normalization; logits [n,h,w,classes].
/// Height and width are multiples of 8.
/// Source: Ronneberger et al., arXiv 1505.04597.
Model unet(const Options& options = {});

/// Patches of 16x16, or of patch_size; 12 blocks of 3 heads of 64, of which
/// alpha makes more or fewer, at least one (2 is DeiT-S, 4 DeiT-B). Height and
/// width are multiples of a patch. Source: Dosovitskiy et al., arXiv
/// 2010.11929; Touvron et al., arXiv 2012.12877, table 1 (DeiT-Ti).
Model vit_tiny(const Options& options = {});

// The networks that NVIDIA's toolkit tests placement on, with its layer names.
// Source: tensorflow-quantization 0.2.0, tests/network_pool.py.

/// Two convolutions. Inputs [h,w], as of all on 28x28.
Model otho(const Options& options = {});
/// Two depthwise convolutions.
Model lotho(const Options& options = {});
/// Two dense layers.
Model lobelia(const Options& options = {});
/// Seven convolutions in a row, of 516 filters to 8 times alpha, rounded down.
Model bilbo(const Options& options = {});
/// Residual blocks without batch normalization.
Model frodo(const Options& options = {});
Model sam(const Options& options = {});
/// An inception block.
Model merry(const Options& options = {});
/// Residual blocks with batch normalization.
Model pippin(const Options& options = {});

}  // namespace octet::zoo
