// Sums of products in Einstein notation, as numpy.einsum of two tensors.
#pragma once

#include <string>
#include <string_view>

#include <octet/runtime/detail/language.h>

namespace octet {

/// Axes of the two inputs and the output, one letter each, and the letters by
/// their role in a matrix product.
struct EinsumEquation {
  std::string a = {},        ///< axes of the first input
      b = {},                ///< axes of the second input
      y = {};                ///< axes of the output
  std::string batch = {};    ///< in both inputs and the output
  std::string rows = {};     ///< in the first input and the output
  std::string columns = {};  ///< in the second input and the output
  std::string depth = {};    ///< in both inputs only, summed
};

/// Parses "bij,bjk->bik" for inputs of these ranks; "..." becomes digits. In
/// the absence of "->", the output has the letters that occur once, sorted.
/// Throws: ValueError unless the equation has two inputs with a letter for each
/// axis, each letter once in a term, and sums over letters of both inputs only.
EinsumEquation parse_einsum(std::string_view equation, int rank_a, int rank_b);

/// Assigns the roles of the letters. Throws: as parse_einsum().
EinsumEquation einsum_of(std::string a, std::string b, std::string y);

}  // namespace octet
