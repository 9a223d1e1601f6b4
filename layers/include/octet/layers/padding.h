#pragma once

#include <cstddef>
#include <string>

#include <octet/runtime/ops/window.h>

namespace octet {

/// Padding of windows: Keras' two, or cells given as Pads are:
///
///   Conv2D({.filters = 8, .padding = Padding::same})  // or "same"
///   Conv2D({.filters = 8, .padding = 1})              // at each side
///   Conv2D({.filters = 8, .padding = Pads{0, 1, 0, 1}})
class Padding {
 public:
  static const Padding valid;  ///< none
  static const Padding same;   ///< ceil(size / stride) positions; an odd cell
                               ///< goes to the end
  constexpr Padding() = default;
  constexpr Padding(const Pads& pads) : kind_(Kind::given), given_(pads) {}
  template <Count... N>
  requires(sizeof...(N) == 1 || sizeof...(N) == 2 ||
           sizeof...(N) == 4) constexpr Padding(N... cells)
      : Padding(Pads(cells...)) {}
  constexpr Padding(Pads::Ends rows, Pads::Ends columns)
      : Padding(Pads(rows, columns)) {}
  /// "valid" or "same". Throws: ValueError for another name.
  Padding(const std::string& name);
  template <size_t Size>
  Padding(const char (&name)[Size]) : Padding(std::string(name)) {}

  /// The cells around an image of h x w.
  /// Source: TensorFlow 'SAME' padding, https://www.tensorflow.org/api_docs/
  /// python/tf/nn#notes_on_padding_2
  Pads pads(Size2 image, Size2 window, Size2 strides, Size2 dilation) const;

  /// The cells given, if they were.
  const Pads* given() const { return kind_ == Kind::given ? &given_ : nullptr; }

  bool operator==(const Padding&) const = default;

 private:
  enum class Kind { valid, same, given };
  constexpr explicit Padding(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::valid;
  Pads given_{};
};

inline constexpr Padding Padding::valid{Padding::Kind::valid};
inline constexpr Padding Padding::same{Padding::Kind::same};

}  // namespace octet
