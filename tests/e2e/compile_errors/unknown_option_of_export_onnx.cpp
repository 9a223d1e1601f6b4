// says: OnnxExportOptions
#include <octet/octet.h>

void write(const octet::Model& model) {
  octet::io::export_onnx(model, "model.onnx", {.opst = 13});
}
