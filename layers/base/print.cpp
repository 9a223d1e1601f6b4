#include <ostream>

#include <octet/layers/inference_session.h>

namespace octet {

std::string to_string(const SymbolicTensor& x) {
  if (x.node == nullptr) return "empty symbolic tensor";
  std::string text =
      x.shape().to_string() + " of " + x.node->layer->class_name();
  const std::string& name = x.node->layer->name();
  return name.empty() ? text : text + " '" + name + "'";
}

std::ostream& operator<<(std::ostream& out, const SymbolicTensor& x) {
  return out << to_string(x);
}
std::ostream& operator<<(std::ostream& out, const Model& model) {
  return out << model.summary();
}
std::ostream& operator<<(std::ostream& out, const InferenceSession& session) {
  return out << session.to_string();
}

}  // namespace octet
