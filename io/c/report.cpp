// The report of generated C code, and names of its options.
#include <fmt/format.h>

#include <octet/io/c_code.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>

#include "printable.h"

namespace octet::io {

std::string_view to_string(CArithmetic form) {
  return form == CArithmetic::fixed ? "fixed" : "float";
}

CArithmetic c_arithmetic_named(std::string_view name) {
  for (const CArithmetic form : {CArithmetic::fixed, CArithmetic::floating}) {
    if (to_string(form) == name) return form;
  }
  throw ValueError("unknown_name", "arithmetic",
                   fmt::format("must be 'fixed' or 'float', got '{}'",
                               printable(std::string(name))));
}

std::string_view to_string(CKernels kernels) {
  return kernels == CKernels::portable ? "portable" : "cmsis-nn";
}

CKernels c_kernels_named(std::string_view name) {
  for (const CKernels kernels : {CKernels::portable, CKernels::cmsis_nn}) {
    if (to_string(kernels) == name) return kernels;
  }
  throw ValueError("unknown_name", "kernels",
                   fmt::format("must be 'portable' or 'cmsis-nn', got '{}'",
                               printable(std::string(name))));
}

std::string CReport::to_string() const {
  TextTable table({Align::left, Align::left, Align::left, Align::right,
                   Align::right, Align::right});
  table.add_row({"layer", "operator", "output", "flash", "arena in use",
                 "multiply-adds"});
  table.add_rule();
  for (const CLayer& layer : layers) {
    table.add_row({printable(layer.layer), layer.op, layer.output,
                   group_digits(layer.flash), group_digits(layer.ram),
                   group_digits(layer.multiply_adds)});
  }
  return table.to_string() +
         fmt::format(
             "\nflash {} bytes of constants; RAM {} bytes of arena, {} of "
             "input, {} of output;\n{} multiply-adds\n",
             group_digits(flash), group_digits(arena), group_digits(inputs),
             group_digits(outputs), group_digits(multiply_adds));
}

}  // namespace octet::io
