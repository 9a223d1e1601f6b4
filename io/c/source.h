// Text of the generated files.
#pragma once

#include <string>
#include <vector>

#include <octet/io/c_code.h>

#include "network.h"

namespace octet::io::c {

/// Input or output of the generated function.
struct Port {
  std::string name;   ///< in the model
  std::string ident;  ///< parameter: "input", or "input_left" of several
  Shape shape;        ///< of a sample, without the batch
  int buffer = -1;
};

/// A network with the names in its generated code.
struct CNames {
  std::string prefix;  ///< of functions
  std::string macros;  ///< of macros: the prefix in capitals
  std::vector<Port> inputs, outputs;
};

/// Arithmetic and kernels of the generated code.
struct CForm {
  bool fixed = false;  ///< integers between sums and outputs
  bool wide = false;   ///< int16 activations; with `fixed`
  CKernels kernels = CKernels::portable;
};

/// Source and sizes of model.c.
struct CSource {
  std::string text;
  std::vector<int64_t> step_flash;  ///< bytes of constants, by step
};

std::string header_text(const CNetwork& net, const CNames& names,
                        const CForm& form);
CSource source_text(const CNetwork& net, const CNames& names,
                    const CForm& form);

/// A sample and the expected outputs, as stored.
struct GoldenSample {
  std::vector<Tensor> inputs, outputs;  ///< f32, i8 or i16
};
std::string test_text(const CNetwork& net, const CNames& names,
                      const std::vector<GoldenSample>& samples,
                      CArithmetic form);
std::string cmake_text(const CNames& names, const CForm& form);

/// Returns the C type of a buffer's elements.
std::string element_type(const PortableBuffer& buffer);
/// Returns text of a model's file for a C comment: printable ASCII that does
/// not end the comment.
std::string comment_text(const std::string& text);
/// Returns a C identifier: other characters become "_".
std::string identifier_of(const std::string& text);
/// Returns a float as a literal with the same bits.
std::string literal(float value);
/// Returns numbers as an initializer list, in lines of up to 78 characters.
std::string number_list(const std::vector<std::string>& numbers);

/// Returns the declaration of net_run(), without ";".
std::string run_declaration(const CNetwork& net, const CNames& names);

}  // namespace octet::io::c
