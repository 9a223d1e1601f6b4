#include <octet/io/onnx.h>
#include <octet/runtime/detail/text_table.h>

namespace octet::io {

std::string OnnxImportReport::to_string() const {
  TextTable table({Align::left, Align::left, Align::left, Align::left});
  table.add_row({"node", "operator", "layer", "note"});
  table.add_rule();
  for (const OnnxNodeImport& entry : nodes) {
    table.add_row({entry.node, entry.op,
                   entry.layer.empty() ? "-" : entry.layer, entry.note});
  }
  return table.to_string();
}

}  // namespace octet::io
