// Padding and Padding1D: options of convolution and pooling layers.
#pragma once

#include <cstddef>
#include <string>

#include <octet/runtime/ops/window.h>

namespace octet {

/// Padding of 2-D windows: Keras' "valid" and "same", or explicit as Pads:
///
///   Conv2D({.filters = 8, .padding = Padding::same})  // or "same"
///   Conv2D({.filters = 8, .padding = 1})              // on each side
///   Conv2D({.filters = 8, .padding = Pads{0, 1, 0, 1}})
class Padding {
 public:
  static const Padding valid;  ///< none
  static const Padding same;   ///< ceil(size / stride) positions; an odd
                               ///< element is added at the end
  constexpr Padding() = default;
  /// Creates explicit padding of 0 or more pixels at each side, in the forms of
  /// Pads. Layers check the range.
  constexpr Padding(const Pads& pads) : kind_(Kind::given), given_(pads) {}
  /// Creates explicit padding from 1, 2 or 4 numbers, or from rows and columns.
  template <Count... N>
  requires(sizeof...(N) == 1 || sizeof...(N) == 2 ||
           sizeof...(N) == 4) constexpr Padding(N... cells)
      : Padding(Pads(cells...)) {}
  constexpr Padding(Pads::Ends rows, Pads::Ends columns)
      : Padding(Pads(rows, columns)) {}
  /// Parses "valid" or "same". Throws: ValueError for another name.
  Padding(const std::string& name);
  /// Parses a string literal, `.padding = "same"`. Throws: as above.
  template <size_t Size>
  Padding(const char (&name)[Size]) : Padding(std::string(name)) {}

  /// Returns the padding around an image.
  /// Source: TensorFlow, "Notes on padding",
  /// https://www.tensorflow.org/api_docs/python/tf/nn
  Pads pads(Size2 image, Size2 window, Size2 strides, Size2 dilation) const;

  /// Returns the explicit padding, or null.
  const Pads* given() const { return kind_ == Kind::given ? &given_ : nullptr; }

  bool operator==(const Padding&) const = default;

 private:
  enum class Kind { valid, same, given };
  constexpr explicit Padding(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::valid;
  Pads given_{};
};

/// Padding of windows over sequences: Keras' "valid", "same" and "causal", or
/// explicit:
///
///   Conv1D({.filters = 8, .padding = "causal"})
///   Conv1D({.filters = 8, .padding = {2, 0}})  // before and after
class Padding1D {
 public:
  static const Padding1D valid;   ///< none
  static const Padding1D same;    ///< as Padding::same
  static const Padding1D causal;  ///< all before the sequence, so that an
                                  ///< output depends on past inputs only
  constexpr Padding1D() = default;
  /// Creates explicit padding of 0 or more steps before and after the sequence,
  /// in the forms of Ends. Layers check the range.
  constexpr Padding1D(const Ends& ends) : kind_(Kind::given), given_(ends) {}
  /// Creates explicit padding from 1 or 2 numbers.
  template <Count... N>
  requires(sizeof...(N) == 1 ||
           sizeof...(N) == 2) constexpr Padding1D(N... cells)
      : Padding1D(Ends(cells...)) {}
  /// Parses "valid", "same" or "causal". Throws: ValueError for another name.
  Padding1D(const std::string& name);
  /// Parses a string literal, `.padding = "causal"`. Throws: as above.
  template <size_t Size>
  Padding1D(const char (&name)[Size]) : Padding1D(std::string(name)) {}

  /// Returns the padding around a sequence.
  /// Source: keras/src/layers/convolutional/base_conv.py of Keras 3,
  /// _compute_causal_padding(); 'same' as Padding::pads.
  Ends pads(int64_t length, int64_t window, int64_t stride,
            int64_t dilation) const;

  /// Returns the explicit padding, or null.
  const Ends* given() const { return kind_ == Kind::given ? &given_ : nullptr; }
  /// Returns Keras' name; empty for explicit padding.
  std::string name() const;

  bool operator==(const Padding1D&) const = default;

 private:
  enum class Kind { valid, same, causal, given };
  constexpr explicit Padding1D(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::valid;
  Ends given_{};
};

inline constexpr Padding Padding::valid{Padding::Kind::valid};
inline constexpr Padding Padding::same{Padding::Kind::same};
inline constexpr Padding1D Padding1D::valid{Padding1D::Kind::valid};
inline constexpr Padding1D Padding1D::same{Padding1D::Kind::same};
inline constexpr Padding1D Padding1D::causal{Padding1D::Kind::causal};

}  // namespace octet
