// Comparisons without an operator in the standard.
#include "forms.h"

namespace octet::io::importing {

// Only Equal: the inverse of other comparisons differs for NaN.
bool match_not_equal(ImportGraph& graph, ImportNode& node) {
  if (!is_op(node, "Not")) return false;
  FormMatch form(graph, node);
  const ImportNode* equal = form.part(node.proto.input(0), "Equal");
  if (equal == nullptr || equal->proto.input_size() != 2) return false;
  form.replace_by("NotEqual", {equal->proto.input(0), equal->proto.input(1)});
  return true;
}

}  // namespace octet::io::importing
