// says: QuantizeOptions
#include <octet/octet.h>

octet::Model quantized(const octet::Model& model) {
  return octet::quant::quantize_model(model, {.polcy = {}});
}
